"""The bounds of a search for the highest load, and the next load to try."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Verdict = Literal["good", "bad", "unoffered"]
"""``unoffered``: the generator could not offer the load, so nothing is known of the other end."""

VERDICTS: tuple[Verdict, ...] = ("good", "bad", "unoffered")

_FURTHEST = 64
"""Limit of one step, in widths: without an upper bound, steps double; at 1.05 this is a factor of
22."""


class DecidedLoad(NamedTuple):
    """A load with its verdict. ``came_through``: an estimate of a load that would be good."""

    load: float
    verdict: Verdict
    came_through: float
    throughput: float


class Bracket:
    """The range between ``lower``, the highest good load, and ``upper``, the lowest that is not."""

    def __init__(self, width: float) -> None:
        self.lower: DecidedLoad | None = None
        self.upper: DecidedLoad | None = None
        self._width = width
        self._steps = 0
        self._guess: float | None = None
        self._guessed = False

    def take(self, judged: DecidedLoad) -> None:
        """Move the bound that this load changes."""
        if judged.verdict == "good":
            self.lower, self._guess = judged, None
        else:
            self.upper, self._guess = judged, judged.came_through

    def next_load(self) -> float | None:
        """The next load to try, a whole number; None: the bounds are close enough."""
        low = self.lower.load if self.lower else 0.0
        if self.upper is None:
            return max(low + 1, self._step(low, up=True))
        high = self.upper.load
        if high - low <= 1 or (low and high / low <= self._width):
            return None
        middle = self._middle(low, high)
        return min(max(middle, low + 1), high - 1)

    def _middle(self, low: float, high: float) -> float:
        """An estimate, but never twice in a row: an estimate may fail to halve the range."""
        guess, self._guess = self._guess, None
        self._guessed = not self._guessed and guess is not None and low < guess < high / self._width
        if self._guessed and guess is not None:
            return float(math.floor(guess))
        return float(round(math.sqrt(low * high))) if low else self._step(high, up=False)

    def _step(self, load: float, *, up: bool) -> float:
        self._steps += 1
        factor = self._width ** min(2**self._steps, _FURTHEST)
        return float(round(load * factor if up else load / factor))
