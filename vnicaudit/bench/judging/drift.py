"""Values freed of drift: a trend, a slow wave, runs that resemble their neighbours.

The arms run side by side in blocks, so drift affects both alike; but in the spread of each arm it
is noise, and hides the change. So the level of each block, the mean of both arms, is examined
first: if neighbouring blocks resemble each other more than by chance, each value is taken relative
to the level around its block. The arm of a value plays no part in that, so no change is found where
there is none (Hodges and Lehmann, "Rank methods for combination of independent experiments in
analysis of variance", Annals of Mathematical Statistics 33, 1962: aligned ranks).

The level around a block is the median of three blocks: one bad run in twenty, or two levels that
runs jump between, would otherwise affect their neighbours.

Drift moves both arms. If only one of them moves, its noise would be divided into the quiet one; a
value would then lie outside the runs of its arm, which nobody measured. So values are taken
relative to the level only if that leaves each of them within the runs of its arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from vnicaudit.bench.judging.statistics import doubled_ranks, median

_FEWEST = 5
"""Minimum number of blocks; with fewer, drift cannot be recognised."""

_RESEMBLE = 1.2
"""Bartels' ratio below which blocks drift; about 2 is usual for chance. The ratio of 7 blocks in
random order is below it in 14 % of all cases, of 10 in 9 %, of 20 in 3 % (20,000 draws each). Such
false positives cost little: values that do not drift are then taken relative to the median of three
similar ones."""


class Series(NamedTuple):
    """The values of one arm, and the block of each."""

    values: Sequence[float]
    blocks: Sequence[int]


class Level(NamedTuple):
    """The values of both arms; ``drifts``: they are relative to the level around each block."""

    before: list[float]
    after: list[float]
    drifts: bool


def levelled(before: Series, after: Series, *, by_difference: bool) -> Level:
    """Return the values as if all blocks were on one level, if both arms drift; else unchanged.
    ``by_difference``: levels are subtracted, not divided out."""
    centres = _centres(before, after, by_difference=by_difference)
    unchanged = Level(list(before.values), list(after.values), drifts=False)
    if len(centres) < _FEWEST or bartels_ratio(list(centres.values())) >= _RESEMBLE:
        return unchanged
    around = _around(centres)
    usual = median(list(centres.values()))

    def placed(series: Series) -> list[float]:
        found = []
        for value, block in zip(series.values, series.blocks, strict=True):
            off = around[min(around, key=lambda each: (abs(each - block), each))] - usual
            found.append(value - off if by_difference else value * math.exp(-off))
        return found

    level = Level(placed(before), placed(after), drifts=True)
    inside = _is_within(level.before, before.values) and _is_within(level.after, after.values)
    return level if inside else unchanged


def _is_within(values: Sequence[float], runs: Sequence[float]) -> bool:
    return min(values) >= min(runs) and max(values) <= max(runs)


def bartels_ratio(values: Sequence[float]) -> float:
    """Von Neumann's ratio of ranks: squares of the steps between neighbours over squares of the
    distances from the mean. About 2 in random order, near 0 if neighbours resemble each other; 2 if
    all are equal. Bartels, "The rank version of von Neumann's ratio test for randomness", Journal
    of the American Statistical Association 77 (1982)."""
    ranks = doubled_ranks(values)
    mean = sum(ranks) / len(ranks)
    squares = math.fsum((rank - mean) ** 2 for rank in ranks)
    steps = sum((later - rank) ** 2 for rank, later in pairwise(ranks))
    return steps / squares if squares else 2.0


def _centres(before: Series, after: Series, *, by_difference: bool) -> dict[int, float]:
    """Block -> the mean of both arms in it, in order; of logarithms, unless ``by_difference``. Only
    blocks in which both arms carried traffic."""
    arms = [_by_block(series, by_difference=by_difference) for series in (before, after)]
    first, second = arms
    return {block: (first[block] + second[block]) / 2 for block in sorted({*first} & {*second})}


def _by_block(series: Series, *, by_difference: bool) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for value, block in zip(series.values, series.blocks, strict=True):
        if by_difference or value > 0:
            found.setdefault(block, []).append(value if by_difference else math.log(value))
    return {block: math.fsum(values) / len(values) for block, values in found.items()}


def _around(centres: Mapping[int, float]) -> dict[int, float]:
    """Block -> the median of it and its neighbours; for the first and last block, of the three
    nearest."""
    blocks, values = list(centres), list(centres.values())
    last = len(values) - 2
    middles = [min(max(place, 1), last) for place in range(len(values))]
    return {
        block: median(values[at - 1 : at + 2]) for block, at in zip(blocks, middles, strict=True)
    }
