"""Latencies, with a clock that is set by hand."""

import socket
from collections.abc import Iterator

import pytest

from vnicaudit.bench.generator.program import worker
from vnicaudit.bench.generator.program.requests import Requester
from vnicaudit.bench.generator.program.task import Failure, Task


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def _requester(clock: Clock, sock: socket.socket, **changes: float) -> Requester:
    task = Task("rr", 1, 1, 1, 1, 0.0, 10.0, 0.0)._replace(**changes)  # type: ignore[arg-type]
    found = Requester(task, [sock], 0.0, strict=True, clock=clock)
    for link in found.links.values():
        found.watch(link, 1)
        found.opened(link)
    return found


def _answer(found: Requester, there: socket.socket) -> None:
    assert there.recv(10) == b"\0"
    there.sendall(b"x")
    (link,) = found.links.values()
    assert found.readable(link)


def test_what_had_to_wait_is_counted_from_when_it_was_due(
    clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    """Ten a second, and half a second of silence: five requests waited, not one."""
    found = _requester(clock, ends[0], rate=10.0)
    clock.now = 0.5
    for _ in range(5):
        _answer(found, ends[1])
    assert found.transactions == 5
    assert sorted(found.counts) == pytest.approx([1e8, 2e8, 3e8, 4e8, 5e8], rel=0.001)
    assert found.sum == pytest.approx(1.5e9)


def test_without_a_rate_the_next_request_begins_with_the_last_answer(
    clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    found = _requester(clock, ends[0])
    clock.now = 0.5
    for _ in range(5):
        _answer(found, ends[1])
    assert found.longest == 500_000_000
    assert found.sum == 500_000_000


def test_warm_up_and_what_comes_after_the_window_do_not_count(
    clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    found = _requester(clock, ends[0], warmup=1.0, seconds=1.0)
    for now in (0.9, 1.0, 1.9, 2.0, 2.1):
        clock.now = now
        _answer(found, ends[1])
    assert found.transactions == 2


def test_a_request_that_has_no_answer_is_not_forgotten(
    clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    found = _requester(clock, ends[0], rate=10.0)
    clock.now = 2.0
    _answer(found, ends[1])
    found.marks = [worker.Mark(0.0, 0.0, 0.0, 0.0), worker.Mark(10.0, 0.1, 0.05, 0.0)]
    report = found.report()
    # one on its way since 0.1 s, and those of 0.2 s to 9.9 s
    assert report["waiting"] == 99
    assert report["oldest"] == pytest.approx(9.9)


def test_a_late_request_is_counted_as_late_only_where_a_connection_was_free(
    clock: Clock, ends: tuple[socket.socket, socket.socket]
) -> None:
    found = _requester(clock, ends[0], rate=10.0)
    _answer(found, ends[1])
    clock.now = 0.2
    found.launch(clock.now)
    assert found.late == 1
    _answer(found, ends[1])
    assert found.late == 1


def test_an_answer_to_no_request_is_no_answer(
    clock: Clock,
    ends: tuple[socket.socket, socket.socket],
) -> None:
    found = _requester(clock, ends[0], rate=10.0)
    _answer(found, ends[1])
    ends[1].sendall(b"y")
    (link,) = found.links.values()
    with pytest.raises(Failure, match="an answer to no request"):
        found.readable(link)


def test_a_connection_that_ends_is_a_failure(
    clock: Clock,
    ends: tuple[socket.socket, socket.socket],
) -> None:
    found = _requester(clock, ends[0])
    ends[1].close()
    (link,) = found.links.values()
    with pytest.raises(Failure, match="a connection was lost"):
        found.attempt(link, found.serve, 1)
