#!/usr/bin/env python3
"""Simulates how often verdicts are right, for docs/explanation/simulated-verdicts.txt.

    python scripts/simulate_verdicts.py            print the tables
    python scripts/simulate_verdicts.py --write    write them into the page
    python scripts/simulate_verdicts.py --check    exit 1 if the page has others

The values are simulated in sixteen worlds (``WORLDS``). Everything else is vnicaudit's own code:
order, drift, intervals, looks, catastrophes, verdict, decision. The same seed gives the same
tables.
"""

from __future__ import annotations

import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from statistics import NormalDist
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.catastrophe import Check, Question, certain_harm, check_wanted
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.stopping import Slot, blocks, stop_early, turns
from vnicaudit.bench.judging.terms import DEFAULT, Terms, alphas_of_turns, usual_turns
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.bench.profiles.keys import RUNS_PER_TURN
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.profiles.profile import primary_comparisons
from vnicaudit.bench.trials.flips import Visit, others_first
from vnicaudit.model.measurement import Sample, Workload

if not __package__:  # as a program, it would look for modules only in its own folder
    sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import page_tables

PLACE = page_tables.Place("<!-- simulation: begin -->\n", "<!-- simulation: end -->\n")

SEED = 20261126
REPETITIONS = {0.0: 2000, -0.10: 1000, 0.10: 1000, 0.30: 1000}
"""Effect -> number of simulations."""
ARMS = ("before", "after")
BOUND = 5.0
"""Maximum per cent of measurements without a change that may be called a regression, or an
improvement."""

_NORMAL = NormalDist()


class Moment(NamedTuple):
    """Time of a run. ``boot``: runs with the same number share the luck of a boot, or plug.
    ``turn``: number of turns before, or of runs if there are no turns. ``share``: elapsed share of
    the whole measurement."""

    boot: int
    turn: int
    share: float
    after: bool


Noise = Callable[[random.Random], Callable[[Moment], float]]
"""The noise of one measurement of one workload: the logarithm of a run's value without a change.
Called in the order of the runs."""


def _normal(source: random.Random) -> float:
    """A normal value. Only ``random()`` is the same in every version of Python."""
    return _NORMAL.inv_cdf(source.random() or 0.5)


def _scatter(size: float) -> Noise:
    return lambda source: lambda _moment: size * _normal(source)


def _heavy_tails(source: random.Random) -> Callable[[Moment], float]:
    """Student's t with 3 degrees of freedom, scaled to 5 %."""

    def one(_moment: Moment) -> float:
        squares = sum(_normal(source) ** 2 for _ in range(3))
        return 0.05 / math.sqrt(3) * _normal(source) / math.sqrt(squares / 3)

    return one


def _sometimes(share: float, level: float) -> Noise:
    """That share of runs is at another level."""

    def one(source: random.Random) -> float:
        return 0.02 * _normal(source) + (math.log(level) if source.random() < share else 0.0)

    return lambda source: lambda _moment: one(source)


def _drift(whole: float) -> Noise:
    return lambda source: lambda at: 0.02 * _normal(source) + math.log(1 + whole) * at.share


def _by_boot(luck: Callable[[random.Random], float]) -> Noise:
    """Luck of a boot, or plug, shared by the runs of a turn."""

    def noise(source: random.Random) -> Callable[[Moment], float]:
        drawn: dict[int, float] = {}

        def one(moment: Moment) -> float:
            if moment.boot not in drawn:
                drawn[moment.boot] = luck(source)
            return drawn[moment.boot] + 0.02 * _normal(source)

        return one

    return noise


def _walk(source: random.Random) -> Callable[[Moment], float]:
    level = 0.0

    def one(_moment: Moment) -> float:
        nonlocal level
        level += 0.02 * _normal(source)
        return level + 0.02 * _normal(source)

    return one


