#!/usr/bin/env python3
"""How often the verdicts are right, by simulation; the tables of docs/explanation/measuring.md.

    python scripts/simulate_verdicts.py            print the tables
    python scripts/simulate_verdicts.py --write    write them into the page
    python scripts/simulate_verdicts.py --check    exit 1 when the page has others

The values are made up, in sixteen worlds (``WORLDS``); everything else is the program's own: order,
drift, intervals, looks, verdict, decision. The same seed gives the same tables.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import NormalDist
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.order import Slot, blocks, one_by_one, turns
from vnicaudit.bench.judging.stopping import stop_early
from vnicaudit.bench.judging.terms import DEFAULT, QUICK, Terms, alphas_of_turns
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.bench.profiles.keys import RUNS_PER_TURN, TURNS
from vnicaudit.model.measurement import Sample, Workload

PAGE = Path(__file__).parents[1] / "docs/explanation/measuring.md"
BEGIN, END = "<!-- simulation: begin -->\n", "<!-- simulation: end -->\n"

SEED = 20261123
REPETITIONS = {0.0: 2000, -0.10: 1000, 0.10: 1000}
"""Effect -> how often it is simulated."""
ARMS = ("before", "after")
BOUND = 5.0
"""Per cent of measurements without a change that may be called a regression, or an improvement."""

_NORMAL = NormalDist()


class Moment(NamedTuple):
    """When a run is made. ``boot``: runs with the same one have the luck of a boot, or a plug, in
    common; ``turn``: how many turns there were before, or runs where there are no turns; ``share``:
    of the whole measurement that is over."""

    boot: int
    turn: int
    share: float
    after: bool


Noise = Callable[[Sequence[Moment], random.Random], list[float]]
"""The logarithms of the values of these runs, without a change."""


def _normal(source: random.Random) -> float:
    """``random()`` alone is the same in every version of Python."""
    return _NORMAL.inv_cdf(source.random() or 0.5)


def _scatter(size: float) -> Noise:
    return lambda moments, source: [size * _normal(source) for _ in moments]


def _heavy_tails(moments: Sequence[Moment], source: random.Random) -> list[float]:
    """Student's t with 3 degrees of freedom, of 5 %."""

    def one() -> float:
        squares = sum(_normal(source) ** 2 for _ in range(3))
        return 0.05 / math.sqrt(3) * _normal(source) / math.sqrt(squares / 3)

    return [one() for _ in moments]


def _two_levels(moments: Sequence[Moment], source: random.Random) -> list[float]:
    return [
        0.02 * _normal(source) + (math.log(0.72) if source.random() < 0.35 else 0.0)
        for _ in moments
    ]


def _drift(whole: float) -> Noise:
    return lambda moments, source: [
        0.02 * _normal(source) + math.log(1 + whole) * each.share for each in moments
    ]


def _by_boot(luck: Callable[[random.Random], float]) -> Noise:
    """What the runs of a turn have in common: the luck of a boot, or a plug."""

    def noise(moments: Sequence[Moment], source: random.Random) -> list[float]:
        drawn: dict[int, float] = {}
        for each in moments:
            if each.boot not in drawn:
                drawn[each.boot] = luck(source)
        return [drawn[each.boot] + 0.02 * _normal(source) for each in moments]

    return noise


def _walk(moments: Sequence[Moment], source: random.Random) -> list[float]:
    found, level = [], 0.0
    for _ in moments:
        level += 0.02 * _normal(source)
        found.append(level + 0.02 * _normal(source))
    return found


def _resembling(moments: Sequence[Moment], source: random.Random) -> list[float]:
    """Each run is like the one before: AR(1) of 0.8, 5 % in all."""
    found = [0.05 * _normal(source)]
    while len(found) < len(moments):
        found.append(0.8 * found[-1] + 0.05 * 0.6 * _normal(source))
    return found


def _outliers(moments: Sequence[Moment], source: random.Random) -> list[float]:
    return [
        0.02 * _normal(source) + (math.log(0.3) if source.random() < 0.05 else 0.0) for _ in moments
    ]


