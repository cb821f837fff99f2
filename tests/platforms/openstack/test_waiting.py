"""Threads that are waited for."""

import threading
from collections.abc import Iterator

import pytest

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.platforms.openstack.waiting import Feed, within


def test_what_a_function_returns_or_raises() -> None:
    assert within(30, "t", lambda: 7) == 7
    assert DaemonCall("t", lambda: None).result() is None
    with pytest.raises(ZeroDivisionError):
        within(30, "t", lambda: 1 // 0)


def test_one_that_does_not_end() -> None:
    over = threading.Event()
    with pytest.raises(TimeUpError):
        within(0.05, "t", lambda: over.wait(60))
    over.set()


def test_a_feed_hands_out_what_its_source_yields() -> None:
    assert list(Feed("f", iter(range(100)))) == list(range(100))


def test_a_feed_raises_what_its_source_raises() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise KeyError("two")

    walk = iter(Feed("f", source()))
    assert next(walk) == 1
    with pytest.raises(KeyError, match="two"):
        next(walk)


def test_a_feed_is_little_ahead_and_ends_when_nobody_reads() -> None:
    yielded = []

    def source() -> Iterator[int]:
        for number in range(1000):
            yielded.append(number)
            yield number

    feed = Feed("f", source())
    walk = iter(feed)
    assert next(walk) == 0
    feed.stop()
    feed.thread.join(30)
    assert not feed.thread.is_alive()
    assert len(yielded) <= 4  # one taken, two waiting, one that found no room