def _resembling(source: random.Random) -> Callable[[Moment], float]:
    """Each run resembles the previous one: AR(1) of 0.8, 5 % in total."""
    level = 0.05 * _normal(source)

    def one(_moment: Moment) -> float:
        nonlocal level
        level = 0.8 * level + 0.05 * 0.6 * _normal(source)
        return level

    return one


def _unequal(source: random.Random) -> Callable[[Moment], float]:
    return lambda at: (0.10 if at.after else 0.02) * _normal(source)


def _every_second(source: random.Random) -> Callable[[Moment], float]:
    """An effect in every second turn, such as a neighbour's job."""
    return lambda at: 0.02 * _normal(source) + (math.log(1.06) if at.turn % 2 else 0.0)


def _as_it_is(value: float) -> float:
    return value


class World(NamedTuple):
    """``seen``: changes a value to what would be measured."""

    name: str
    noise: Noise
    seen: Callable[[float], float] = _as_it_is


WORLDS = (
    World("normal, 2 %", _scatter(0.02)),
    World("normal, 5 %", _scatter(0.05)),
    World("heavy tails (Student's t3, 5 %)", _heavy_tails),
    World("two levels: 35 % of runs 28 % lower", _sometimes(0.35, 0.72)),
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
    World("outliers: 5 % of runs at 0.3", _sometimes(0.05, 0.3)),
    World("2 % before, 10 % after", _unequal),
    World("steps of 10 %", _scatter(0.05), lambda value: max(0.1, round(value, 1))),
    World("a ceiling at the usual value, 5 %", _scatter(0.05), lambda value: min(value, 1.0)),
    World("6 % more every second turn", _every_second),
)


class Case(NamedTuple):
    """One design. ``layout``: the arms run side by side in blocks (``mixed``), or in turns of
    ``terms.runs_per_turn`` runs. ``workloads``: all are
    primary, each with its own noise. ``changed``: the first ones, which the change affects."""

    name: str
    terms: Terms
    layout: Literal["mixed", "turns"]
    workloads: int = 1
    changed: int = 1
    repetitions: float = 1.0
    """Factor for the number of repetitions: slow cases are simulated less often."""


def _turning(comparisons: int) -> Terms:
    looks = usual_turns(comparisons)
    alphas = alphas_of_turns(looks)
    return Terms(looks=looks, alphas=alphas, design="flips", runs_per_turn=RUNS_PER_TURN)


_QUICK = load_profile("quick")
_MANY = primary_comparisons(_QUICK.workloads)
"""Each is simulated as a workload."""
_BLOCKS = Terms(looks=_QUICK.looks, alphas=_QUICK.alphas)
CASES = (
    Case("blocks, 5, 10 and 20 runs", DEFAULT, "mixed"),
    Case(f"blocks, {_QUICK.looks[0]} runs", _BLOCKS, "mixed"),
    Case(f"*quick* (blocks, {_MANY} comparisons)", _BLOCKS, "mixed", _MANY, _MANY),
    Case("turns, 2, 3 and 5 of 3 runs", _turning(1), "turns"),
    Case("*quick* in turns (`apply --bench`)", _turning(_MANY), "turns", _MANY, _MANY, 0.4),
)
ONE_OF_MANY = (
    CASES[2]._replace(name=f"*quick*, 1 of {_MANY} changed", changed=1),
    CASES[4]._replace(name=f"in turns, 1 of {_MANY} changed", changed=1),
)


class Outcome(NamedTuple):
    """``verdict``: of the decision. ``n``: runs or turns per arm at the end."""

    verdict: str
    n: int


def outcomes(
    case: Case, world: World, effect: float, repetitions: int, seed: int = SEED
) -> Iterator[Outcome]:
    """The program's result for each repetition; a smaller number gives the first ones of a
    larger."""
    for repetition in range(repetitions):
        source = random.Random(f"{seed} {case.name} {world.name} {effect} {repetition}")  # noqa: S311
        yield _Measurement(case, world, effect, source).outcome()


