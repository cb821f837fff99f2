"""The line of progress while files are fixed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vnicaudit.base.wording import count
from vnicaudit.cli.output.progress_line import ProgressLine


class FixingLine:
    """Counts the files that are fixed, or tried. A thread shows it every second: one file may take
    long."""

    def __init__(
        self,
        total: int,
        *,
        writes: bool,
        enabled: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._done = total, 0
        self._doing = "Fixing" if writes else "Trying fixes"
        self._line = ProgressLine(enabled=enabled, clock=clock)
        self._lock = threading.Lock()

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Show it until the files are done."""
        self._line.tick(self.show)
        try:
            yield
        finally:
            self._line.stop_ticking()
            self._line.clear()

    @contextmanager
    def next_file(self) -> Iterator[None]:
        """Count a file; meanwhile something else can be written."""
        with self._lock:
            self._done += 1
            self._line.clear()
            yield

    def show(self) -> None:
        """Write it, where it is time for that."""
        with self._lock:
            if self._line.is_due:
                self._line.show(f"{self._doing}: {self._done:,} of {count(self._total, 'file')}")
