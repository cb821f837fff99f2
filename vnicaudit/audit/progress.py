"""How far a run is, for whoever shows it."""

from __future__ import annotations

from typing import Protocol

from vnicaudit.audit.reading.seen_files import SeenFiles
from vnicaudit.audit.reading.selection import Selection


class RunProgress(Protocol):
    """Is told how far a run is."""

    @property
    def is_shown(self) -> bool:
        """True where it is worth counting what there is to do."""

    def waits_for(self, target: str, number: int, total: int) -> None:
        """A live target, or standard input, is read from now on, the ``number``-th of so many."""

    def waits_no_more(self) -> None:
        """All of a pipe was read: processes may be forked from now on."""

    def read_files(self, done: int, total: int | None) -> None:
        """So many files of a target were read; ``total`` None: nobody counted them."""

    def __call__(self, target: str, domains: int) -> None:
        """So many domains of a target are done."""


class FileCount:
    """Notes how many files of a target were read, and of how many where somebody wants to know."""

    def __init__(
        self, top: str, selection: Selection, seen: SeenFiles, progress: RunProgress | None
    ) -> None:
        self._top = top
        self._selection = selection
        self._seen = seen
        self._progress = progress
        self._total: int | None = None

    def begin(self) -> None:
        """Count those that there are, before the first is read."""
        wanted = self._progress is not None and self._progress.is_shown
        if wanted and self._selection.changed is None:
            self._total = self._seen.number_unread(self._top, self._selection)

    def read(self, done: int) -> None:
        """Note that so many were read."""
        if self._progress is None:
            return
        if self._total is None and not self._seen.several:  # those that are read count as seen
            self.begin()
        self._progress.read_files(done, self._total)
