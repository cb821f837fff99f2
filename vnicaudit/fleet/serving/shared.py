"""One answer for all who ask at the same time: scrapes that overlap cost one reading."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from vnicaudit.base.clock import Clock
from vnicaudit.errors import TargetError

T = TypeVar("T")


class SharedValue(Generic[T]):
    """A value that one thread makes while others wait for it, and that is good for some seconds.
    An error is not kept: the next who asks tries again."""

    def __init__(
        self, make: Callable[[], T], *, good_for: float, patience: float, clock: Clock
    ) -> None:
        """``good_for`` and ``patience`` (for one who waits) in seconds."""
        self._make = make
        self._good_for = good_for
        self._patience = patience
        self._clock = clock
        self._lock = threading.Lock()
        self._made: tuple[float, T] | None = None

    def get(self) -> T:
        """The value. Raises what making it raises, and TargetError where it takes too long."""
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
