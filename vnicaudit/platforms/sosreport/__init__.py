"""Sosreports and sysinfo of must-gather: what was copied of a host, read like the host itself.

This module recognises them; ``read.py`` reads one, ``guests.py`` joins everything in it that is
about one guest. Their files and links are in ``platforms/host/copied_tree.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape, iglob
from itertools import islice
from typing import TYPE_CHECKING

from vnicaudit.platforms.host.archive import is_archive

if TYPE_CHECKING:
    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.fleet import LiveDomain, LiveOptions
    from vnicaudit.model.host import Host
    from vnicaudit.model.host_facts import HostFacts

_COMMANDS = "sos_commands"
_NODES = ("nodes/*/sysinfo.tgz", "*/nodes/*/sysinfo.tgz")
"""Below the folder of a must-gather, or of what several images gathered."""
_MOST_CHILDREN = 1000
_BESIDE = (".md5", ".sha256", ".asc", ".sig")


def report_of(name: str) -> str | None:
    """A folder or archive that is a sosreport or the sysinfo of a must-gather, or a folder with
    some; None for other targets. A tar archive that is none is an error when it is read."""
    if os.path.isdir(name):
        return name if reports_in(name) else None
    return name if is_archive(name) else None


def reports_of(name: str, live: LiveOptions) -> list[str]:
    """The reports in a target, and itself if there is anything else in its folder."""
    del live
    found = reports_in(name) if os.path.isdir(name) else [name]
    if found == [name] or _is_all(name, found):
        return found
    return [name, *found]


def reports_in(folder: str) -> list[str]:
    """The reports that a folder is, or contains."""
    if is_root(folder):
        return [folder]
    found = []
    for path in _children(folder):
        if os.path.isdir(path):
            found += [path] if is_root(path) else []
        elif os.path.basename(path).startswith("sosreport-") and is_archive(path):
            found.append(path)
    for pattern in _NODES:
        found += sorted(path for path in iglob(f"{escape(folder)}/{pattern}") if is_archive(path))
    own = os.path.join(folder, "sysinfo.tgz")
    return [*found, own] if is_archive(own) else found


def is_root(folder: str) -> bool:
    """True for the folder in which sos or must-gather (``gather-sysinfo``) laid out a host."""
    if os.path.isdir(os.path.join(folder, _COMMANDS)):
        return True
    has = (os.path.exists(os.path.join(folder, name)) for name in ("machineinfo.json", "proc"))
    return all(has)


def _children(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_CHILDREN)]
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names)]


def _is_all(folder: str, found: list[str]) -> bool:
    """True if there is nothing in a folder but these reports and their checksums."""
    return all(path in found or path.endswith(_BESIDE) for path in _children(folder))


def read_report(name: str, live: LiveOptions) -> Iterator[Item | Host | HostFacts | LiveDomain]:
    """The host of a report, its facts, its guests and configurations. Raises TargetError."""
    del live
    from vnicaudit.platforms.sosreport.read import read

    return read(name)
