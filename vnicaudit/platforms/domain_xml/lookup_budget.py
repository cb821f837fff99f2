"""Limit on lookups in a cache that rarely has an answer."""

from __future__ import annotations

MISSES = 512
"""Number of lookups that may miss, plus ``PER_HIT`` for each hit."""
PER_HIT = 3


class LookupBudget:
    """Budget for the lookups of one cache. ``spent``: number of misses, minus ``PER_HIT`` for each
    hit; caches subtract it themselves, because a call for each NIC would cost too much. Regardless
    of earlier hits, at most twice ``MISSES`` may miss in a row."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def add_miss(self) -> None:
        """Count a lookup that missed."""
        self.spent = max(self.spent, -MISSES) + 1

    @property
    def is_used_up(self) -> bool:
        """True if lookups are no longer worth their time."""
        return self.spent > MISSES

    @property
    def is_earned(self) -> bool:
        """True if more than one lookup in four was a hit."""
        return self.spent < 0
