"""Names of the clouds in clouds.yaml, without openstacksdk, which takes half a second to load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import VnicauditError
from vnicaudit.text.yaml_nodes import YamlDocument, documents

_MOST_BYTES = 512 << 10
_NAMED = "OS_CLIENT_CONFIG_FILE"
_SUFFIXES = ("yaml", "yml", "json")


def cloud_names() -> Iterator[tuple[str, str]]:
    """Each cloud of the first file that can be read, in openstacksdk's order, and that file."""
    for path in _places():
        try:
            data = read_regular(path, _MOST_BYTES)
        except OSError:
            continue
        for name in _names(data, path):
            yield name, path
        return


def _places() -> Iterator[str]:
    named = os.environ.get(_NAMED)
    if named:
        yield named
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    for folder in (".", Path(home, "openstack"), "/etc/openstack"):
        for suffix in _SUFFIXES:
            yield str(Path(folder, f"clouds.{suffix}"))


def _names(data: bytes, path: str) -> list[str]:
    try:
        first = next(documents(data, path), None)
    except VnicauditError:
        return []
    clouds = first.top.child("clouds") if isinstance(first, YamlDocument) else None
    return [] if clouds is None else clouds.names()
