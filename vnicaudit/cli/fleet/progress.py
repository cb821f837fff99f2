"""Progress of the audit of a fleet."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from vnicaudit.base.wording import count
from vnicaudit.cli.output.progress import STALLED, ProgressLine
from vnicaudit.fleet.spool import HostSummary
from vnicaudit.model.fleet import FailureKind, HostStatus


class FleetProgress:
    """Counts hosts as they are done. While none is done, shows how long that has lasted."""

    def __init__(
        self, hosts: int, *, enabled: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.domains = 0
        self.done = 0
        self.statuses: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._hosts = hosts
        self._clock = clock
        self._started = self._last = clock()
        self._line = ProgressLine(enabled=enabled, clock=clock)
        self._lock = threading.Lock()
        self._reading = False
        self._before = 0

    def resumed(self) -> None:
        """Leave the hosts counted so far out of the rate: an earlier process read them."""
        self._before = self.done

    def reads(self) -> None:
        """From now on, show every second how long no host has answered."""
        self._reading, self._last = True, self._clock()
        self._line.tick(self.show_waiting)

    def show_waiting(self) -> None:
        """Show the progress, and how long no host has answered."""
        with self._lock:
            now = self._clock()
            seconds = now - self._last
            if self._reading and seconds > STALLED and self._line.is_due:
                self._line.show(f"{self.text(now)}; no progress for {seconds:.0f} s")

    def __call__(self, host: HostSummary) -> None:
        """Count a host whose reading is stored."""
        self.count_host(host.status, host.failure, host.domains)

    def count_host(self, status: HostStatus, failure: FailureKind | None, domains: int) -> None:
        """Count a host that is done, with its first failure and the domains that were read."""
        self.done += 1
        self.domains += domains
        self.statuses[status] += 1
        if failure is not None:
            self.failures[failure] += 1
        with self._lock:
            self._last = now = self._clock()
            if self._line.is_due:
                self._line.show(self.text(now))

    def text(self, now: float) -> str:
        """``312 of 1,000 hosts, 2 failed, 15,600 guests, 42 hosts/s, 16 s left``."""
        rate = (self.done - self._before) / max(now - self._started, 1e-9)
        parts = [f"{self.done:,} of {count(self._hosts, 'host')}"]
        if failed := self.statuses["failed"]:
            parts.append(f"{failed:,} failed")
        parts.append(count(self.domains, "guest"))
        if rate > 0:
            left = (self._hosts - self.done) / rate
            parts.append(f"{rate:.1f} hosts/s, {_duration(left)} left")
        return ", ".join(parts)

    def summary(self) -> str:
        """``Read 9 of 10 hosts, 54 guests; 2 in part; 1 not at all (1 unreachable, 2 deadline)``.
        Hosts read in part count as read."""
        whole, partly, failed = (self.statuses[one] for one in ("ok", "partial", "failed"))
        text = f"Read {whole + partly:,} of {count(self.done, 'host')}"
        text += f", {count(self.domains, 'guest')}"
        if partly:
            text += f"; {partly:,} in part"
        if failed:
            text += f"; {failed:,} not at all"
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.failures.most_common())
        return f"{text} ({kinds})" if kinds else text

    def clear(self) -> None:
        """Erase the progress line before something else is printed."""
        with self._lock:
            self._reading = False
            self._line.clear()


def _duration(seconds: float) -> str:
    """``16 s``, ``4 min``, ``2 h 10 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
