"""The line that says how far the audit of a fleet is."""

from __future__ import annotations

from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.fleet.running.spool import HostSummary


def summary(status: str = "ok") -> HostSummary:
    """A host of fifty domains."""
    failure = None if status == "ok" else "refused"
    return HostSummary("kvm", status, failure, 1, 50, 100, 3, "", 0, 0)  # type: ignore[arg-type]


def test_it_tells_totals_rate_and_time_left() -> None:
    now = [0.0]
    progress = FleetProgress(1000, enabled=False, clock=lambda: now[0])
    assert progress.text(0.0) == "0 of 1,000 hosts, 0 domains"
    for status in ("ok", "ok", "ok", "failed"):
        progress(summary(status))
    assert progress.text(2.0) == (
        "4 of 1,000 hosts, 1 failed, 200 domains, 2.0 hosts/s, 8 min left"
    )


def test_what_was_done_before_says_nothing_of_the_rate() -> None:
    progress = FleetProgress(100, enabled=False, clock=lambda: 0.0)
    for _ in range(50):
        progress(summary())
    progress.resumed()
    progress(summary())
    assert progress.text(1.0).endswith("1.0 hosts/s, 49 s left")
