"""Files of a host that were copied (sosreport, must-gather): one tree, in a folder or an archive.

Links are followed as on the host: an absolute one begins at the root of the tree, and none leaves
it. One that leads nowhere is normal, as only some files are copied.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Literal, NamedTuple, Protocol

from vnicaudit.base.opening import NotRegularError

MOST_BYTES = 16 << 20
"""The largest file that is read; of a larger log its end."""
_MOST_LINKS = 40
"""As many links in a path as Linux follows (path_resolution(7))."""
_MOST_ENTRIES = 200_000
"""Names in one folder that are looked at."""
_MOST_MATCHES = 50_000
"""Files that match one pattern."""


class TreeEntry(NamedTuple):
    """Something in a folder; ``link``: the target of a link."""

    kind: Literal["file", "folder", "link"]
    link: str = ""


class Files(Protocol):
    """The files of a tree. Paths are relative to its root, and lead through no link."""

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Name -> entry of a folder; empty if it is none."""

    def content(self, path: str, most: int) -> bytes | None:
        """A whole file, of a larger log the last ``most`` bytes; None: it is larger, or cannot be
        read."""


class CopiedTree:
    """The files of a host by their absolute paths there."""

    def __init__(self, files: Files, shown: str) -> None:
        """``shown``: the path or archive by which the user knows it."""
        self._files = files
        self._shown = shown

    def place(self, path: str) -> str:
        """The path of a file as it is shown to the user."""
        return os.path.join(self._shown, path.lstrip("/"))

    def content(self, path: str) -> bytes | None:
        """The content of a regular file; None: there is none, or it cannot be read."""
        real = self._real(path)
        return None if not real else self._files.content(real, MOST_BYTES)

    def text(self, path: str) -> str | None:
        """The content of a regular file as text; empty for a folder."""
        real = self._real(path)
        if real is None:
            return None
        if self._is_folder(real):
            return ""
        data = self._files.content(real, MOST_BYTES)
        return None if data is None else data.decode("utf-8", "replace")

    def matching(self, pattern: str) -> Iterator[str]:
        """The absolute paths that match a pattern, part by part, in the order of their names. As in
        a shell, ``*`` does not stand for a dot at the beginning."""
        parts = pattern.strip("/").split("/")
        return islice(self._matching("", "", parts), _MOST_MATCHES)

    def _matching(self, real: str, shown: str, parts: list[str]) -> Iterator[str]:
        wanted, rest = parts[0], parts[1:]
        entries = self._files.entries(real)
        if any(sign in wanted for sign in "*?["):
            names = sorted(each for each in entries if fnmatchcase(each, wanted)
                           and (each[0] != "." or wanted[0] == "."))  # fmt: skip
        else:
            names = [wanted] if wanted in entries else []
        for name in names:
            found = self._real(f"{real}/{name}")
            if found is None:
                continue
            if not rest:
                yield f"{shown}/{name}"
            elif self._is_folder(found):
                yield from self._matching(found, f"{shown}/{name}", rest)

    def _is_folder(self, real: str) -> bool:
        above, name = os.path.split(real)
        entry = self._files.entries(above).get(name)
        return not real or (entry is not None and entry.kind == "folder")

    def _real(self, path: str) -> str | None:
        """The path with its links resolved, relative to the root; None: it leads nowhere."""
        done: list[str] = []
        waiting = path.split("/")[::-1]
        links = 0
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del done[-1:]  # as above the root of a host, there is nothing above this one
                continue
            entry = self._files.entries("/".join(done)).get(part)
            if entry is None:
                return None
            if entry.kind != "link":
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            if entry.link.startswith("/"):
                done.clear()
            waiting += entry.link.split("/")[::-1]
        return "/".join(done)


class FolderFiles:
    """A tree that was unpacked into a folder. Nothing is opened by a link."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._listed: dict[str, dict[str, TreeEntry]] = {}

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        """Name -> entry of a folder."""
        if folder not in self._listed:
            self._listed[folder] = self._entries(os.path.join(self._root, folder))
        return self._listed[folder]

    def _entries(self, folder: str) -> dict[str, TreeEntry]:
        found: dict[str, TreeEntry] = {}
        try:
            with os.scandir(folder) as entries:
                for entry in islice(entries, _MOST_ENTRIES):
                    if entry.is_symlink():
                        found[entry.name] = TreeEntry("link", os.readlink(entry.path))
                    elif entry.is_dir(follow_symlinks=False):
                        found[entry.name] = TreeEntry("folder")
                    elif entry.is_file(follow_symlinks=False):
                        found[entry.name] = TreeEntry("file")
        except OSError:
            return found
        return found

    def content(self, path: str, most: int) -> bytes | None:
        """A whole file, of a larger log its end."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(os.path.join(self._root, path), flags)
            with open(descriptor, "rb") as stream:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise NotRegularError(path)
                if status.st_size > most:
                    if not is_log(path):
                        raise OSError(errno.EFBIG, "too large", path)
                    stream.seek(-most, os.SEEK_END)
                return stream.read(most)
        except (OSError, ValueError):
            return None


def is_log(path: str) -> bool:
    """True for a file of which the end tells most."""
    return "log" in os.path.dirname(path)
