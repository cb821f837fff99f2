"""The progress of a run, for display."""

from __future__ import annotations

from typing import Protocol

STANDARD_INPUT = "standard input"
"""The name of the target ``-`` in messages."""


class RunProgress(Protocol):
    """Is told the progress of a run."""

    @property
    def is_shown(self) -> bool:
        """True if progress is shown, so that counting the work is worthwhile."""

    def waits_for(self, target: str, number: int, total: int) -> None:
        """A live target, or standard input, is being read now, the ``number``-th of ``total``."""

    def read_files(self, done: int, total: int | None) -> None:
        """The number of files read so far from a target; ``total`` None: not counted."""

    def __call__(self, target: str, domains: int) -> None:
        """The number of domains of a target done so far."""
