"""Progress line shown while files are fixed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vnicaudit.base.wording import count
from vnicaudit.cli.output.progress import ProgressLine


class FixingLine:
    """Counts files as they are fixed or tried. A thread shows the count every second, because one
    file may take long."""

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
        """Show the line inside this context."""
        self._line.tick(self.show)
        try:
            yield
        finally:
            self._line.stop_ticking()
            self._line.clear()

    @contextmanager
    def next_file(self) -> Iterator[None]:
        """Count a file. Inside this context, other output can be written."""
        with self._lock:
            self._done += 1
            self._line.clear()
            yield

    def show(self) -> None:
        """Write the line if it is due."""
        with self._lock:
            if self._line.is_due:
                self._line.show(f"{self._doing}: {self._done:,} of {count(self._total, 'file')}")
