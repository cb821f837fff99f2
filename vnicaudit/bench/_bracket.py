"""The bounds of a search, and which load comes next."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Verdict = Literal["good", "bad", "unoffered"]
"""``unoffered``: the generator could not offer it, so nothing is known of the other end."""

VERDICTS: tuple[Verdict, ...] = ("good", "bad", "unoffered")

_FURTHEST = 64
"""Widths of one step: without a bound, steps double; at 1.05 this is a factor of 22."""


class DecidedLoad(NamedTuple):
    """A load that was decided. ``came_through``: a guess at what would be good."""

    load: float
    verdict: Verdict
    came_through: float
    throughput: float


class Bracket:
    """Between ``lower``, the highest good load, and ``upper``, the lowest that is not."""

    def __init__(self, width: float) -> None:
        self.lower: DecidedLoad | None = None
        self.upper: DecidedLoad | None = None
        self._width = width
        self._steps = 0
        self._guess: float | None = None
        self._guessed = False

    def take(self, judged: DecidedLoad) -> None:
        """Move the bound that this load moves."""
        if judged.verdict == "good":
            self.lower, self._guess = judged, None
        else:
            self.upper, self._guess = judged, judged.came_through

    def next_load(self) -> float | None:
        """A whole number; None: the bounds are close enough."""
        low = self.lower.load if self.lower else 0.0
        if self.upper is None:
            return max(low + 1, self._step(low, up=True))
        high = self.upper.load
        if high - low <= 1 or (low and high / low <= self._width):
            return None
        middle = self._middle(low, high)
        return min(max(middle, low + 1), high - 1)

    def _middle(self, low: float, high: float) -> float:
        """A guess, but never two in a row: a guess may halve nothing."""
        guess, self._guess = self._guess, None
        self._guessed = not self._guessed and guess is not None and low < guess < high / self._width
        if self._guessed and guess is not None:
            return float(math.floor(guess))
        return float(round(math.sqrt(low * high))) if low else self._step(high, up=False)

    def _step(self, load: float, *, up: bool) -> float:
        self._steps += 1
        factor = self._width ** min(2**self._steps, _FURTHEST)
        return float(round(load * factor if up else load / factor))
