"""Locks on whatever must not be down at the same time: members of a server group, servers that
share a volume.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager


class ExclusionLocks:
    """One after the other, of those that name the same. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._failed: dict[str, str] = {}

    @contextmanager
    def hold(self, names: Iterable[str]) -> Iterator[None]:
        """Wait until nobody else holds one of these, and hold them. In one order always: nobody
        waits for each other."""
        with ExitStack() as stack:
            for name in sorted(set(names)):
                stack.enter_context(self._of(name))
            yield

    def failed(self, who: str, names: Iterable[str]) -> None:
        """Remember that it may be away for longer."""
        with self._lock:
            self._failed.update(dict.fromkeys(names, who))

    def failed_member(self, names: Iterable[str]) -> str:
        """The unit that has failed with one of these names held; empty: none."""
        with self._lock:
            return next((self._failed[name] for name in names if name in self._failed), "")

    def _of(self, name: str) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(name, threading.Lock())
