#!/usr/bin/env python3
"""The tables of docs/explanation/measuring.md again, by other code; exit 1 if they differ.

    python scripts/second_simulation.py              print the tables and their differences
    python scripts/second_simulation.py --write      write them into the page, next to the first

Nothing of vnicaudit is used, and of the first simulation only the code that writes tables into the
page: worlds, order, drift, intervals, looks, catastrophes and verdicts are written independently
from the page's text. Numbers calculated in vnicaudit are enumerated here, and Student's
distribution is scipy's. Two shares count as different if chance alone would cause that difference
in about one of ten thousand tables.
"""

from __future__ import annotations

import importlib
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, lru_cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

if not __package__:  # as a program, it would look for modules only in its own folder
    sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import page_tables

_special = importlib.import_module("scipy.special")

FIRST = page_tables.Place("<!-- simulation: begin -->\n", "<!-- simulation: end -->\n")
SECOND = page_tables.Place(
    "<!-- second simulation: begin -->\n", "<!-- second simulation: end -->\n"
)

SEED = 4
TIMES = 600
"""Simulations per cell; a third of that with nine workloads."""
FIRST_TIMES = {0.0: (2000, 800), -0.10: (1000, 400), 0.10: (1000, 400)}
"""Effect -> number of simulations in the first script, for one workload and for nine."""
FAR = 4.4
"""Standard errors between two shares; one of 700 exceeds 4 by chance in one table of twenty."""

EFFECTS = (0.0, -0.10, 0.10)
MARGIN = 5.0
HARMLESS = ("improved", "not worse", "equivalent")


class When(NamedTuple):
    """Time of a run. ``visit``: how often the arm had been changed before; ``boot``: runs with the
    same number share the luck of a boot; ``begun``: it is not the first run of its workload."""

    boot: int
    visit: int
    share: float
    after: bool
    begun: bool


class Host:
    """The noise of one measurement, on the logarithmic scale, with the state that the host
    keeps."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.rng = rng
        self.level = 0.0
        self.boots: dict[int, float] = {}
        begins = [value for begin, value in WORLDS.items() if name.startswith(begin)]
        if not begins:
            raise LookupError(f"the page has a world that is not known here: {name}")
        self._value = begins[0]

    def value(self, when: When) -> float:
        """The noise of the next run."""
        return self._value(self, when)

    def quiet(self) -> float:
        """A host on which nothing happens."""
        return self.rng.gauss(0, 0.02)

    def luck(self, when: When, draw: Callable[[], float]) -> float:
        """Luck shared by the runs of one boot."""
        if when.boot not in self.boots:
            self.boots[when.boot] = draw()
        return self.quiet() + self.boots[when.boot]

    def scattered(self, when: When, size: float) -> float:
        """Boots that vary by that much."""
        return self.luck(when, lambda: self.rng.gauss(0, size))

    def now_and_then(self, share: float, level: float) -> float:
        """That share of runs is at that level."""
        return self.quiet() + (math.log(level) if self.rng.random() < share else 0)

    def walking(self) -> float:
        """A random walk: each step stays."""
        self.level += self.rng.gauss(0, 0.02)
        return self.level + self.quiet()

    def resembling(self, when: When) -> float:
        """AR(1): 0.8 of the last value, 5 % in total."""
        if not when.begun:
            self.level = self.rng.gauss(0, 0.05)
        self.level = 0.8 * self.level + self.rng.gauss(0, 0.03)
        return self.level

    def heavy(self) -> float:
        """Student's t: a normal value divided by the root of a chi-square, which is a gamma."""
        return 0.05 * self.rng.gauss(0, 1) / math.sqrt(self.rng.gammavariate(1.5, 2))