def _unequal(moments: Sequence[Moment], source: random.Random) -> list[float]:
    return [(0.10 if each.after else 0.02) * _normal(source) for each in moments]


def _every_second(moments: Sequence[Moment], source: random.Random) -> list[float]:
    """What recurs with every second turn, such as a job of a neighbour."""
    return [0.02 * _normal(source) + (math.log(1.06) if each.turn % 2 else 0.0) for each in moments]


def _as_it_is(value: float) -> float:
    return value


class World(NamedTuple):
    """``seen``: what becomes of a value on its way to who measures it."""

    name: str
    noise: Noise
    seen: Callable[[float], float] = _as_it_is


WORLDS = (
    World("normal, 2 %", _scatter(0.02)),
    World("normal, 5 %", _scatter(0.05)),
    World("heavy tails (Student's t3, 5 %)", _heavy_tails),
    World("two levels: 35 % of runs 28 % lower", _two_levels),
    World("drift, -20 % over all", _drift(-0.20)),
    World("drift, +20 % over all", _drift(0.20)),
    World("random walk, 2 % a run", _walk),
    World("boots scatter by 3 %", _by_boot(lambda source: 0.03 * _normal(source))),
    World("boots scatter by 8 %", _by_boot(lambda source: 0.08 * _normal(source))),
    World(
        "boots on two levels, 25 % apart",
        _by_boot(lambda source: math.log(0.75) if source.random() < 0.5 else 0.0),
    ),
    World("each run like the last: AR(1) 0.8, 5 %", _resembling),
    World("outliers: 5 % of runs at 0.3", _outliers),
    World("2 % before, 10 % after", _unequal),
    World("steps of 10 %", _scatter(0.05), lambda value: max(0.1, round(value, 1))),
    World("a ceiling at the usual value, 5 %", _scatter(0.05), lambda value: min(value, 1.0)),
    World("6 % more every second turn", _every_second),
)


class Case(NamedTuple):
    """One design. ``layout``: the arms run side by side in blocks (``mixed``), in turns of
    ``terms.runs_per_turn`` runs, or one after the other (``halves``)."""

    name: str
    terms: Terms
    layout: Literal["mixed", "turns", "halves"]


def _turning(runs: int) -> Terms:
    return Terms(looks=TURNS, alphas=alphas_of_turns(TURNS), design="flips", runs_per_turn=runs)


CASES = (
    Case("blocks, 5, 10 and 20 runs", DEFAULT, "mixed"),
    Case("blocks, 7 runs (*quick*)", QUICK, "mixed"),
    Case("turns, 2, 3 and 5 of 3 runs (`apply --bench`)", _turning(RUNS_PER_TURN), "turns"),
    Case("turns, 2, 3 and 5 of 1 run", _turning(1), "turns"),
    Case("single flip, 7 runs", Terms(looks=(7,), alphas=(0.05,), design="single-flip"), "halves"),
    Case(
        "single flip, 20 runs", Terms(looks=(20,), alphas=(0.05,), design="single-flip"), "halves"
    ),
)


class Outcome(NamedTuple):
    """``verdict``: of the decision. ``n``: runs or turns per arm, at the end."""

    verdict: str
    n: int


def outcomes(
    case: Case, world: World, effect: float, repetitions: int, seed: int = SEED
) -> Iterator[Outcome]:
    """What the program would have said, once for each repetition; fewer are the beginning of
    more."""
    for repetition in range(repetitions):
        source = random.Random(f"{seed} {case.name} {world.name} {effect} {repetition}")  # noqa: S311
        yield _outcome(case, _samples(case, world, effect, source))


_WORKLOAD = Workload(id="any", engine="made-up", pattern="tcp", decides=("goodput",))


def _outcome(case: Case, samples: Sequence[Sample]) -> Outcome:
    terms = case.terms
    for look in terms.looks:
        seen = [sample for sample in samples if sample.block < look * terms.runs_per_turn]
        found = compare(seen, [_WORKLOAD], *ARMS, terms)
        if look == terms.looks[-1] or stop_early(found, terms).action == "stop":
            return Outcome(decide(found, terms).verdict, look)
    raise AssertionError("there is a last look")


