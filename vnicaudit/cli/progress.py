"""Progress on standard error, on a terminal only, and only when the work takes a while."""

from __future__ import annotations

import sys
import time

from vnicaudit.cli.telling import show

QUIET_FOR = 1.0
"""Seconds before the first line is shown: short work shows none."""

EVERY = 0.2


class Progress:
    """Counts domains while they come in; a terminal sees one line that rewrites itself."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr is not None and sys.stderr.isatty()
        self._started = self._shown = time.monotonic()
        self._visible = False

    def __call__(self, target: str, domains: int) -> None:
        """Note that ``domains`` of ``target`` are done."""
        if not self._enabled:
            return
        now = time.monotonic()
        if now - self._started < QUIET_FOR or now - self._shown < EVERY:
            return
        from vnicaudit.reports.safe import safe

        self._shown, self._visible = now, True
        rate = domains / (now - self._started)
        show(f"\r\x1b[K{safe(target)}: {domains} domains, {rate:.0f}/s")

    def clear(self) -> None:
        """Take the line away before results are printed."""
        if self._visible:
            show("\r\x1b[K")
            self._visible = False