WORLDS: dict[str, Callable[[Host, When], float]] = {
    "normal, 2 %": lambda host, _when: host.quiet(),
    "normal, 5 %": lambda host, _when: host.rng.gauss(0, 0.05),
    "heavy tails": lambda host, _when: host.heavy(),
    "two levels": lambda host, _when: host.now_and_then(0.35, 0.72),
    "drift, -20 %": lambda host, when: host.quiet() + math.log(0.8) * when.share,
    "drift, +20 %": lambda host, when: host.quiet() + math.log(1.2) * when.share,
    "random walk": lambda host, _when: host.walking(),
    "boots scatter by 3 %": lambda host, when: host.scattered(when, 0.03),
    "boots scatter by 8 %": lambda host, when: host.scattered(when, 0.08),
    "boots on two levels": lambda host, when: host.luck(
        when, lambda: math.log(host.rng.choice((0.75, 1.0)))
    ),
    "each run like the last": lambda host, when: host.resembling(when),
    "outliers": lambda host, _when: host.now_and_then(0.05, 0.3),
    "2 % before": lambda host, when: host.rng.gauss(0, 0.1 if when.after else 0.02),
    "steps": lambda host, _when: host.rng.gauss(0, 0.05),
    "a ceiling": lambda host, _when: host.rng.gauss(0, 0.05),
    "6 % more": lambda host, when: host.quiet() + math.log(1.06) * (when.visit % 2),
}
"""Worlds, by the start of their names."""


def seen(name: str, value: float) -> float:
    """The value as measured in that world."""
    if name == "steps of 10 %":
        return max(0.1, round(10 * value) / 10)
    return min(value, 1.0) if name.startswith("a ceiling") else value


class Plan(NamedTuple):
    """A column of the page. ``kind``: blocks, turns or flip; ``per``: runs per turn."""

    kind: str
    looks: tuple[int, ...]
    alphas: tuple[float, ...]
    per: int = 1
    workloads: int = 1
    changed: int = 1


PLANS = {
    "blocks, 5, 10 and 20 runs": Plan("blocks", (5, 10, 20), (0.01, 0.02, 0.02)),
    "blocks, 7 runs (*quick*)": Plan("blocks", (7,), (0.05,)),
    "turns, 2, 3 and 5 of 3 runs (`apply --bench`)": Plan(
        "turns", (2, 3, 5), (0.01, 0.02, 0.02), 3
    ),
    "turns, 2, 3 and 5 of 1 run": Plan("turns", (2, 3, 5), (0.01, 0.02, 0.02)),
    "turns, 2, 3 and 6 of 3 runs, nine workloads": Plan(
        "turns", (2, 3, 6), (0.01, 0.02, 0.02), 3, 9, 9
    ),
    "single flip, 7 runs": Plan("flip", (7,), (0.05,)),
    "single flip, 20 runs": Plan("flip", (20,), (0.05,)),
    "one of nine workloads changed": Plan("turns", (2, 3, 6), (0.01, 0.02, 0.02), 3, 9, 1),
}

# One measurement.


class Run(NamedTuple):
    """``unit``: the block or turn of the run."""

    workload: int
    after: bool
    unit: int
    value: float


def visits(plan: Plan, rng: random.Random) -> Iterator[tuple[bool, int]]:
    """The arm of each turn, and the number of its turn."""
    order = [False, True]
    for turn in range(plan.looks[-1]):
        if turn % 2:
            order.reverse()
        elif turn:
            order = rng.sample([False, True], 2)
        for after in order:
            yield after, turn


def steps(plan: Plan, rng: random.Random) -> list[tuple[int, bool, int, int, int]]:
    """Workload, arm, unit, boot and visit of every run, in order."""
    last = plan.looks[-1]
    if plan.kind == "blocks":
        arms = [(after, block) for block in range(last) for after in rng.sample([False, True], 2)]
        return [(0, after, block, 0, place) for place, (after, block) in enumerate(arms)]
    if plan.kind == "flip":
        arms = [(after, block) for after in (False, True) for block in range(last)]
        return [(0, after, block, int(after), at) for at, (after, block) in enumerate(arms)]
    found = []
    for visit, (after, turn) in enumerate(visits(plan, rng)):
        for _ in range(plan.per):
            names = rng.sample(range(plan.workloads), plan.workloads)
            found += [(name, after, turn, visit, visit) for name in names]
    return found