def _samples(case: Case, world: World, effect: float, source: random.Random) -> list[Sample]:
    slots = _slots(case, int(source.random() * 2**32))
    moments = [_moment(case, slot, len(slots)) for slot in slots]
    levels = world.noise(moments, source)
    return [
        Sample(
            workload=slot.workload,
            arm=slot.arm,
            block=slot.block,
            order=slot.order,
            started="",
            values={"goodput": 1e9 * world.seen(math.exp(level) * (1 + effect * moment.after))},
        )
        for slot, moment, level in zip(slots, moments, levels, strict=True)
    ]


def _slots(case: Case, seed: int) -> Sequence[Slot]:
    n, names = case.terms.looks[-1], [_WORKLOAD.id]
    if case.layout == "halves":
        return one_by_one(ARMS, names, n, seed)
    if case.layout == "turns":
        return turns(ARMS, names, n, seed, case.terms.runs_per_turn)
    return blocks(ARMS, names, n, seed)


def _moment(case: Case, slot: Slot, slots: int) -> Moment:
    """A single flip has one boot of each arm, mixed arms have one in all, and every turn is one."""
    after, share = slot.arm == ARMS[1], slot.order / (slots - 1)
    if case.layout == "turns":
        turn = slot.order // case.terms.runs_per_turn
        return Moment(turn, turn, share, after)
    return Moment(int(case.layout == "halves" and after), slot.order, share, after)


class Cell(NamedTuple):
    """Shares of the repetitions, per cent; ``n``: mean runs or turns per arm."""

    regressed: float
    improved: float
    n: float


def cell(
    case: Case, world: World, effect: float, repetitions: int | None = None, seed: int = SEED
) -> Cell:
    """How often what was said, and after how many runs."""
    many = repetitions or REPETITIONS[effect]
    found = list(outcomes(case, world, effect, many, seed))
    said = [outcome.verdict for outcome in found]
    return Cell(
        regressed=100 * said.count("regressed") / many,
        improved=100 * said.count("improved") / many,
        n=sum(outcome.n for outcome in found) / many,
    )


def tables() -> str:
    """The page's tables: without a change; 10 % less; 10 % more."""
    jobs = [
        (case, world, effect) for effect in REPETITIONS for world in range(len(WORLDS))
        for case in range(len(CASES))
    ]  # fmt: skip
    with ProcessPoolExecutor() as pool:
        cells = iter(list(pool.map(_job, jobs, chunksize=1)))
    parts = []
    for effect in REPETITIONS:
        rows = [
            f"| {world.name} | {' | '.join(_shown(next(cells)) for _ in CASES)} |"
            for world in WORLDS
        ]
        head = f"| {TITLES[effect]} | {' | '.join(case.name for case in CASES)} |"
        parts.append("\n".join([head, "|---" * (len(CASES) + 1) + "|", *rows, ""]))
    return "\n".join(parts)


TITLES = {
    0.0: "no change: called regressed / improved, % (runs or turns)",
    -0.10: "-10 %: called regressed / improved, %",
    0.10: "+10 %: called regressed / improved, %",
}


def _job(job: tuple[int, int, float]) -> Cell:
    case, world, effect = job
    return cell(CASES[case], WORLDS[world], effect)


def _shown(one: Cell) -> str:
    return f"{one.regressed:.1f} / {one.improved:.1f} ({one.n:.1f})"


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    if not arguments:
        sys.stdout.write(tables())
        return 0
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    current = f"{head}{BEGIN}{tables()}{END}{rest.partition(END)[2]}"
    if arguments == ["--write"]:
        PAGE.write_text(current, "utf-8")
        return 0
    if current != text:
        sys.stderr.write(
            f"{PAGE.name} has other tables: run scripts/simulate_verdicts.py --write\n"
        )
    return int(current != text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
