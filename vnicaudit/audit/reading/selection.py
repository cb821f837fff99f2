"""Selection of the files of targets: all, or without excluded ones, or only those that changed."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

import msgspec

from vnicaudit.base.new_file import BACKUP, BEING_WRITTEN, is_run_folder

ALWAYS_EXCLUDED = (".git", ".hg", ".svn")
"""Folders of version control systems."""


class Exclusion(msgspec.Struct, frozen=True):
    """Shell patterns of files and folders. A pattern without a slash is compared with the last part
    of a path, one with a slash with the path relative to ``base`` (a folder)."""

    patterns: tuple[str, ...] = ()
    base: str = "."

    def has(self, path: str) -> bool:
        """True for a file or folder that is itself excluded."""
        place = os.path.abspath(path)
        seen = os.path.relpath(place, os.path.abspath(self.base))
        return any(_excludes(pattern, seen, place) for pattern in self.patterns)

    def reaches(self, path: str) -> bool:
        """True if a file, or a folder above it (up to ``base``), is excluded."""
        place, top = os.path.abspath(path), os.path.abspath(self.base)
        while place not in (top, "/"):
            if self.has(place):
                return True
            place = os.path.dirname(place)
        return False


class Changed(msgspec.Struct, frozen=True):
    """Changes in a Git repository: ``files``, and ``folders`` of which everything counts as changed
    (submodules, repositories inside the repository; with a slash at the end). All are below
    ``top``, and spelled as in :func:`places`."""

    top: str
    files: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """True if a file, relative to the current folder, is among the changed ones."""
        return any(place in self.files or place.startswith(self.folders) for place in places(path))

    def covers(self, path: str) -> bool:
        """True for a path inside the repository."""
        top = self.top.rstrip("/") + "/"
        return any(f"{place}/".startswith(top) for place in places(path))


class Selection(msgspec.Struct, frozen=True):
    """``changed`` None: files count whether they changed or not. ``force_exclude``: also exclude
    files that the user named; ``skip_unrecognised``: ignore named files of unknown type, as in a
    folder."""

    exclusions: tuple[Exclusion, ...] = ()
    changed: Changed | None = None
    force_exclude: bool = False
    skip_unrecognised: bool = False

    def leaves_out(self, path: str) -> bool:
        """True for a file or folder, found in a folder, that is not read."""
        name = os.path.basename(path)
        if name in ALWAYS_EXCLUDED or name.startswith(BEING_WRITTEN) or is_backup(name):
            return True
        return is_run_folder(path) or any(exclusion.has(path) for exclusion in self.exclusions)

    def wants(self, path: str, *, named: bool) -> bool:
        """True if a file is to be read. ``named``: the user named this very file; if it is missing,
        it is still wanted, so that the error is reported."""
        if named and self.force_exclude and any(e.reaches(path) for e in self.exclusions):
            return False
        if self.changed is None or (named and not os.path.lexists(path)):
            return True
        return self.changed.has(path)

    def minds(self, path: str) -> bool:
        """True if an unreachable entry of a folder matters: a folder always does (its contents are
        unknown), a dangling link if its file would be read."""
        return not os.path.islink(path) or self.wants(path, named=False)


def is_backup(name: str) -> bool:
    """True for the name of a copy that ``--fix --backup`` made."""
    return name.rstrip("0123456789").endswith(BACKUP)


def places(path: str) -> tuple[str, str]:
    """The places of a path, with links above its last part resolved: the path itself and, if it is
    a link, its destination."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name), os.path.realpath(path)


def _excludes(pattern: str, seen: str, place: str) -> bool:
    pattern = pattern.removeprefix("./").rstrip("/")
    if "/" not in pattern:
        return fnmatchcase(os.path.basename(place), pattern)
    path = place if pattern.startswith("/") else seen
    # ``**/`` also matches no folder at all
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", ""))
