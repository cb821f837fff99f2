"""In which order, how many at once, when to stop."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import NamedTuple

import pytest

from vnicaudit.errors import JournalError, SilentError, UsageError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.schedule import (
    PlacedResult,
    Schedule,
    Window,
    side_by_side,
)

NOON = datetime(2026, 11, 21, 12, 0)


class At(NamedTuple):
    """A unit at a target."""

    name: str
    target: str = "host"


LEFT = [At(name) for name in "abcd"]


def results(*outcomes: Outcome, target: str = "host") -> list[PlacedResult]:
    """How units ended, in order."""
    return [PlacedResult(target, Result(outcome)) for outcome in outcomes]


@pytest.mark.parametrize(
    ("schedule", "done", "now"),
    [
        (Schedule(), results(), "a"),
        (Schedule(), results("applied"), "a"),
        (Schedule(batch=2), results(), "a"),
        (Schedule(batch=2), results("applied"), "ab"),
        (Schedule(batch=2), results("already"), "ab"),
        (Schedule(canary=2, batch=3), results("applied"), "a"),
        (Schedule(canary=2, batch=3), results("applied", "applied"), "abc"),
        (Schedule(canary=0, batch=9), results(), "abcd"),
        (Schedule(canary=1, batch=2), results("refused"), "a"),  # nothing was done to it
    ],
)
def test_what_is_done_next(schedule: Schedule, done: list[PlacedResult], now: str) -> None:
    assert "".join(one.name for one in schedule.next(LEFT, done)) == now


@pytest.mark.parametrize(
    ("schedule", "done", "reason"),
    [
        (Schedule(), results(), ""),
        (Schedule(), results("applied", "already", "refused"), ""),
        (Schedule(), results("failed"), "a canary was not changed as planned"),
        (Schedule(), results("rolled-back"), "a canary was not changed as planned"),
        (Schedule(), results("refused", "failed"), "a canary was not changed as planned"),
        (Schedule(max_failures=5), results("failed"), "a canary was not changed as planned"),
        (Schedule(), results("applied", "failed"), "1 failed (--max-failures 0)"),
        (Schedule(max_failures=1), results("applied", "failed"), ""),
        (
            Schedule(max_failures=1), results("applied", "failed", "rolled-back"),
            "2 failed (--max-failures 1)",
        ),
        (Schedule(canary=0), results("failed"), "1 failed (--max-failures 0)"),
        (Schedule(window=Window.parse("22:00-04:00")), results(), "outside the window 22:00-04:00"),
        (Schedule(window=Window.parse("11:59-12:01")), results(), ""),
    ],
)  # fmt: skip
def test_why_no_more_is_begun(schedule: Schedule, done: list[PlacedResult], reason: str) -> None:
    assert schedule.stop(done, NOON) == reason


GROUPED = Schedule(
    canary=1, batch=9, max_failures=9,
    groups={"kvm1": ("zone_a",), "kvm2": ("zone_a", "gpu"), "kvm3": ("zone_b",)},
)  # fmt: skip
FLEET = [At("a", "kvm1"), At("b", "kvm1"), At("c", "kvm2"), At("d", "kvm3"), At("e", "elsewhere")]


def test_each_group_has_canaries_of_its_own_before_any_batch() -> None:
    done: list[PlacedResult] = []
    order = []
    left = FLEET
    while left:
        now = GROUPED.next(left, done)
        order.append("".join(one.name for one in now))
        done += [PlacedResult(one.target, Result("applied")) for one in now]
        left = [one for one in left if one not in now]
    assert order == ["a", "c", "d", "e", "b"]  # c is the canary of gpu, e of those in no group


def test_a_group_whose_first_guests_are_refused_gets_another_canary() -> None:
    done = results("refused", target="kvm1")
    assert [one.name for one in GROUPED.next(FLEET[1:], done)] == ["b"]


def test_a_canary_of_one_group_stops_all_of_them() -> None:
    well = results("applied", "applied", target="kvm1")
    assert GROUPED.stop(well, NOON) == ""
    bad = results("failed", target="kvm2")
    assert GROUPED.stop([*well, *bad], NOON) == "a canary of gpu was not changed as planned"
    assert GROUPED.stop([*well, *results("failed", target="kvm1")], NOON) == ""


@pytest.mark.parametrize(
    ("window", "clock", "is_open"),
    [
        ("22:00-04:00", "21:59", False),
        ("22:00-04:00", "22:00", True),
        ("22:00-04:00", "03:59", True),
        ("22:00-04:00", "04:00", False),
        ("9:00-17:00", "09:00", True),
        ("9:00-17:00", "17:00", False),
    ],
)
def test_a_window(window: str, clock: str, *, is_open: bool) -> None:
    at = datetime.fromisoformat(f"2026-11-21T{clock}:00")
    assert Window.parse(window).is_open(at) is is_open


@pytest.mark.parametrize("text", ["", "22-4", "22:00", "24:00-01:00", "01:00-01:00", "a:b-c:d"])
def test_what_is_no_window(text: str) -> None:
    with pytest.raises(UsageError, match="is not a window: write it as 22:00-04:00"):
        Window.parse(text)


def test_all_are_done_whatever_one_raises() -> None:
    done: list[int] = []
    both = threading.Barrier(2, timeout=60)

    def raises() -> None:
        both.wait()
        raise SilentError("libvirt did not answer")

    def works() -> None:
        both.wait()
        done.append(1)

    with pytest.raises(SilentError):
        side_by_side([raises, works])
    assert done == [1]


def test_one_alone_is_done_where_it_is_asked_for() -> None:
    """So that Ctrl-C reaches it."""
    threads: list[threading.Thread] = []
    side_by_side([lambda: threads.append(threading.current_thread())])
    assert threads == [threading.current_thread()]


def test_nothing_to_do() -> None:
    side_by_side([])


def test_the_first_error_is_raised() -> None:
    def fails() -> None:
        raise JournalError("full")

    with pytest.raises(JournalError, match="full"):
        side_by_side([fails, fails, lambda: None])
