"""The line that says how far the audit of a fleet is."""

import io
from contextlib import redirect_stderr

from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.fleet.spool import HostSummary


def summary(status: str = "ok") -> HostSummary:
    """A host of fifty domains."""
    failure = None if status == "ok" else "refused"
    return HostSummary("kvm", status, failure, 1, 50, 100, 3, "", "", 0, 0)  # type: ignore[arg-type]


def test_it_tells_totals_rate_and_time_left() -> None:
    now = [0.0]
    progress = FleetProgress(1000, enabled=False, clock=lambda: now[0])
    assert progress.text(0.0) == "0 of 1,000 hosts, 0 guests"
    for status in ("ok", "ok", "ok", "failed"):
        progress(summary(status))
    assert progress.text(2.0) == ("4 of 1,000 hosts, 1 failed, 200 guests, 2.0 hosts/s, 8 min left")


def test_what_was_done_before_says_nothing_of_the_rate() -> None:
    progress = FleetProgress(100, enabled=False, clock=lambda: 0.0)
    for _ in range(50):
        progress(summary())
    progress.resumed()
    progress(summary())
    assert progress.text(1.0).endswith("1.0 hosts/s, 49 s left")


def test_a_log_says_how_far_it_is_and_for_how_long_no_host_answered() -> None:
    now = [0.0]
    with redirect_stderr(io.StringIO()) as log:
        progress = FleetProgress(4, enabled=True, clock=lambda: now[0])
        progress.reads()
        for second in (1.0, 29.0, 30.0):
            now[0] = second
            progress(summary())
        for second in (45.0, 60.0, 61.0):
            now[0] = second
            progress.show_waiting()
        progress.clear()
        now[0] = 500.0
        progress.show_waiting()
    assert log.getvalue().splitlines() == [
        "3 of 4 hosts, 150 guests, 0.1 hosts/s, 10 s left",
        "3 of 4 hosts, 150 guests, 0.1 hosts/s, 20 s left; no progress for 30 s",
    ]
