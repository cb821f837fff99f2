"""Readings side by side: their order, their errors, their end."""

import threading
from collections.abc import Callable, Iterator

import pytest

from vnicaudit.audit.reading.machines import read_ahead


def reading(*items: int, after: threading.Event | None = None) -> Callable[[], Iterator[int]]:
    """A reading of these items, once ``after`` is set."""

    def read() -> Iterator[int]:
        if after is not None:
            assert after.wait(60)
        yield from items

    return read


def test_items_come_in_the_order_of_the_readings_whatever_comes_first() -> None:
    later = threading.Event()

    def sets() -> Iterator[int]:
        yield 2
        later.set()

    found = [list(items) for items in read_ahead([reading(1, after=later), sets, reading(3, 4)])]
    assert found == [[1], [2], [3, 4]]


def test_only_so_many_are_under_way() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def counted() -> Iterator[int]:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        yield 1
        with lock:
            running[0] -= 1

    assert [list(items) for items in read_ahead([counted] * 30, 3)] == [[1]] * 30
    assert most[0] <= 3


def test_an_error_is_raised_in_its_place() -> None:
    def fails() -> Iterator[int]:
        yield 2
        raise KeyError("x")

    readings = read_ahead([reading(1), fails, reading(3)])
    assert list(next(readings)) == [1]
    second = next(readings)
    assert next(second) == 2
    with pytest.raises(KeyError):
        next(second)


def test_a_reading_is_no_further_ahead_than_there_is_room() -> None:
    produced = [0]
    go_on = threading.Event()

    def endless() -> Iterator[int]:
        while True:
            produced[0] += 1
            yield produced[0]

    readings = read_ahead([reading(1, after=go_on), endless])
    first = next(readings)
    go_on.set()
    assert list(first) == [1]
    second = next(readings)
    assert [next(second) for _ in range(1000)] == list(range(1, 1001))
    readings.close()  # type: ignore[attr-defined]
    assert produced[0] <= 1000 + 256 + 2


def test_one_reading_needs_no_thread() -> None:
    threads: list[threading.Thread] = []

    def noted() -> Iterator[int]:
        threads.append(threading.current_thread())
        yield 1

    assert [list(items) for items in read_ahead([noted])] == [[1]]
    assert threads == [threading.main_thread()]
