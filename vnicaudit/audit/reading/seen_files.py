"""Files of a run that are in several of its targets: an audit or a plan reads each only once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from vnicaudit.audit.reading.targets import walk
from vnicaudit.model.report import ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.selection import Selection
    from vnicaudit.audit.reading.targets import Target


class SeenFiles:
    """The files that were read so far. A file that is named and also in a folder is read as the
    named one. A single target is read as it is walked."""

    def __init__(self, targets: Iterable[Target]) -> None:
        paths = [target.name for target in targets if target.kind == "path"]
        self.several = len(paths) > 1
        named = [path for path in paths if not os.path.isdir(path)] if self.several else []
        self._named = frozenset(map(os.path.realpath, named))
        self._seen: set[str] = set()
        self.passed = 0
        """Number of files that were not read again so far."""

    def unread(self, top: str, selection: Selection) -> Iterator[str | ReadError]:
        """The files of the target ``top`` to be read that were not read before, and errors for
        folders that cannot be listed, if they matter."""
        named = not os.path.isdir(top)
        for path in walk(top, selection.leaves_out):
            if isinstance(path, ReadError):
                if selection.minds(path.file or top):
                    yield path
            elif selection.wants(path, named=named) and self._takes(path, named=named):
                yield path

    def number_unread(self, top: str, selection: Selection) -> int:
        """The number of files of the target ``top`` to be read that were not read before."""
        named = not os.path.isdir(top)
        files = (path for path in walk(top, selection.leaves_out) if isinstance(path, str))
        wanted = (path for path in files if selection.wants(path, named=named))
        if not self.several:
            return sum(1 for _path in wanted)
        return len({place for path in wanted if (place := self._new_place(path, named=named))})

    def _takes(self, path: str, *, named: bool) -> bool:
        """True if a file is to be read here: new, and not left for a target that names it."""
        if not self.several:
            return True
        place = self._new_place(path, named=named)
        if place is None:
            self.passed += 1
            return False
        self._seen.add(place)
        return True

    def _new_place(self, path: str, *, named: bool) -> str | None:
        """The path of a file with links resolved; None if it was read, or a target names it."""
        place = os.path.realpath(path)
        passed = place in self._seen or (not named and place in self._named)
        return None if passed else place