def measure(plan: Plan, name: str, effect: float, rng: random.Random) -> str:
    """``regressed``, ``improved`` or something else."""
    hosts = [Host(name, rng) for _ in range(plan.workloads)]
    planned = steps(plan, rng)
    whole, shifted = len(planned), 0
    runs: list[Run] = []
    for place in range(whole):
        workload, scheduled, unit, boot, visit = planned[place]
        after = scheduled
        while True:
            change = 1 + effect if after and workload < plan.changed else 1
            begun = any(run.workload == workload for run in runs)
            when = When(boot, visit, place / (whole - 1), after, begun)
            value = seen(name, math.exp(hosts[workload].value(when)) * change)
            runs.append(Run(workload, after, unit, value))
            then = afterwards(plan, runs, workload)
            if then == "catastrophe":
                return "regressed"
            if then == "away":
                shifted += 1
                planned[place + 1 :] = pulled(planned[place], planned[place + 1 :], 1000 * shifted)
            if then not in ("before", "after"):
                break
            after = then == "after"
        left = min((step[2] for step in planned[place + 1 :]), default=math.inf)
        ahead = any(run.unit > unit for run in runs)
        if left > unit and not ahead and unit + 1 in plan.looks:
            alpha = plan.alphas[plan.looks.index(unit + 1)]
            verdict = judged(plan, runs, alpha, last=unit + 1 == plan.looks[-1])
            if verdict:
                return verdict
    raise AssertionError("there is a last look")


def afterwards(plan: Plan, runs: Sequence[Run], workload: int) -> str:
    """``catastrophe``; ``before`` or ``after``: one more run in that arm at once; ``away``: the
    other arm's turn at once; or empty."""
    mine = [run for run in runs if run.workload == workload]
    row = last_row(mine)
    if not row:
        return ""
    first = row[0]
    usual = statistics.median(known_before(mine, first))
    bad = [mine[at].value for at in row]
    witnesses = [run.value for run in mine[first:] if not run.after]
    if any(value < usual / 2 or value < 2 * max(bad) for value in witnesses):
        return ""
    among = any(not run.after for run in mine[first : row[-1]])
    below_all = max(bad) < min(run.value for run in mine if not run.after)
    if len(bad) >= 3 and among and below_all and plan.kind != "flip":
        return "catastrophe"
    if not mine[-1].after:
        return "after" if plan.kind == "blocks" else ""
    if plan.kind == "blocks":
        return "before"
    if len(bad) < 3:
        return "after"
    return "away" if plan.kind == "turns" and len(bad) == 3 and not among else ""


def known_before(mine: Sequence[Run], place: int) -> list[float]:
    """Values measured before the change up to that run, but at least two."""
    earlier = [run.value for run in mine[:place] if not run.after]
    return earlier if len(earlier) > 1 else [run.value for run in mine if not run.after][:2]


def last_row(mine: Sequence[Run]) -> list[int]:
    """Positions of the last consecutive bad runs after the change: below half of the median before,
    and below every run before, as of the start of that row."""
    if mine[-1].value > 0.75 and (mine[-1].after or all(run.value > 0.75 for run in mine[-4:])):
        return []  # not half of the usual level, which is at least 0.8
    if sum(not run.after for run in mine) < 2:
        return []
    row: list[int] = []
    for place, run in enumerate(mine):
        if run.after:
            known = known_before(mine, row[0] if row else place)
            low = run.value < min([statistics.median(known) / 2, *known])
            row = [*row, place] if low else []
    return row


Step = tuple[int, bool, int, int, int]


def pulled(now: Step, rest: list[Step], boots: int) -> list[Step]:
    """The remaining runs if a turn is cut short: the next turn of the other arm first, then the
    rest of this one, in a boot of its own."""
    boot, after = now[3], now[1]
    mine = [(*step[:3], step[3] + boots, step[4]) for step in rest if step[3] == boot]
    others = [step for step in rest if step[3] != boot]
    nexts = [step[3] for step in others if step[1] != after]
    if not nexts:
        return [*mine, *others]
    pulled_ = [step for step in others if step[3] == nexts[0]]
    return [*pulled_, *mine, *(step for step in others if step[3] != nexts[0])]


class Found(NamedTuple):
    """Result for one workload. ``p``: two-sided."""

    p: float
    verdict: str


