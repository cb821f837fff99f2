"""The schedule of the runs of a watch."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.waiting import Clock


def periods(every: float, clock: Clock) -> Iterator[int]:
    """The number of each period, from 0, when it begins; ``every``: seconds. If a run took longer
    than a period, the missed ones are left out; times do not drift."""
    start = clock.monotonic()
    number = 0
    while True:
        yield number
        number = max(number, int((clock.monotonic() - start) // every)) + 1
        clock.sleep(max(0.0, start + number * every - clock.monotonic()))
