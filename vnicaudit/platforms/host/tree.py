"""Files below a host's root directory, read without changing anything.

Every result may be None: *unknown* (not permitted, too large, gone while reading).
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

_MAX_BYTES = 16 * 1024 * 1024
"""The largest file that is read, modules.dep, is below 1 MB on distribution kernels."""


class Tree:
    """A host's file system. ``root`` is ``/``, or the mount point of the host's root."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def path(self, name: str) -> Path:
        """The local path for an absolute path of the host."""
        return self._root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        """The content of a file, unpacked if its name ends in ``.gz``; None if it is missing or
        cannot be read."""
        path = self.path(name)
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            return None
        return None if len(data) > _MAX_BYTES else data.decode("utf-8", "replace")

    def exists(self, name: str) -> bool | None:
        """True if the path exists, symbolic links followed; None if that cannot be seen."""
        try:
            self.path(name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return None
        return True

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder, ordered; empty if it is missing or cannot be read."""
        try:
            return tuple(sorted(entry.name for entry in self.path(folder).iterdir()))
        except OSError:
            return ()

    def link_name(self, name: str) -> str | None:
        """The last part of a symbolic link's target; None if it is not a link."""
        try:
            return self.path(name).readlink().name
        except OSError:
            return None
