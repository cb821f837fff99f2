"""A limit on lookups in a cache that seldom has an answer."""

from __future__ import annotations

MISSES = 512
"""So many look-ups may miss, and three more for each that hit."""
PER_HIT = 3


class LookupBudget:
    """The look-ups of one memory. ``spent``: those that missed, less ``PER_HIT`` for each that hit:
    memories subtract it themselves, for a call for each NIC would be felt. However many have hit,
    no more than twice ``MISSES`` may miss in a row."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def add_miss(self) -> None:
        """Count a look-up that missed."""
        self.spent = max(self.spent, -MISSES) + 1

    @property
    def is_used_up(self) -> bool:
        """True where looking up is not worth its time any more."""
        return self.spent > MISSES

    @property
    def is_earned(self) -> bool:
        """True where more than one look-up in four hit."""
        return self.spent < 0
