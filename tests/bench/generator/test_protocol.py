"""Waiting for the other end."""

import select
import socket
from typing import Any

import pytest

from vnicaudit.bench.generator.program import task
from vnicaudit.bench.generator.program.task import Failure


def test_no_wait_is_longer_than_a_signal_may_go_unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that came just before the wait is heard when that is over."""
    now, waits = [100.0], []

    def waiting(sources: list[Any], _write: object, _odd: object, most: float) -> Any:
        waits.append(most)
        now[0] += most
        return (sources if now[0] >= 103 else []), [], []

    monkeypatch.setattr(select, "select", waiting)
    assert task.ready_of(["pipe"], 160.0, lambda: now[0]) == ["pipe"]
    assert waits == [task.SLICE] * 6


def test_too_late_is_a_failure() -> None:
    one, other = socket.socketpair()
    with one, other, pytest.raises(Failure, match=r"^the other end did not answer in time$"):
        task.ready_of([one], task.clock() + 0.01)


def test_an_answer_right_after_a_standstill_is_not_too_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This process stood still past the deadline, and so did the one that is to answer."""

    def waiting(sources: list[Any], _write: object, _odd: object, most: float) -> Any:
        return (sources if most >= task.SLICE else []), [], []

    monkeypatch.setattr(select, "select", waiting)
    assert task.ready_of(["pipe"], 160.0, lambda: 200.0) == ["pipe"]
