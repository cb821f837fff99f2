"""Pages that a thread reads in advance."""

from collections.abc import Iterator

import pytest

from vnicaudit.platforms.openstack.read import Feed


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
