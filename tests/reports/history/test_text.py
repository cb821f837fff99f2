"""The history for people: what is said, and that nothing of a name reaches a terminal."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.reports.history.samples import DETAILS, DRIFT, STATUS, TREND
from vnicaudit.reports.differences import as_csv, as_markdown, as_text
from vnicaudit.reports.history import (
    details_text,
    drift_differences,
    status_text,
    trend_csv,
    trend_text,
)
from vnicaudit.reports.writers import Options

WIDE = Options(width=200)
WRITTEN: dict[str, Callable[[], str]] = {
    "status": lambda: "".join(status_text(STATUS, WIDE)),
    "details": lambda: "".join(details_text(DETAILS, WIDE)),
    "trend": lambda: "".join(trend_text(TREND, WIDE)),
    "trend csv": lambda: trend_csv(TREND),
    "drift": lambda: "".join(as_text(drift_differences(DRIFT), WIDE)),
    "drift csv": lambda: "".join(as_csv(drift_differences(DRIFT), WIDE)),
    "drift markdown": lambda: "".join(as_markdown(drift_differences(DRIFT), WIDE)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_no_escape_of_a_name_gets_through(name: str) -> None:
    assert "\x1b" not in WRITTEN[name]()


def test_status() -> None:
    assert WRITTEN["status"]().splitlines()[1:] == [
        "20261122-101500-3f2a     50       1     1,246  1,234    2         1"
        "      4     5  hosts zone_a, 5% of the hosts, 4 rules",
        "",
        "/x.db: 32.2 MB, 1,000 hosts in the inventory, 2 never read; oldest reading "
        "2026-11-01T00:00:00Z",
        "",
        "1 host not read:",
        "  kvm7: never read; unreachable: no route a\\x1b[31m|b",
    ]


def test_details_and_drift_name_findings_by_their_state() -> None:
    for name in ("details", "drift"):
        assert "\n1 finding reopened:\n" in WRITTEN[name]()


def test_trend_counts_what_is_stale_with_the_rest_and_apart() -> None:
    assert WRITTEN["trend"]().splitlines() == [
        "site  findings  stale  since first  new  reopened  fixed  gone  trend",
        "-        1,246  1,234           +0    2         1      4     5  █",
        "",
        "1 audit, 2026-11-22T10:15:00Z to 2026-11-22T10:15:00Z; the last read 49 of 1,000 hosts; "
        "each trend is drawn from 0 to its highest number",
    ]


def test_trend_tells_that_the_first_audit_read_fewer_hosts() -> None:
    (last,) = TREND.audits
    first = replace(last, id="20261101-101500-0000", ok=1, partial=1, hosts=600)
    text = "".join(trend_text(replace(TREND, audits=(first, last)), WIDE))
    assert "; the last read 49 of 1,000 hosts, the first 2 of 600; each trend" in text


def test_drift_tells_what_changed_of_a_nic() -> None:
    assert "model e1000 → virtio, vhost 0 → unknown" in WRITTEN["drift"]()


def test_a_narrow_terminal_cuts_nothing() -> None:
    narrow = "".join(status_text(STATUS, Options(width=40)))
    assert narrow.split() == WRITTEN["status"]().split()
