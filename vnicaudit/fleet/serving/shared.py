"""One result for all simultaneous requests, made in a thread of its own: overlapping scrapes cost
one reading, and a page that takes long is not made in vain for a visitor who left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from vnicaudit.base.waiting import Clock
from vnicaudit.errors import TargetError, VnicauditError

T = TypeVar("T")


class NotReadyError(TargetError):
    """The value is still being made."""


class _Making(Generic[T]):
    """One attempt to make the value, which nobody or several wait for (``waiting``). ``is_told``:
    somebody got its error. ``failed``: when, on the clock of the value."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.values: list[T] = []
        self.error: Exception | None = None
        self.failed = 0.0
        self.is_told = False
        self.waiting = 0


class SharedValue(Generic[T]):
    """A value that is made in the background and reused for some seconds. An error is not cached:
    it is raised once, unless it is older than a value may be, and the next caller has the value
    made again."""

    def __init__(
        self,
        make: Callable[[], T],
        *,
        good_for: float,
        patience: float,
        clock: Clock,
        older: bool = False,
        on_error: Callable[[str], object] = str,
    ) -> None:
        """``good_for``: seconds for which a value is reused. ``patience``: seconds that a caller
        waits for a new one; after that, callers get the previous one if ``older``. ``on_error``:
        is told of an error that nobody waits for."""
        self._make = make
        self._good_for = good_for
        self._patience = patience
        self._clock = clock
        self._older = older
        self._on_error = on_error
        self._lock = threading.Lock()
        self._made: tuple[float, T] | None = None
        self._making: _Making[T] | None = None

    def get(self) -> T:
        """The value. Raises the errors of making it, and NotReadyError if that takes longer."""
        with self._lock:
            made = self._made
            if made is not None and self._clock.monotonic() - made[0] <= self._good_for:
                return made[1]
            making = self._attempt()
            making.waiting += 1
        making.done.wait(self._patience)
        with self._lock:  # from now on the error, if any, is not for this caller
            making.waiting -= 1
            is_done = making.done.is_set()
        if is_done:
            if making.error is None:
                return making.values[0]
            making.is_told = True
            raise making.error
        if made is not None and self._older:
            return made[1]
        raise NotReadyError(f"the history is still being read after {self._patience:g} s")

    def begin(self) -> None:
        """Have the value made, and do not wait for it."""
        with self._lock:
            self._attempt()

    def _attempt(self) -> _Making[T]:
        """The attempt under way, or a new one; a recent one whose error nobody got comes first."""
        making = self._making
        if making is None or (making.done.is_set() and not self._is_to_tell(making)):
            making = self._making = _Making()
            threading.Thread(target=self._work, args=(making,), daemon=True).start()
        return making

    def _is_to_tell(self, making: _Making[T]) -> bool:
        age = self._clock.monotonic() - making.failed
        return making.error is not None and not making.is_told and age <= self._good_for

    def _work(self, making: _Making[T]) -> None:
        try:
            value = self._make()
        except Exception as error:  # an edge: raised in a waiting thread
            with self._lock:
                making.error, making.failed = error, self._clock.monotonic()
                making.done.set()
                is_alone = not making.waiting
            if is_alone:
                self._on_error(reason(error))
        else:
            making.values.append(value)
            with self._lock:
                self._made = self._clock.monotonic(), value
                making.done.set()


def reason(error: BaseException | None) -> str:
    """The text that tells an operator of an error."""
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error: {type(error).__name__}: {error}"
