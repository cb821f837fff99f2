#!/usr/bin/env python3
"""How often the verdicts are right, by simulation; the table of docs/explanation/measuring.md.

    python scripts/simulate_verdicts.py            print the table
    python scripts/simulate_verdicts.py --write    write it into the page
    python scripts/simulate_verdicts.py --check    exit 1 when the page has another one

The values are made up (see ``World``), everything else is the program's own: order, intervals,
looks, verdict, decision. The same seed gives the same table.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import NormalDist
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.order import Slot, blocks, one_by_one
from vnicaudit.bench.judging.statistics import mann_whitney
from vnicaudit.bench.judging.stopping import stop_early
from vnicaudit.bench.judging.terms import DEFAULT, Terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.model.measurement import Sample, Workload

PAGE = Path(__file__).parents[1] / "docs/explanation/measuring.md"
BEGIN, END = "<!-- simulation: begin -->\n", "<!-- simulation: end -->\n"

SEED = 20261121
REPETITIONS = 4000
ARMS = ("before", "after")
EFFECTS = (0.0, -0.05, -0.10, -0.20, 0.10)

_NORMAL = NormalDist()


class World(NamedTuple):
    """The noise. ``run``, ``boot``: standard deviation of logarithms, between runs and between
    boots. ``drift``: share that is lost in the time of ten runs per arm. ``bad``: share of runs
    that lack another 14 to 39 %."""

    run: float = 0.03
    boot: float = 0.03
    drift: float = 0.05
    bad: float = 0.05


WORLD = World()


class Case(NamedTuple):
    """One line of the table. ``layout``: what has a boot's luck in common: everything (``mixed``),
    the runs of a block and arm (``boots``), the runs of an arm in a random order (``arms``) or one
    after the other (``halves``). ``workloads``: primary ones, the change acts on the first.
    ``ranks_only``: judged by p < 0.05 of a rank test and nothing else."""

    name: str
    terms: Terms
    layout: Literal["mixed", "boots", "arms", "halves"]
    runs: int = 1
    """Runs of a workload in each block and arm."""
    workloads: int = 1
    ranks_only: bool = False


class Outcome(NamedTuple):
    """``verdict``: of the decision. ``n``: runs or boots per arm, at the end."""

    verdict: str
    n: int


_TEN = Terms(looks=(10,), alphas=(0.05,))
_BOOTS = Terms(design="boots")
_FLIP = Terms(looks=(7,), alphas=(0.05,), design="single-flip")
_SHADOW = Terms(design="shadow")

CASES = (
    Case("randomised blocks", DEFAULT, "mixed"),
    Case("randomised blocks, one look at n = 10", _TEN, "mixed"),
    Case("randomised blocks, 8 primaries", DEFAULT, "mixed", workloads=8),
    Case("boots, one run in each", _BOOTS, "boots"),
    Case("boots, three runs in each", _BOOTS, "boots", runs=3),
    Case("single flip, n = 7", _FLIP, "halves"),
    Case("shadow NIC, each NIC plugged once", _SHADOW, "arms"),
    Case("*all before, then all after, n = 10, judged as if mixed*", _TEN, "halves"),
    Case("*the same, p < 0.05 alone*", _TEN, "halves", ranks_only=True),
)


def outcomes(case: Case, effect: float, repetitions: int, seed: int = SEED) -> Iterator[Outcome]:
    """What the program would have said, once for each repetition; fewer are the beginning of
    more."""
    for repetition in range(repetitions):
        source = random.Random(f"{seed} {case.name} {effect} {repetition}")  # noqa: S311
        yield _outcome(case, list(_samples(case, effect, source)))


def _outcome(case: Case, samples: Sequence[Sample]) -> Outcome:
    if case.ranks_only:
        return Outcome(_by_ranks(samples), case.terms.looks[0])
    workloads = _workloads(case)
    for look in case.terms.looks:
        seen = [sample for sample in samples if sample.block < look]
        found = compare(seen, workloads, *ARMS, case.terms)
        if look == case.terms.looks[-1] or stop_early(found, case.terms).action == "stop":
            return Outcome(decide(found, case.terms).verdict, look)
    raise AssertionError("there is a last look")


def _by_ranks(samples: Sequence[Sample]) -> str:
    before, after = (
        [sample.values["goodput"] for sample in samples if sample.arm == arm] for arm in ARMS
    )
    if mann_whitney(before, after) >= 0.05:
        return "inconclusive"
    return "regressed" if sum(after) < sum(before) else "improved"


def _workloads(case: Case) -> list[Workload]:
    return [
        Workload(id=f"w{place}", engine="made-up", pattern="tcp", decides=("goodput",))
        for place in range(case.workloads)
    ]


def _samples(
    case: Case, effect: float, source: random.Random, world: World = WORLD
) -> Iterator[Sample]:
    names = [workload.id for workload in _workloads(case)]
    luck: dict[object, float] = {}
    slots = _slots(case, names, source)
    for slot in slots:
        key = _key(case, slot)
        if key not in luck:
            luck[key] = world.boot * _normal(source)
        past = slot.order / (len(names) * case.runs * len(ARMS) * 10)
        value = 1e9 * math.exp(luck[key] + world.run * _normal(source) - world.drift * past)
        if source.random() < world.bad:
            value *= 1 - 0.14 - 0.25 * source.random()
        if slot.arm == "after" and slot.workload == names[0]:
            value *= 1 + effect
        yield Sample(
            workload=slot.workload,
            arm=slot.arm,
            block=slot.block,
            order=slot.order,
            boot=str(key),
            started="",
            values={"goodput": value},
        )


def _slots(case: Case, names: Sequence[str], source: random.Random) -> Sequence[Slot]:
    seed, n = int(source.random() * 2**32), case.terms.looks[-1]
    if case.layout == "halves":
        return one_by_one(ARMS, names, n, seed)
    return blocks(ARMS, [*names] * case.runs, n, seed, arm_by_arm=case.layout == "boots")


def _key(case: Case, slot: Slot) -> object:
    """Slots with the same key have a boot's luck in common."""
    if case.layout == "mixed":
        return ""
    return (slot.arm, slot.block) if case.layout == "boots" else slot.arm


