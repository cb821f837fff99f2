"""One timer for the deadlines of many files: each has its own time, and nothing else is ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from vnicaudit.base.cpu_deadline import Deadline, OutOfTime, Ticking, within

_TICK = 0.25


def _busy(seconds: float) -> Iterator[int]:
    """An item that takes so much CPU time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    yield 1


def test_a_late_file_is_ended_and_the_next_has_its_own_time() -> None:
    with Ticking():
        with pytest.raises(OutOfTime):
            list(within(_TICK, _busy(60)))
        assert list(within(_TICK * 4, _busy(_TICK))) == [1]


def test_time_between_two_readings_does_not_count() -> None:
    deadline = Deadline(_TICK / 2)
    with Ticking():
        with deadline:
            pass
        assert list(_busy(_TICK * 2)) == [1]
        with deadline:
            pass
        with pytest.raises(OutOfTime), deadline:
            list(_busy(60))


def test_no_timer_is_left_behind() -> None:
    with pytest.raises(OutOfTime), Ticking():
        list(within(0, _busy(60)))
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    with Ticking(), Ticking():
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    assert list(within(30, _busy(_TICK))) == [1]
