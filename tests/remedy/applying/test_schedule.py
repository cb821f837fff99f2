"""In which order, how many at once, when to stop."""

import random
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from tests.rows import rows
from vnicaudit.errors import JournalError, NoResponseError, UsageError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.journal.events import Result, UnitRequest
from vnicaudit.remedy.applying.unit_queue import Schedule, UnitQueue, Window, in_parallel

NOON = datetime(2026, 11, 21, 12, 0)


def at(key: str, target: str = "host") -> UnitRequest:
    """A unit at a target."""
    return UnitRequest(key, key, target, (), (), "domain")


LEFT = [at(name) for name in "abcd"]


class Ended(NamedTuple):
    """How a unit at a target ended."""

    target: str
    outcome: Outcome


def results(*outcomes: Outcome, target: str = "host") -> list[Ended]:
    """How units ended, in order."""
    return [Ended(target, outcome) for outcome in outcomes]


def progress(schedule: Schedule, done: list[Ended], left: Sequence[UnitRequest] = ()) -> UnitQueue:
    """A run in which these have ended, and those are left."""
    ended = [at(f"ended {number}", one.target) for number, one in enumerate(done)]
    made = UnitQueue(schedule, [*ended, *left])
    for unit, one in zip(ended, done, strict=True):
        made.count(unit, Result(one.outcome))
    return made


@rows
def test_queue_gives_canaries_then_batches(
    schedule: dict[str, Any], done: list[Outcome], now: str
) -> None:
    queue = progress(Schedule(**schedule), results(*done), LEFT)
    assert "".join(one.key for one in queue.next()) == now


@rows
def test_queue_stops_with_a_reason(
    schedule: dict[str, Any], done: list[Outcome], reason: str
) -> None:
    assert progress(Schedule(**schedule), results(*done)).stop(NOON) == reason


@pytest.mark.parametrize(
    ("window", "reason"),
    [("22:00-04:00", "outside the window 22:00-04:00"), ("11:59-12:01", "")],
)
def test_queue_stops_outside_its_window(window: str, reason: str) -> None:
    assert progress(Schedule(window=Window.parse(window)), []).stop(NOON) == reason


GROUPED = Schedule(
    canary=1, batch=9, max_failures=9,
    groups={"kvm1": ("zone_a",), "kvm2": ("zone_a", "gpu"), "kvm3": ("zone_b",)},
)  # fmt: skip
FLEET = [at("a", "kvm1"), at("b", "kvm1"), at("c", "kvm2"), at("d", "kvm3"), at("e", "elsewhere")]


def test_each_group_has_canaries_of_its_own_before_any_batch() -> None:
    run = UnitQueue(GROUPED, FLEET)
    order = []
    while run.targets:
        now = run.next()
        order.append("".join(one.key for one in now))
        for one in now:
            run.count(one, Result("applied"))
    assert order == ["a", "c", "d", "e", "b"]  # c is the canary of gpu, e of those in no group


def test_a_group_whose_first_guests_are_refused_gets_another_canary() -> None:
    done = results("refused", target="kvm1")
    assert [one.key for one in progress(GROUPED, done, FLEET[1:]).next()] == ["b"]


def test_a_canary_of_one_group_stops_all_of_them() -> None:
    well = results("applied", "applied", target="kvm1")
    assert progress(GROUPED, well).stop(NOON) == ""
    bad = results("failed", target="kvm2")
    assert progress(GROUPED, [*well, *bad]).stop(NOON) == "ended 2, a canary of gpu, failed"
    later = results("failed", target="kvm1")
    assert progress(GROUPED, [*well, *later]).stop(NOON) == ""


def test_sources_go_first_one_by_one_and_are_no_canaries() -> None:
    images = [at("image", "cloud"), at("flavor", "cloud")]
    run = UnitQueue(Schedule(batch=2, max_failures=1), LEFT, images)
    assert [one.key for one in run.next()] == ["image"]
    run.count(images[0], Result("failed"))
    assert run.stop(NOON) == ""
    assert [one.key for one in run.next()] == ["flavor"]
    run.count(images[1], Result("failed"))
    assert run.stop(NOON) == "2 failed (--max-failures 1)"
    assert [one.key for one in run.next()] == ["a"]
    assert set(run.targets) == {"host"}


def _reference(
    schedule: Schedule, units: Sequence[UnitRequest], done: dict[str, Result]
) -> tuple[list[str], str]:
    """The units to change now, and the canary that failed: found by going through all."""
    well: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    failed = ""
    for key, result in done.items():  # in the order in which they ended
        unit, outcome = next(one for one in units if one.key == key), result.outcome
        for group in schedule.groups_of(unit.target):
            well[group] += outcome in ("applied", "already")
            seen[group] += outcome not in ("refused", "gone")
            if outcome in ("failed", "rolled-back") and seen[group] <= schedule.canary:
                failed = failed or f"{key}, a canary of {group or 'all'}, failed"
    left = [unit for unit in units if unit.key not in done]
    for unit in left:
        if any(well[group] < schedule.canary for group in schedule.groups_of(unit.target)):
            return [unit.key], failed
    return [unit.key for unit in left[: schedule.batch]], failed


_OUTCOMES: tuple[Outcome, ...] = (
    *("applied",) * 6, "already", "refused", "gone", "failed",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_queue_agrees_with_going_through_all_units(seed: int) -> None:
    draw = random.Random(seed)
    groups = {f"kvm{n}": tuple(sorted(draw.sample("ABCD", draw.randint(1, 3)))) for n in range(5)}
    schedule = Schedule(draw.randint(0, 3), draw.randint(1, 4), 99, groups=groups)
    units = [at(str(n), f"kvm{draw.randrange(6)}") for n in range(40)]
    run, done = UnitQueue(schedule, units), dict[str, Result]()

    def end(unit: UnitRequest) -> None:
        done[unit.key] = Result(draw.choice(_OUTCOMES))
        run.count(unit, done[unit.key])

    for unit in draw.sample(units, draw.randint(0, 6)):  # of an earlier life of the program
        end(unit)
    while run.targets:
        following, failed = _reference(schedule, units, done)
        now = run.next()
        assert [one.key for one in now] == following
        assert run.stop(NOON) == failed
        for one in now:
            end(one)


@rows
def test_a_window(window: str, clock: str, *, is_open: bool) -> None:
    moment = datetime.fromisoformat(f"2026-11-21T{clock}:00")
    assert Window.parse(window).is_open(moment) is is_open


@pytest.mark.parametrize("text", ["", "22-4", "22:00", "24:00-01:00", "01:00-01:00", "a:b-c:d"])
def test_what_is_no_window(text: str) -> None:
    with pytest.raises(UsageError, match="is not a window: write it as 22:00-04:00"):
        Window.parse(text)


def test_all_are_done_whatever_one_raises() -> None:
    done: list[int] = []
    both = threading.Barrier(2, timeout=60)

    def raises() -> None:
        both.wait()
        raise NoResponseError("libvirt did not answer")

    def works() -> None:
        both.wait()
        done.append(1)

    with pytest.raises(NoResponseError):
        in_parallel([raises, works])
    assert done == [1]


def test_one_alone_is_done_where_it_is_asked_for() -> None:
    """So that Ctrl-C reaches it."""
    threads: list[threading.Thread] = []
    in_parallel([lambda: threads.append(threading.current_thread())])
    assert threads == [threading.current_thread()]


def test_nothing_to_do() -> None:
    in_parallel([])


def test_the_first_error_is_raised() -> None:
    def fails() -> None:
        raise JournalError("full")

    with pytest.raises(JournalError, match="full"):
        in_parallel([fails, fails, lambda: None])