class _Measurement:
    """One measurement, run by run, as made by the collector."""

    def __init__(self, case: Case, world: World, effect: float, source: random.Random) -> None:
        names = [f"w{number}" for number in range(case.workloads)]
        self._case = case
        self._world = world
        self._changes = dict.fromkeys(names[: case.changed], effect)
        self._slots = _slots(case, names, int(source.random() * 2**32))
        self._left = {
            look: sum(slot.block < look * case.terms.runs_per_turn for slot in self._slots)
            for look in case.terms.looks
        }
        self._made = 0
        self._begun = 0
        self._noise = {name: world.noise(source) for name in names}
        self._workloads = [
            Workload(id=name, engine="made-up", pattern="tcp", decides=("goodput",))
            for name in names
        ]
        self._samples: list[Sample] = []
        self._low: set[str] = set()
        self._highest: defaultdict[str, float] = defaultdict(float)

    def outcome(self) -> Outcome:
        """The result: at a look, or by a catastrophe."""
        visits = _visits(self._case, self._slots)
        boot = 0
        while visits:
            (arm, slots), *visits = visits
            for place, slot in enumerate(slots):
                step = self._run(slot, boot)
                ended = self._ended(slot, step)
                if ended is not None:
                    return ended
                if step == "away":
                    visits = others_first(arm, list(slots[place + 1 :]), visits)
                    break
            boot += 1
        raise AssertionError("there is a last look")

    def _ended(self, slot: Slot, step: Check | tuple[str, ...] | None) -> Outcome | None:
        """The end of the measurement after a run; None: it continues."""
        terms = self._case.terms
        if isinstance(step, tuple):
            found = compare(self._samples, self._workloads, *ARMS, terms)
            verdict = decide(found, terms, catastrophe=step).verdict
            return Outcome(verdict, slot.block // terms.runs_per_turn + 1)
        self._made += 1
        self._begun = max(self._begun, slot.block + 1)
        look = next((look for look, count in self._left.items() if self._is_at(look, count)), None)
        if look is None:
            return None
        found = compare(self._samples, self._workloads, *ARMS, terms)
        if look != terms.looks[-1] and stop_early(found, terms).action != "stop":
            return None
        return Outcome(decide(found, terms).verdict, look)

    def _is_at(self, look: int, count: int) -> bool:
        """True if that number of turns is complete and no further one has begun."""
        return self._made == count and self._begun == look * self._case.terms.runs_per_turn

    def _run(self, slot: Slot, boot: int) -> Check | tuple[str, ...] | None:
        """Make a run, and as many more as needed to find out if it is a catastrophe: returns the
        reasons if it is one, ``away`` if only the other arm's turn can tell."""
        arm = slot.arm
        while True:
            sample = self._sample(slot._replace(arm=arm), boot)
            self._samples.append(sample)
            if not self._may_matter(sample):
                return None
            step = self._step(slot.workload)
            if step is None or step == "away" or isinstance(step, tuple):
                return step
            arm = {"same": arm, "before": ARMS[0], "after": ARMS[1]}[step]

    def _may_matter(self, sample: Sample) -> bool:
        """True for a run that may be bad, or that may confirm a bad one: only then is the program
        called, because it would be too slow for every run."""
        if self._may_be_low(sample):
            self._low.add(sample.workload)
            return True
        witness = sample.arm == ARMS[0] and self._case.layout == "mixed"
        return witness and sample.workload in self._low

    def _may_be_low(self, sample: Sample) -> bool:
        """True for a run that may be below half of the median before: only then is the program
        called, because it would be too slow for every run."""
        value = sample.values["goodput"]
        if sample.arm == ARMS[0]:
            self._highest[sample.workload] = max(self._highest[sample.workload], value)
            return False
        return value < 0.7 * self._highest[sample.workload]

    def _step(self, name: str) -> Check | tuple[str, ...] | None:
        samples = [sample for sample in self._samples if sample.workload == name]
        workloads = [workload for workload in self._workloads if workload.id == name]
        question = Question(workloads, *ARMS, self._case.terms.design)
        return certain_harm(samples, question) or check_wanted(samples, question)

    def _sample(self, slot: Slot, boot: int) -> Sample:
        share = self._made / (len(self._slots) - 1)
        turn = boot if self._case.layout == "turns" else self._made
        moment = Moment(boot, turn, share, slot.arm == ARMS[1])
        level = self._noise[slot.workload](moment)
        change = self._changes.get(slot.workload, 0.0) * moment.after
        return Sample(
            workload=slot.workload,
            arm=slot.arm,
            block=slot.block,
            order=len(self._samples),
            started="",
            values={"goodput": 1e9 * self._world.seen(math.exp(level) * (1 + change))},
        )


def _slots(case: Case, names: Sequence[str], seed: int) -> Sequence[Slot]:
    n = case.terms.looks[-1]
    if case.layout == "turns":
        return turns(ARMS, names, n, seed, case.terms.runs_per_turn)
    return blocks(ARMS, names, n, seed)


def _visits(case: Case, slots: Sequence[Slot]) -> list[Visit]:
    """Visits, each with a boot of its own: mixed arms have one in total, otherwise each turn is
    one."""
    if case.layout == "mixed":
        return [("", list(slots))]
    groups = groupby(slots, lambda slot: (slot.arm, slot.block // case.terms.runs_per_turn))
    return [(arm, list(group)) for (arm, _turn), group in groups]


class Cell(NamedTuple):
    """Shares of the repetitions in per cent. ``n``: mean number of runs or turns per arm."""

    regressed: float
    improved: float
    n: float


def cell(
    case: Case, world: World, effect: float, repetitions: int | None = None, seed: int = SEED
) -> Cell:
    """How often each verdict was given, and after how many runs."""
    many = repetitions or round(REPETITIONS[effect] * case.repetitions)
    found = list(outcomes(case, world, effect, many, seed))
    said = [outcome.verdict for outcome in found]
    return Cell(
        regressed=100 * said.count("regressed") / many,
        improved=100 * said.count("improved") / many,
        n=sum(outcome.n for outcome in found) / many,
    )


def cases_of(effect: float) -> tuple[Case, ...]:
    """The columns of a table."""
    return (*CASES, *ONE_OF_MANY) if effect else CASES


def tables() -> str:
    """The tables of the page: without a change, with 10 % less, 10 % more and 30 % more."""
    jobs = [
        (case, world, effect) for effect in REPETITIONS for world in range(len(WORLDS))
        for case in range(len(cases_of(effect)))
    ]  # fmt: skip
    with ProcessPoolExecutor() as pool:
        cells = iter(list(pool.map(_job, jobs, chunksize=1)))
    parts = []
    for effect in REPETITIONS:
        cases = cases_of(effect)
        rows = [
            f"| {world.name} | {' | '.join(_shown(next(cells)) for _ in cases)} |"
            for world in WORLDS
        ]
        head = f"| {TITLES[effect]} | {' | '.join(case.name for case in cases)} |"
        parts.append("\n".join([head, "|---" * (len(cases) + 1) + "|", *rows, ""]))
    return "\n".join(parts)


TITLES = {
    0.0: "no change: called regressed / improved, % (runs or turns)",
    -0.10: "-10 %: called regressed / improved, %",
    0.10: "+10 %: called regressed / improved, %",
    0.30: "+30 %: called regressed / improved, %",
}


def _job(job: tuple[int, int, float]) -> Cell:
    case, world, effect = job
    return cell(cases_of(effect)[case], WORLDS[world], effect)


def _shown(one: Cell) -> str:
    return f"{one.regressed:.1f} / {one.improved:.1f} ({one.n:.1f})"


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    return page_tables.main(PLACE, tables, __doc__, SEED, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
