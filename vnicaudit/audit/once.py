"""Each file of a run once, however many of the targets it is in."""

from __future__ import annotations

import os
from collections.abc import Iterable


class Once:
    """``targets``: the paths that are given, files and folders. What a file that is named says of
    itself is worth more than that it is in a folder as well."""

    def __init__(self, targets: Iterable[str]) -> None:
        given = list(targets)
        self._several = len(given) > 1
        named = [path for path in given if not os.path.isdir(path)] if self._several else []
        self._named = frozenset(map(os.path.realpath, named))
        self._seen: set[str] = set()
        self.passed = 0
        """Files that were not taken so far."""

    def takes(self, path: str, *, named: bool) -> bool:
        """Whether a file is to be read now. One target alone is read as it is walked."""
        if not self._several:
            return True
        place = os.path.realpath(path)
        if place in self._seen or (not named and place in self._named):
            self.passed += 1
            return False
        self._seen.add(place)
        return True
