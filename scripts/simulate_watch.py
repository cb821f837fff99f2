#!/usr/bin/env python3
"""Simulates how often ``bench watch`` is wrong, and how soon it is right, for measuring.md.

    python scripts/simulate_watch.py            print the table
    python scripts/simulate_watch.py --write    write it into the page
    python scripts/simulate_watch.py --check    exit 1 if the page has another

One run per hour is simulated in the worlds below; vnicaudit's own code judges them. The same seed
gives the same table.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist, median
from typing import NamedTuple

from vnicaudit.bench.judging.effect import margin_of
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.watching.changes import DAY, HOUR, ChangePoint, SeriesPoint, judge_series

if not __package__:  # as a program, it would look for modules only in its own folder
    sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import page_tables

PLACE = page_tables.Place("<!-- watch: begin -->\n", "<!-- watch: end -->\n")
SEED = 20261126
REPETITIONS = 120
MONTH = 30 * 24
AT = 14 * 24
"""Runs before the loss, if there is one, and as many after it."""
LOSS = 0.9
_NORMAL = NormalDist()
_METRIC = METRICS["goodput"]


def _normal(source: random.Random) -> float:
    """A normal value. Only ``random()`` is the same in every version of Python."""
    return _NORMAL.inv_cdf(source.random() or 0.5)


def _steady(source: random.Random) -> Iterator[float]:
    while True:
        yield 0.03 * _normal(source)


def _outliers(source: random.Random) -> Iterator[float]:
    while True:
        bad = math.log(0.3) if source.random() < 0.05 else 0.0
        yield bad + 0.03 * _normal(source)


def _cycle(source: random.Random) -> Iterator[float]:
    phase, hour = 24 * source.random(), 0
    while True:
        yield math.log(1 + 0.05 * math.sin(math.tau * (hour + phase) / 24)) + 0.03 * _normal(source)
        hour += 1


def _resembling(source: random.Random) -> Iterator[float]:
    level = 0.05 * _normal(source)
    while True:
        level = 0.8 * level + 0.05 * 0.6 * _normal(source)
        yield level


def _walk(source: random.Random) -> Iterator[float]:
    level = 0.0
    while True:
        level += 0.005 * _normal(source)
        yield level + 0.02 * _normal(source)


class World(NamedTuple):
    """``bound``: maximum false alarms in 30 days. ``days``: maximum until half of the losses are
    confirmed; None: no limit."""

    name: str
    noise: Callable[[random.Random], Iterator[float]]
    bound: float | None
    days: float | None


WORLDS = (
    World("normal, 3 %", _steady, 0.05, 1.0),
    World("normal, 3 %, and 5 % of runs at 0.3 of it", _outliers, 0.05, 1.0),
    World("a cycle of the day, ±5 %, normal 3 %", _cycle, 0.05, 7.0),
    World("each like the one before: AR(1) of 0.8, 5 %", _resembling, 0.1, None),
    World("a random walk, 0.5 % an hour, normal 2 %", _walk, 1.5, None),
)


class Cell(NamedTuple):
    """``alarms``: mean number of changes reported in 30 days without any. ``days``: from the loss
    to its confirmation, the median and the 90th percentile. ``told``: share confirmed within 14
    days."""

    alarms: float
    told: float
    days: tuple[float, float]


def cell(world: World, repetitions: int = REPETITIONS) -> Cell:
    """Simulate a world."""
    alarms, delays = 0, []
    for number in range(repetitions):
        alarms += len(told(world, f"{SEED} {world.name} {number}", MONTH, MONTH))
        found = told(world, f"{SEED} {world.name} {number} loss", 2 * AT, AT)
        hits = [one.confirmed / HOUR - AT for one in found if one.worse and one.since > _NEAR]
        delays.append(min((one / 24 for one in hits if one >= 0), default=math.inf))
    delays.sort()
    share = sum(map(math.isfinite, delays)) / repetitions
    late = delays[math.ceil(0.9 * repetitions) - 1]
    return Cell(alarms / repetitions, share, (median(delays), late))


_NEAR = AT * HOUR - 2 * DAY
"""A loss dated up to two days too early still counts as found, because it lies in spans of 24
hours."""


def told(world: World, seed: str, runs: int, loss: int) -> tuple[ChangePoint, ...]:
    """Changes confirmed in a series of that many runs, with a loss at run ``loss``."""
    noise = world.noise(random.Random(seed))  # noqa: S311
    levels = (1.0 if hour < loss else LOSS for hour in range(runs))
    readings = [
        SeriesPoint(hour * HOUR, 1e9 * level * math.exp(next(noise)))
        for hour, level in enumerate(levels)
    ]
    return judge_series(readings, _METRIC, margin_of(_METRIC, {})).changes


def table() -> str:
    """The table as Markdown."""
    lines = [
        "| world | false alarms in 30 days | -10 % confirmed within 14 days | days until then: "
        "median, nine in ten |",
        "|---|---|---|---|",
    ]
    for world in WORLDS:
        found = cell(world)
        days = ", ".join("-" if math.isinf(one) else f"{one:.1f}" for one in found.days)
        lines.append(f"| {world.name} | {found.alarms:.2f} | {100 * found.told:.0f} % | {days} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(page_tables.main(PLACE, table, __doc__, SEED, sys.argv[1:]))
