"""Transports that are a program of this machine, with the command behind it, word for word."""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.bench.endpoints.process import run_here
from vnicaudit.bench.endpoints.transport import Answer, Where


class Prefixed:
    """Runs commands behind some words."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self._words = tuple(words)

    def run(self, argv: Sequence[str], seconds: float) -> Answer:
        """Run a command to its end."""
        return run_here((*self._words, *argv), seconds)

    def close(self) -> None:
        """There is nothing to leave."""


def sudo(where: Where) -> tuple[str, ...]:
    """The words for ``sudo=true``; it does not ask for a password."""
    return ("sudo", "-n", "--") if where.flag("sudo") else ()
