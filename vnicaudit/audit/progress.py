"""The progress of a run, for display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vnicaudit.audit.reading.seen_files import SeenFiles
    from vnicaudit.audit.reading.selection import Selection


class RunProgress(Protocol):
    """Is told the progress of a run."""

    @property
    def is_shown(self) -> bool:
        """True if progress is shown, so that counting the work is worthwhile."""

    def waits_for(self, target: str, number: int, total: int, *, forks: bool = False) -> None:
        """A live target, or a pipe, is being read now, the ``number``-th of ``total``; ``forks``:
        by a forked process, so start no thread: ``still_waits`` is called all the time."""

    def still_waits(self) -> None:
        """Nothing has come yet from a process that reads files."""

    def waits_no_more(self) -> None:
        """All of a pipe was read: processes may be forked from now on."""

    def read_files(self, done: int, total: int | None) -> None:
        """The number of files read so far from a target; ``total`` None: not counted."""

    def __call__(self, target: str, domains: int) -> None:
        """The number of domains of a target done so far."""


class FileCount:
    """Notes how many files of a target were read, and counts them all if progress is shown."""

    def __init__(
        self, top: str, selection: Selection, seen: SeenFiles, progress: RunProgress | None
    ) -> None:
        self._top = top
        self._selection = selection
        self._seen = seen
        self._progress = progress
        self._total: int | None = None

    def begin(self) -> None:
        """Count the files of the target, before the first is read."""
        wanted = self._progress is not None and self._progress.is_shown
        if wanted and self._selection.changed is None:
            self._total = self._seen.number_unread(self._top, self._selection)

    def read(self, done: int) -> None:
        """Note the number of files read so far."""
        if self._progress is None:
            return
        if self._total is None and not self._seen.several:  # those that are read count as seen
            self.begin()
        self._progress.read_files(done, self._total)