def _normal(source: random.Random) -> float:
    """``random()`` alone is the same in every version of Python."""
    return _NORMAL.inv_cdf(source.random() or 0.5)


class Cell(NamedTuple):
    """Shares of the repetitions, per cent."""

    regressed: float
    regressed_by_10: float
    improved: float
    n: float


def cell(case: Case, effect: float, repetitions: int, seed: int = SEED) -> Cell:
    """How often what was said, and after how many runs."""
    found = list(outcomes(case, effect, repetitions, seed=seed))
    worse = [outcome for outcome in found if outcome.verdict == "regressed"]
    share = 100 / repetitions
    return Cell(
        regressed=share * len(worse),
        regressed_by_10=share * sum(outcome.n <= 10 for outcome in worse),
        improved=share * sum(outcome.verdict == "improved" for outcome in found),
        n=sum(outcome.n for outcome in found) / repetitions,
    )


def table(repetitions: int = REPETITIONS) -> str:
    """The page's table."""
    jobs = [(case, effect, repetitions) for case in CASES for effect in EFFECTS]
    with ProcessPoolExecutor() as pool:
        cells = list(pool.map(_job, jobs))
    rows = (cells[at : at + len(EFFECTS)] for at in range(0, len(cells), len(EFFECTS)))
    lines = (_row(case, row) for case, row in zip(CASES, rows, strict=True))
    return "\n".join([*_HEAD, *lines, ""])


_HEAD = (
    "| | no change: called regressed | no change: called improved | -5 %: regressed "
    "| -10 %: regressed by n = 10 (at the end) | -20 %: by n = 10 | +10 %: improved "
    "| no change: runs per arm |",
    "|---|---|---|---|---|---|---|---|",
)


def _job(job: tuple[Case, float, int]) -> Cell:
    return cell(*job)


def _row(case: Case, cells: Sequence[Cell]) -> str:
    none, five, ten, twenty, gain = cells
    shown = (
        f"{none.regressed:.1f} %",
        f"{none.improved:.1f} %",
        f"{five.regressed:.0f} %",
        f"{ten.regressed_by_10:.1f} % ({ten.regressed:.1f} %)",
        f"{twenty.regressed_by_10:.1f} %",
        f"{gain.improved:.1f} %",
        f"{none.n:.1f}",
    )
    return f"| {case.name} | {' | '.join(shown)} |"


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    if not arguments:
        sys.stdout.write(table())
        return 0
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    current = f"{head}{BEGIN}{table()}{END}{rest.partition(END)[2]}"
    if arguments == ["--write"]:
        PAGE.write_text(current, "utf-8")
        return 0
    if current != text:
        sys.stderr.write(
            f"{PAGE.name} has another table: run scripts/simulate_verdicts.py --write\n"
        )
    return int(current != text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
