"""One metric of one workload in both arms: the values that count (one per run, or per boot), and
other facts about them.

Values freed of drift: a trend, a slow wave, runs that resemble their neighbours.

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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from vnicaudit.bench.judging.effect import TURNS, Deciding, Shift, difference, is_usable, percent
from vnicaudit.bench.judging.statistics import doubled_ranks, median
from vnicaudit.bench.judging.verdict import effect_unit
from vnicaudit.bench.line_rate import (
    ENCAPSULATIONS,
    Framing,
    IpVersion,
    tcp_fraction,
    udp_fraction,
    udp_packet_rate,
)
from vnicaudit.bench.metrics import Metric, change
from vnicaudit.model.measurement import Design, Path, Sample, Workload

AT_CEILING = 0.97
"""Share of the line's goodput from which the line is the limit."""

_BEYOND = 1.02
_LEAST_MTU = 576


def path_of(arm: str, paths: Sequence[Path]) -> Path | None:
    """The path on which an arm is measured: its own, or the only one."""
    for path in paths:
        if path.name == arm:
            return path
    return paths[0] if len(paths) == 1 else None


def ceiling(workload: Workload, metric: str, path: Path | None) -> float | None:
    """The maximum of this metric that the path's line allows, in its unit; None if unknown. Each
    direction of a workload in both directions has a line of its own: None."""
    if path is None or path.line_rate is None or workload.direction == "both":
        return None
    if path.mtu is None or path.mtu < _LEAST_MTU or path.encapsulation not in ENCAPSULATIONS:
        return None
    ip: IpVersion = 6 if ":" in path.address else 4
    framing = Framing(mtu=path.mtu, encapsulation=path.encapsulation, ip=ip)
    if metric == "goodput":
        udp = "udp" in workload.pattern.lower()
        return path.line_rate * (
            udp_fraction(framing, workload.size) if udp else tcp_fraction(framing)
        )
    if metric == "packet_rate" and workload.size is not None:
        return udp_packet_rate(path.line_rate, framing, workload.size)
    return None


def fills(median: float, most: float | None) -> bool:
    """True if the median fills the line; a median well above the line shows that the line's speed
    is wrong."""
    return most is not None and AT_CEILING * most <= median <= _BEYOND * most


def exceeds(median: float, most: float | None) -> bool:
    """True for more than the line could carry."""
    return most is not None and median > _BEYOND * most


_POLLING = "host_cpu"


class RunDesign(Protocol):
    """The design by which runs are judged: of a run, or of the terms for one."""

    @property
    def design(self) -> Design:
        """The order of the arms."""

    @property
    def runs_per_turn(self) -> int:
        """Runs of a workload between two changes."""


class Side(NamedTuple):
    """One metric of one workload in one arm. ``most``: the limit of its line."""

    arm: str
    values: tuple[float, ...]
    blocks: tuple[int, ...] = ()
    """The block, or turn, of each value."""
    spoiled: int = 0
    """Number of runs that do not count."""
    spoiled_reason: str = ""
    """The most frequent reason why they do not."""
    limited: bool = False
    """The generator was the limit in most runs that count."""
    spoiled_by_generator: bool = False
    most: float | None = None


def side_of(
    samples: Iterable[Sample], workload: str, arm: str, metric: str, run: RunDesign,
    most: float | None = None,
) -> Side:  # fmt: skip
    """The runs of one metric of a workload in one arm. ``run``: the design. A valid sample without
    the metric did not measure it, and is left out."""
    mine = [each for each in samples if each.workload == workload and each.arm == arm]
    counted = [each for each in mine if each.valid and _value(each, metric) is not None]
    spoiled = [each for each in mine if not each.valid]
    reasons = Counter(each.reason for each in spoiled if each.reason)
    units = _units(counted, metric, run.design, run.runs_per_turn)
    return Side(
        arm=arm,
        values=tuple(value for value, _block in units),
        blocks=tuple(block for _value, block in units),
        spoiled=len(spoiled),
        spoiled_reason=reasons.most_common(1)[0][0] if reasons else "",
        limited=_mostly_limited(counted),
        spoiled_by_generator=_mostly_limited(spoiled),
        most=most,
    )


def _value(sample: Sample, metric: str) -> float | None:
    """The value of a sample; None if it was not measured. The cost of a polling data path does not
    depend on the load, so it counts as not measured."""
    value = sample.values.get(metric)
    if value is None or not is_usable(value):
        return None
    return None if metric.startswith(_POLLING) and sample.covariates.cpu.busy_poll else value


def _mostly_limited(samples: Sequence[Sample]) -> bool:
    return 2 * sum(each.covariates.generator_limited for each in samples) > len(samples)


