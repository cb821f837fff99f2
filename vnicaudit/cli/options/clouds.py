"""Names of the clouds in clouds.yaml, without loading openstacksdk, which takes half a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vnicaudit.base.opening import read_regular
from vnicaudit.base.wording import closest
from vnicaudit.errors import VnicauditError
from vnicaudit.text.yaml_nodes import YamlDocument, documents

_MOST_BYTES = 512 << 10
_CLOUDS = "clouds"
_NAMED = "OS_CLIENT_CONFIG_FILE"
_SUFFIXES = ("yaml", "yml", "json")


class CloudsFile(NamedTuple):
    """A clouds.yaml and its clouds. ``reason``: why they could not be read; empty: they were."""

    path: str
    names: tuple[str, ...]
    reason: str = ""


def clouds_file() -> CloudsFile | None:
    """The first readable file, in openstacksdk's search order; None: there is none."""
    for path in _places():
        try:
            data = read_regular(path, _MOST_BYTES)
        except OSError:
            continue
        try:
            return _parsed(data, path)
        except VnicauditError as error:
            return CloudsFile(path, (), str(error))
    return None


def cloud_names() -> Iterator[tuple[str, str]]:
    """Name of each cloud in that file -> path of the file."""
    file = clouds_file()
    if file is not None:
        yield from ((name, file.path) for name in file.names)


def _places() -> Iterator[str]:
    named = os.environ.get(_NAMED)
    if named:
        yield named
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    for folder in (".", Path(home, "openstack"), "/etc/openstack"):
        for suffix in _SUFFIXES:
            yield str(Path(folder, f"{_CLOUDS}.{suffix}"))


def _parsed(data: bytes, path: str) -> CloudsFile:
    """Parse the file. Raises VnicauditError if that fails."""
    first = next(documents(data, path), None)
    if first is None:
        return CloudsFile(path, (), f"{path}: it is empty")
    if not isinstance(first, YamlDocument):
        raise first
    clouds = first.top.child(_CLOUDS)
    if clouds is not None:
        return CloudsFile(path, tuple(clouds.names()))
    near = closest(_CLOUDS, first.top.names())
    but = f", but {near}:" if near else ""
    return CloudsFile(path, (), f"{path}: it has no {_CLOUDS}: key{but}")
