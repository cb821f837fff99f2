from logging import Logger
from typing import Any

logging: Logger

class ConfigNode:
    value: dict[str, Any]
    def __getitem__(self, key: str) -> str: ...

class _Merged:
    value: dict[str, list[ConfigNode]]

class KubeConfigMerger:
    paths: list[str]
    config_files: dict[str, dict[str, Any]]
    config: _Merged
    def __init__(self, paths: str) -> None: ...