def judged(plan: Plan, runs: Sequence[Run], alpha: float, *, last: bool) -> str:
    """The decision; empty: the measurement continues."""
    found = [workload_found(plan, runs, number, alpha) for number in range(plan.workloads)]
    verdicts = []
    for one, holm in zip(found, adjusted([one.p for one in found]), strict=True):
        stands = len(found) == 1 or holm <= alpha
        weaker = {"improved": "not worse", "regressed": "open"}.get(one.verdict, one.verdict)
        verdicts.append(one.verdict if stands else weaker)
    if "regressed" in verdicts:
        return "regressed"
    harmless = all(verdict in HARMLESS for verdict in verdicts)
    if harmless and "improved" in verdicts:
        return "improved"
    return "nothing" if last or set(verdicts) == {"equivalent"} else ""


def adjusted(values: Sequence[float]) -> list[float]:
    """Holm's correction: each p times the number of p that are not smaller, and never below the
    result for a smaller p."""

    def one(p: float) -> float:
        smaller = [q for q in values if q <= p]
        return max(q * sum(other >= q for other in values) for q in smaller)

    return [one(p) for p in values]


def workload_found(plan: Plan, runs: Sequence[Run], number: int, alpha: float) -> Found:
    arms: list[dict[int, list[float]]] = [{}, {}]
    for run in runs:
        if run.workload == number:
            arms[run.after].setdefault(run.unit, []).append(run.value)
    before, after = (units(plan, arm) for arm in arms)
    if plan.kind != "flip":
        before, after = without_drift(before, after)
    first, second = ([value for _unit, value in arm] for arm in (before, after))
    if plan.kind == "flip":
        return by_flip(first, second, alpha)
    if plan.kind == "turns" and min(len(first), len(second)) < 5:
        found = by_turns(first, second, alpha)
    else:
        found = by_ranks(first, second, alpha, with_p=plan.workloads > 1)
    if plan.kind == "turns" and found.verdict in ("regressed", "improved"):
        return found._replace(verdict="open") if alike_on_levels(first, second) else found
    return found


def alike_on_levels(before: list[float], after: list[float]) -> bool:
    """If turns lie on two levels (with a gap of more than 5 % that is wider than each level, and at
    least two turns on each): True if the arms overlap on one level."""
    everything = sorted([*before, *after])
    gaps = [b - a for a, b in pairwise(everything)]
    at = max(range(len(gaps)), key=lambda place: (gaps[place], place)) + 1
    low, high = everything[:at], everything[at:]
    widest = max(low[-1] - low[0], high[-1] - high[0])
    if min(len(low), len(high)) < 2 or gaps[at - 1] <= max(0.05, widest):
        return False
    for level in (low, high):
        ends = [
            [value for value in arm if level[0] <= value <= level[-1]] for arm in (before, after)
        ]
        if all(ends) and max(ends[0]) >= min(ends[1]) and max(ends[1]) >= min(ends[0]):
            return True
    return False


def units(plan: Plan, arm: dict[int, list[float]]) -> list[tuple[int, float]]:
    """Unit and logarithm of each value; a turn counts as one value, the mean of its runs."""
    if plan.kind == "turns":
        return [(unit, math.log(statistics.fmean(values))) for unit, values in arm.items()]
    return [(unit, math.log(value)) for unit, values in arm.items() for value in values]


Points = list[tuple[int, float]]


def without_drift(before: Points, after: Points) -> tuple[Points, Points]:
    """Values relative to the median level of three units, if neighbours are similar."""
    numbers = sorted({unit for unit, _value in before} & {unit for unit, _value in after})
    levels = [
        statistics.fmean(
            statistics.fmean(value for unit, value in arm if unit == number)
            for arm in (before, after)
        )
        for number in numbers
    ]
    if len(levels) < 5 or von_neumann(levels) >= 1.2:
        return before, after
    usual = statistics.median(levels)
    off = {}
    for place, number in enumerate(numbers):
        begin = min(max(place - 1, 0), len(levels) - 3)
        off[number] = statistics.median(levels[begin : begin + 3]) - usual
    first, second = ([(unit, value - off[unit]) for unit, value in arm] for arm in (before, after))
    return first, second


def von_neumann(values: Sequence[float]) -> float:
    ranks = mid_ranks(values)
    mean = statistics.fmean(ranks)
    whole = sum((rank - mean) ** 2 for rank in ranks)
    return sum((b - a) ** 2 for a, b in pairwise(ranks)) / whole if whole else 2


