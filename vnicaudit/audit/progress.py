"""How far a run is, for whoever shows it."""

from __future__ import annotations

from typing import Protocol


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
