"""How far the audit of a fleet is, while it is under way."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable

from vnicaudit.base.wording import count
from vnicaudit.cli.output.stderr import EVERY, QUIET_FOR, Rewritten
from vnicaudit.fleet.running.spool import HostSummary


class FleetProgress:
    """Counts hosts as they are done; a terminal sees one line that rewrites itself."""

    def __init__(
        self, hosts: int, *, enabled: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.domains = 0
        self.done = 0
        self.statuses: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._hosts = hosts
        self._enabled = enabled and sys.stderr is not None and sys.stderr.isatty()
        self._clock = clock
        self._started = self._shown = clock()
        self._line = Rewritten()
        self._before = 0

    def resumed(self) -> None:
        """Leave the hosts counted so far out of the rate: an earlier process read them."""
        self._before = self.done

    def __call__(self, host: HostSummary) -> None:
        """Note that a host is done."""
        self.done += 1
        self.domains += host.domains
        self.statuses[host.status] += 1
        if host.failure is not None:
            self.failures[host.failure] += 1
        now = self._clock()
        if self._enabled and now - self._started >= QUIET_FOR and now - self._shown >= EVERY:
            self._shown = now
            self._line.show(self.text(now))

    def text(self, now: float) -> str:
        """``312 of 1,000 hosts, 2 failed, 15,600 domains, 42 hosts/s, 16 s left``."""
        rate = (self.done - self._before) / max(now - self._started, 1e-9)
        parts = [f"{self.done:,} of {count(self._hosts, 'host')}"]
        if failed := self.statuses["failed"]:
            parts.append(f"{failed:,} failed")
        parts.append(count(self.domains, "domain"))
        if rate > 0:
            left = (self._hosts - self.done) / rate
            parts.append(f"{rate:.1f} hosts/s, {_duration(left)} left")
        return ", ".join(parts)

    def clear(self) -> None:
        """Take the line away before something else is printed."""
        self._line.clear()


def _duration(seconds: float) -> str:
    """``16 s``, ``4 min``, ``2 h 10 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
