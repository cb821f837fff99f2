"""Locks on whatever must not be down at the same time: members of a server group, servers that
share a volume.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager


class ExclusionLocks:
    """Makes those that share a name wait for each other. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._failed: dict[str, str] = {}

    @contextmanager
    def hold(self, names: Iterable[str]) -> Iterator[None]:
        """Wait until nobody else holds one of these names, and hold them. Names are always locked
        in the same order, so that no two threads wait for each other."""
        with ExitStack() as stack:
            for name in sorted(set(names)):
                stack.enter_context(self._of(name))
            yield

    def failed(self, who: str, names: Iterable[str]) -> None:
        """Record that ``who`` failed and may be down for longer."""
        with self._lock:
            self._failed.update(dict.fromkeys(names, who))

    def failed_member(self, names: Iterable[str]) -> str:
        """The unit that failed while it held one of these names; empty: none."""
        with self._lock:
            return next((self._failed[name] for name in names if name in self._failed), "")

    def _of(self, name: str) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(name, threading.Lock())