def mid_ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


# Statistics.


def verdict_of(estimate: float, reach: Callable[[float], tuple[float, float]], alpha: float) -> str:
    """The verdict. ``reach``: level -> interval of the logarithm of the ratio."""
    low, high = reach(alpha)
    inner_low, inner_high = (100 * math.expm1(end) for end in reach(2 * alpha))
    size = 100 * math.expm1(estimate)
    if high < 0 and size <= -MARGIN:
        return "regressed"
    if low > 0 and size >= MARGIN:
        return "improved"
    if inner_low > -MARGIN:
        return "equivalent" if inner_high < MARGIN else "not worse"
    return "open"


def by_ranks(before: list[float], after: list[float], alpha: float, *, with_p: bool) -> Found:
    differences = sorted(b - a for a in before for b in after)
    estimate = statistics.median(differences)

    def reach(level: float) -> tuple[float, float]:
        cut = cut_off(len(before), len(after), level)
        if not cut:
            return -math.inf, math.inf
        return differences[cut - 1], differences[-cut]

    p = rank_p(before, after) if with_p else 0.0
    return Found(p, verdict_of(estimate, reach, alpha))


@cache
def cut_off(n: int, m: int, level: float) -> int:
    """Number of differences that an interval leaves out at either end, plus one."""
    total, tail = math.comb(n + m, n), 0
    for u in range(n * m):
        tail += ways(n, m, u)
        if 2 * tail > level * total * (1 + 1e-12):
            return u
    return n * m


@cache
def ways(n: int, m: int, u: int) -> int:
    """Number of orders of n and m values with this U: the last is of one arm, or of the other."""
    if u < 0:
        return 0
    if not n or not m:
        return int(u == 0)
    return ways(n - 1, m, u - m) + ways(n, m - 1, u)


def rank_p(before: list[float], after: list[float]) -> float:
    """p by enumerating all assignments of the ranks to the arms."""
    ranks = mid_ranks([*before, *after])
    n, whole = len(before), len(ranks)
    mine = sum(ranks[:n])
    sums = all_sums(tuple(sorted(ranks)), n)
    low = sum(one <= mine + 1e-9 for one in sums)
    high = sum(one >= mine - 1e-9 for one in sums)
    return min(1.0, 2 * min(low, high) / math.comb(whole, n))


@lru_cache(maxsize=64)
def all_sums(ranks: tuple[float, ...], n: int) -> tuple[float, ...]:
    return tuple(sum(chosen) for chosen in combinations(ranks, n))


@cache
def quantile(share: float, freedom: int) -> float:
    return float(_special.stdtrit(freedom, share))


def by_turns(before: list[float], after: list[float], alpha: float) -> Found:
    """Student's interval, but never narrower than turns are known to differ."""
    n, m = len(before), len(after)
    freedom = n + m - 2
    usual = {2: 0.15, 3: 0.15, 4: 0.08}[min(n, m)]
    pooled = math.sqrt((squares(before) + squares(after)) / freedom)
    wide = math.sqrt(1 / n + 1 / m)
    estimate = statistics.fmean(after) - statistics.fmean(before)

    def reach(level: float) -> tuple[float, float]:
        own = quantile(1 - level / 2, freedom) * pooled
        least = statistics.NormalDist().inv_cdf(1 - level / 2) * usual
        half = wide * max(own, least)
        return estimate - half, estimate + half

    far = abs(estimate) / wide
    student = 2 * float(_special.stdtr(freedom, -far / pooled)) if pooled else 0.0
    normal = math.erfc(far / usual / math.sqrt(2))
    return Found(max(student, normal), verdict_of(estimate, reach, alpha))


def by_flip(before: list[float], after: list[float], alpha: float) -> Found:
    """Student's interval, including the difference between two boots and the effect of a trend at
    both ends."""
    n, m = len(before), len(after)
    freedom = n + m - 2
    within = (squares(before) + squares(after)) / freedom
    error = math.sqrt(within / n + within / m + 2 * 0.11**2)
    estimate = statistics.fmean(after) - statistics.fmean(before)
    trend = max(slope(before), slope(after)) * (n + m) / 2

    def reach(level: float) -> tuple[float, float]:
        half = quantile(1 - level / 2, freedom) * error + trend
        return estimate - half, estimate + half

    return Found(0.0, verdict_of(estimate, reach, alpha))


