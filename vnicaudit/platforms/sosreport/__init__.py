"""Sosreports and sysinfo of must-gather: what was copied of a host, read like the host itself.

This module recognises them; ``read.py`` reads one, ``guests.py`` joins everything in it that is
about one guest. Their files and links are in ``platforms/host/copied_tree.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from vnicaudit.base.opening import GZIP, XZ, is_packed, read_regular

if TYPE_CHECKING:
    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.fleet import LiveDomain, LiveOptions
    from vnicaudit.model.host import Host
    from vnicaudit.model.host_facts import HostFacts

_COMMANDS = "sos_commands"
_NODES = "nodes"
"""Folder of a must-gather, or of what one of several images gathered, with a folder for each node
and a ``sysinfo.tgz`` in it."""
_SYSINFO = "sysinfo.tgz"
_MOST_CHILDREN = 1000
_BESIDE = (".md5", ".sha256", ".asc", ".sig")


def report_of(name: str) -> str | None:
    """A folder or archive that is a sosreport or the sysinfo of a must-gather, or a folder with
    some; None for other targets. A tar archive that is none is an error when it is read."""
    if os.path.isdir(name):
        return name if reports_in(name) else None
    return name if _is_archive(name) else None


def reports_of(name: str, live: LiveOptions) -> list[str]:
    """The reports in a target, and itself if there is anything else in its folder."""
    del live
    found = reports_in(name) if os.path.isdir(name) else [name]
    if found == [name] or _is_all(name, found):
        return found
    return [name, *found]


def reports_in(folder: str, depth: int = 2) -> list[str]:
    """The reports that a folder is, or contains; also deeper in one of nothing but folders, as one
    for each case."""
    if is_root(folder):
        return [folder]
    found: list[str] = []
    children = _children(folder)
    only_folders = all(map(_is_folder, children))
    for child in children:
        path, name = child.path, child.name
        if not _is_folder(child):
            is_named_so = name == _SYSINFO or name.startswith("sosreport-")
            found += [path] if is_named_so and _is_archive(path) else []
            continue
        if depth and only_folders:
            found += reports_in(path, depth - 1)
        elif is_root(path):
            found.append(path)
        nodes = path if name == _NODES else os.path.join(path, _NODES)
        files = (os.path.join(node.path, _SYSINFO) for node in _children(nodes))
        found += filter(_is_archive, files)
    return list(dict.fromkeys(found))


def is_root(folder: str) -> bool:
    """True for the folder in which sos or must-gather (``gather-sysinfo``) laid out a host."""
    if os.path.isdir(os.path.join(folder, _COMMANDS)):
        return True
    has = (os.path.exists(os.path.join(folder, name)) for name in ("machineinfo.json", "proc"))
    return all(has)


def _is_archive(path: str) -> bool:
    """True for a tar archive. Only regular files are opened: a pipe would lose its writer."""
    try:
        head = read_regular(path, 512) if os.path.isfile(path) else b""
    except OSError:
        return False
    if not head.startswith((GZIP, XZ)):
        return is_packed(head)
    from vnicaudit.platforms.host.archive import is_archive

    return is_archive(path)


def _children(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, _MOST_CHILDREN), key=lambda each: each.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_all(folder: str, found: list[str]) -> bool:
    """True if there is nothing in a folder but these reports and their checksums."""
    return all(
        child.path in found
        or child.name.endswith(_BESIDE)
        or (any(each.startswith(f"{child.path}/") for each in found) and _is_all(child.path, found))
        for child in _children(folder)
    )


def read_report(name: str, live: LiveOptions) -> Iterator[Item | Host | HostFacts | LiveDomain]:
    """The host of a report, its facts, its guests and configurations. Raises TargetError."""
    del live
    from vnicaudit.platforms.sosreport.read import read

    return read(name)