def _units(
    samples: Sequence[Sample], metric: str, design: Design, runs_per_turn: int
) -> list[tuple[float, int]]:
    """Runs between two changes resemble each other, so they are one unit: their mean, and its
    block, or turn."""
    groups: dict[str | int, list[Sample]] = {}
    for place, sample in enumerate(sorted(samples, key=lambda each: each.order)):
        groups.setdefault(_unit(sample, place, design, runs_per_turn), []).append(sample)
    return [
        (
            sum(each.values[metric] / len(group) for each in group),
            group[0].block // max(1, runs_per_turn),
        )
        for group in groups.values()
    ]


def _unit(sample: Sample, place: int, design: Design, runs_per_turn: int) -> str | int:
    """The group that a value belongs to: with boots, a boot; with flips, the time between two of
    them, which is a turn; else the run itself."""
    if design == "boots" and sample.boot:
        return sample.boot
    return sample.block // max(1, runs_per_turn) if design in TURNS else place


def difference_notes(metric: Metric, *sides: Side) -> Iterator[str]:
    """How far apart the medians of a single flip are; nothing if one is unknown, or 0."""
    if not all(side.values for side in sides):
        return
    found = difference(metric, *(median(side.values) for side in sides))
    if found is not None:
        size, unit = change(found), effect_unit(metric.unit)
        yield f"about {size} {unit} (minus is worse), not judged"


def effect_notes(
    metric: Metric, shift: Shift | None, found: Deciding | None, alpha: float
) -> Iterator[str]:
    """Notes on the certainty of the effect, if the intervals of the result do not show it."""
    unit = effect_unit(metric.unit)
    if shift is not None and shift.interval(0.05) is None:
        size = change(percent(metric, shift.estimate))
        yield f"about {size} {unit}; too few runs to tell how certain that is"
    if shift is not None and found is not None and alpha != 0.05:
        intervals = found.outer, found.inner
        outer, inner = (f"{change(one.low)} to {change(one.high)} {unit}" for one in intervals)
        yield (
            f"at this look the {100 * (1 - alpha):g} % interval decides: {outer}; to rule out "
            f"harm, the {100 * (1 - 2 * alpha):g} % one: {inner}"
        )


def side_notes(metric: Metric, side: Side) -> Iterator[str]:
    """Notes on oddities in the runs of an arm."""
    arm = side.arm
    if not side.values and not side.spoiled:
        yield f"{arm}: not measured"
    if side.spoiled:
        counted = f"{side.spoiled} more were" if side.values else f"all {side.spoiled} runs were"
        yield f"{arm}: {counted} invalid" + (
            f" ({side.spoiled_reason})" if side.spoiled_reason else ""
        )
    dead = sum(value <= 0 for value in side.values)
    if dead and metric.better == "higher":
        yield f"{arm}: {dead} of {len(side.values)} carried nothing"
    if side.limited:
        yield f"{arm}: the limit was the generator, not the path"
    if side.values and exceeds(median(side.values), side.most):
        yield f"{arm}: more than the line allows; --line-rate is not that of its path"


_FEWEST = 5
"""Minimum number of blocks; with fewer, drift cannot be recognised."""

_RESEMBLE = 1.2
"""Bartels' ratio below which blocks drift; about 2 is usual for chance. The ratio of 7 blocks in
random order is below it in 14 % of all cases, of 10 in 9 %, of 20 in 3 % (20,000 draws each). Such
false positives cost little: values that do not drift are then taken relative to the median of three
similar ones."""


def levelled(
    before: Side, after: Side, *, by_difference: bool
) -> tuple[list[float], list[float]] | None:
    """Return the values as if all blocks were on one level, if both arms drift; None: they do not.
    ``by_difference``: levels are subtracted, not divided out."""
    centres = _centres(before, after, by_difference=by_difference)
    if len(centres) < _FEWEST or bartels_ratio(list(centres.values())) >= _RESEMBLE:
        return None
    around = _around(centres)
    usual = median(list(centres.values()))

    def placed(side: Side) -> list[float]:
        found = []
        for value, block in zip(side.values, side.blocks, strict=True):
            off = around[min(around, key=lambda each: (abs(each - block), each))] - usual
            found.append(value - off if by_difference else value * math.exp(-off))
        return found

    level = placed(before), placed(after)
    inside = _is_within(level[0], before.values) and _is_within(level[1], after.values)
    return level if inside else None


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


def _centres(before: Side, after: Side, *, by_difference: bool) -> dict[int, float]:
    """Block -> the mean of both arms in it, in order; of logarithms, unless ``by_difference``. Only
    blocks in which both arms carried traffic."""
    arms = [_by_block(side, by_difference=by_difference) for side in (before, after)]
    first, second = arms
    return {block: (first[block] + second[block]) / 2 for block in sorted({*first} & {*second})}


def _by_block(side: Side, *, by_difference: bool) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for value, block in zip(side.values, side.blocks, strict=True):
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