def slope(values: list[float]) -> float:
    """Sen's slope, if Kendall's S is significant."""
    n = len(values)
    pairs = list(combinations(range(n), 2))
    s = sum((values[j] > values[i]) - (values[j] < values[i]) for i, j in pairs)
    if abs(s) <= 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18):
        return 0.0
    return abs(statistics.median((values[j] - values[i]) / (j - i) for i, j in pairs))


def squares(values: list[float]) -> float:
    mean = statistics.fmean(values)
    return sum((value - mean) ** 2 for value in values)


# Tables.


class Cell(NamedTuple):
    """Shares in per cent, and the number of measurements."""

    regressed: float
    improved: float
    times: int


def cell(plan: Plan, name: str, effect: float, times: int) -> Cell:
    said = []
    for number in range(times):
        rng = random.Random(f"{SEED}/{plan}/{name}/{effect}/{number}")  # noqa: S311
        said.append(measure(plan, name, effect, rng))
    return Cell(100 * said.count("regressed") / times, 100 * said.count("improved") / times, times)


Table = list[list[str]]


def tables_of(place: page_tables.Place) -> list[Table]:
    """The tables of the page, cell by cell, without the rule below the head."""
    tables = [part.splitlines() for part in place.shown().strip().split("\n\n")]
    return [
        [[each.strip() for each in row.strip("|").split("|")] for row in [head, *rest]]
        for head, _rule, *rest in tables
    ]


class Job(NamedTuple):
    effect: float
    column: str
    name: str
    times: int


def _done(job: Job) -> Cell:
    return cell(PLANS[job.column], job.name, job.effect, job.times)


def second_tables(first: list[Table], times: int) -> Iterator[tuple[str, list[str]]]:
    """The tables as text, each with its differences."""
    jobs = [
        Job(effect, column, row[0], times if PLANS[column].workloads == 1 else times // 3)
        for effect, (head, *rows) in zip(EFFECTS, first, strict=True)
        for row in rows
        for column in head[1:]
    ]
    with ProcessPoolExecutor() as pool:
        cells = dict(zip(jobs, pool.map(_done, jobs), strict=True))
    for effect, (head, *rows) in zip(EFFECTS, first, strict=True):
        lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        differing = []
        for row in rows:
            mine = [one for job, one in cells.items() if (job.effect, job.name) == (effect, row[0])]
            shown = [f"{one.regressed:.1f} / {one.improved:.1f}" for one in mine]
            lines.append(f"| {' | '.join([row[0], *shown])} |")
            for column, one, theirs in zip(head[1:], mine, row[1:], strict=True):
                if differs(one, theirs, FIRST_TIMES[effect][PLANS[column].workloads > 1]):
                    differing.append(f"{effect:+.0%}, {row[0]}, {column}: {theirs} and {one}")
        yield "\n".join([*lines, ""]), differing


def differs(one: Cell, theirs: str, times: int) -> bool:
    """True if they differ by more than chance and rounding."""
    said = [float(part.split("(")[0]) for part in theirs.split("/")]
    for mine, other in zip(one[:2], said, strict=True):
        whole = (mine * one.times + other * times) / (one.times + times) / 100
        error = math.sqrt(max(whole * (1 - whole), 0.002) * (1 / one.times + 1 / times))
        if abs(mine - other) / 100 > FAR * error:
            return True
    return False


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    options = page_tables.parser(__doc__)
    options.add_argument(
        "times", type=int, nargs="?", default=TIMES, help="measurements of a cell (%(default)s)"
    )
    chosen = page_tables.chosen_by(options, arguments, SEED)
    if chosen.write and chosen.times != TIMES:
        options.error(f"the page has {TIMES} measurements of a cell")
    found = list(second_tables(tables_of(FIRST), chosen.times))
    tables = "\n".join(table for table, _differing in found)
    differing = [line for _table, lines in found for line in lines]
    if chosen.write:
        SECOND.write(tables)
    else:
        sys.stdout.write(tables)
    sys.stderr.write("".join(f"{line}\n" for line in differing))
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
