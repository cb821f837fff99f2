"""Error counters of the target's NICs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.guards.canned import DATA, WAY, Canned, Said, ends
from vnicaudit.bench.guards import counters
from vnicaudit.bench.guards.counters import Counters
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import GuardRail

RECORDED = (DATA / "net-dev" / "two.txt").read_text("utf-8")
HEAD = "".join(RECORDED.splitlines(keepends=True)[:2])
END = RECORDED.splitlines(keepends=True)[-1]


def nic(name: str, *, packets: int, errors: int = 0, dropped: int = 0) -> str:
    """A line of /proc/net/dev."""
    return f"{name:>6}: 0 {packets} {errors} {dropped} 0 0 0 0 0 0 0 0 0 0 0 0\n"


def judged(was: str, now: str) -> GuardRail:
    target = Canned(cat=Said(HEAD + was + END))
    kept = counters.before(ends(target), WAY)
    target.answers["cat"] = Said(HEAD + now + END)
    return counters.after(ends(target), WAY, kept)


def test_recorded() -> None:
    assert counters.counters(RECORDED) == {"v1": Counters(8, 0, 0), "v0": Counters(8, 0, 0)}


def test_both_directions_are_counted_and_lo_is_not() -> None:
    line = "  eth0: 9 100 1 2 0 0 0 0 9 50 3 4 0 0 0 0\n"
    found = counters.counters(HEAD + nic("lo", packets=5) + line + END)
    assert found == {"eth0": Counters(150, 4, 6)}


def test_cut_off_anywhere_it_is_an_error() -> None:
    for end in range(len(RECORDED)):
        with pytest.raises(MeasureError):
            counters.counters(RECORDED[:end])


@given(st.text())
def test_any_text_is_read_or_refused(noise: str) -> None:
    with pytest.raises(MeasureError):
        counters.counters(HEAD + noise)
    with pytest.raises(MeasureError):
        counters.counters(f"{HEAD}x{noise}\n{END}")


def test_nothing_rose() -> None:
    rail = judged(nic("eth0", packets=10, errors=7), nic("eth0", packets=90_000, errors=7))
    assert (rail.verdict, rail.detail) == ("ok", "no errors beyond a few")


def test_errors_rose() -> None:
    rail = judged(nic("eth0", packets=10, errors=7), nic("eth0", packets=90_010, errors=207))
    assert (rail.verdict, rail.detail) == ("failed", "eth0: 200 errors in 90000 packets")


def test_a_few_errors_in_very_many_packets_break_nothing() -> None:
    rail = judged(nic("eth0", packets=0), nic("eth0", packets=1_000_000, errors=900))
    assert rail.verdict == "ok"


def test_drops_are_told_and_break_nothing() -> None:
    rail = judged(nic("eth0", packets=0), nic("eth0", packets=1000, dropped=300))
    assert rail.verdict == "unknown"
    assert rail.detail == "eth0: 300 dropped next to 1000 packets, normal under overload"


def test_a_nic_that_was_swapped_counts_from_nothing() -> None:
    rail = judged(nic("eth0", packets=90_000, errors=500), nic("eth0", packets=100, errors=0))
    assert rail.verdict == "ok"
    rail = judged(nic("eth0", packets=90_000, errors=5), nic("eth0", packets=1000, errors=100))
    assert (rail.verdict, rail.detail) == ("failed", "eth0: 100 errors in 1000 packets")


def test_a_nic_of_a_new_name_counts_from_nothing() -> None:
    rail = judged(nic("ens3", packets=10), nic("ens4", packets=1000, errors=100))
    assert (rail.verdict, rail.detail) == ("failed", "ens4: 100 errors in 1000 packets")


def test_what_was_not_known_before() -> None:
    rail = counters.after(ends(Canned(cat=Said(RECORDED))), WAY, "")
    assert (rail.verdict, rail.detail) == ("unknown", "their state before is unknown")
