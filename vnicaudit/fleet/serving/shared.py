"""One result for all simultaneous requests: overlapping scrapes cost one reading."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from vnicaudit.base.waiting import Clock
from vnicaudit.errors import TargetError

T = TypeVar("T")


class SharedValue(Generic[T]):
    """A value made by one thread while others wait for it, and reused for some seconds. An error is
    not cached: the next caller tries again."""

    def __init__(
        self, make: Callable[[], T], *, good_for: float, patience: float, clock: Clock
    ) -> None:
        """``good_for``: seconds for which a value is reused. ``patience``: seconds that a caller
        waits."""
        self._make = make
        self._good_for = good_for
        self._patience = patience
        self._clock = clock
        self._lock = threading.Lock()
        self._made: tuple[float, T] | None = None

    def get(self) -> T:
        """The value. Raises the errors of making it, and TargetError if that takes too long."""
        made = self._fresh()
        if made is not None:
            return made[1]
        if not self._lock.acquire(timeout=self._patience):
            raise TargetError(f"the history did not answer within {self._patience:.0f} s")
        try:
            made = self._fresh()
            if made is None:
                value = self._make()
                made = self._made = (self._clock.monotonic(), value)
            return made[1]
        finally:
            self._lock.release()

    def _fresh(self) -> tuple[float, T] | None:
        made = self._made
        if made is None or self._clock.monotonic() - made[0] > self._good_for:
            return None
        return made
