"""A measurement from its first run to its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.bench.facts.covariates import Limits
from vnicaudit.bench.guards import names as guards
from vnicaudit.bench.history import Kept, now
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.order import Slot, blocks
from vnicaudit.bench.judging.stopping import State, Step, next_step
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running import rails
from vnicaudit.bench.running.arms import Opened, Switch
from vnicaudit.bench.running.collector import Collector, Work
from vnicaudit.bench.running.listener import Listener
from vnicaudit.errors import VnicauditError
from vnicaudit.model.measurement import (
    BenchResult,
    BenchRun,
    Comparison,
    Decision,
    Design,
    Sample,
    Setup,
)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. ``states``: name -> the command that brings the server into it."""

    profile: Profile
    design: Design
    arms: tuple[str, ...]
    seed: int
    terms: Terms
    limits: Limits = Limits()
    states: dict[str, tuple[str, ...]] = {}
    labels: dict[str, str] = {}


class Measuring:
    """One measurement, kept as it goes on. ``begun``: its head, where an earlier life of the
    program began it; its samples are in ``kept``."""

    def __init__(
        self, task: Task, kept: Kept, listener: Listener, begun: BenchResult | None = None
    ) -> None:
        self._task = task
        self._kept = kept
        self._listener = listener
        self._switch = Switch(task.states)
        work = Work(task.profile, task.limits, self._switch, kept, listener)
        self._collector = Collector(work, begun.samples if begun else ())
        self._rails = list(begun.guard_rails) if begun else []
        self._paths = {path.name: path for path in begun.paths} if begun else {}
        self._setups = {setup.endpoint: setup for setup in begun.environment} if begun else {}
        self._run = begun.run if begun else _run(task, kept.id)
        self._step = Step("go-on")

    @property
    def samples(self) -> list[Sample]:
        """All that were taken so far."""
        return self._collector.samples

    def found(self, opened: Sequence[Opened], setups: Sequence[Setup]) -> None:
        """Note the paths, and what was found at their ends. What was found there before, in
        another arm, stays beside it."""
        self._paths.update({each.arm.path.name: each.arm.path for each in opened})
        for setup in setups:
            known = self._setups.get(setup.endpoint)
            self._setups[setup.endpoint] = (
                setup if known is None else _also(known, setup, opened[0].arm.name)
            )
        self._kept.write_head(self.result())

    def interleaved(self, opened: Sequence[Opened]) -> BenchResult:
        """All arms, mixed; to the verdict."""
        with self._left_as_found(opened):
            before = self._looks_before(opened)
            self._collector.warm_up(opened)
            looks = self._task.terms.looks
            workloads = [workload.id for workload in self._task.profile.workloads]
            runs = looks[0] if self._task.design == "single" else looks[-1]
            self.stretch(opened, blocks(self._task.arms, workloads, runs, self._task.seed))
            for each in opened:
                self._switch.arm(each)
                self.look_after(each, before[_place(each)], shared=_shares(each, opened))
        return self.conclude()

    def stretch(self, opened: Sequence[Opened], slots: Sequence[Slot]) -> Step:
        """Make these runs."""
        arms = {each.arm.name: each for each in opened}
        self._step = self._collector.collect(slots, arms, self._judge)
        return self._step

    def stops(self) -> bool:
        """Whether an earlier life of the program has measured enough: it was ended just then."""
        if self.samples:
            self._step = self._judge()
        return self._step.action == "stop"

    def warm_up(self, opened: Sequence[Opened]) -> None:
        """One run in each that is thrown away."""
        self._collector.warm_up(opened)

    def look_before(self, opened: Opened) -> rails.Kept:
        """What guard rails are to be compared with."""
        return rails.before(self._guards(), opened)

    def look_after(self, opened: Opened, before: rails.Kept, *, shared: bool = False) -> None:
        """Note what became of the guard rails, in the place of what was noted of them before.
        ``shared``: other arms were run on its target meanwhile."""
        found = rails.after(self._guards(), opened, before, shared=shared)
        again = {(rail.name, rail.arm) for rail in found}
        self._rails = [each for each in self._rails if (each.name, each.arm) not in again] + found

    def conclude(self) -> BenchResult:
        """The verdict; kept, without the samples, which are kept already."""
        self._run = replace(self._run, finished=now())
        result = self.result()
        self._kept.write_head(result)
        return result

    def result(self) -> BenchResult:
        """All there is so far."""
        compared = self._compared()
        return BenchResult(
            run=self._run,
            arms=self._task.arms,
            paths=tuple(self._paths.values()),
            environment=tuple(self._setups.values()),
            workloads=self._task.profile.workloads,
            samples=tuple(self.samples),
            guard_rails=tuple(self._rails),
            results=compared,
            decision=self._decision(compared),
        )

    def _compared(self) -> tuple[Comparison, ...]:
        first, *others = self._task.arms
        paths = tuple(self._paths.values())
        return tuple(
            comparison
            for other in others
            for comparison in compare(
                self.samples, self._task.profile.workloads, first, other, self._task.terms, paths
            )
        )

    def _decision(self, compared: Sequence[Comparison]) -> Decision | None:
        if len(self._task.arms) != 2 or self._run.finished is None:
            return None
        return decide(
            compared, self._task.terms,
            guard_rails=self._rails, catastrophe=self._step.catastrophe,
        )  # fmt: skip

    def _judge(self) -> Step:
        """What comes next."""
        state = State(
            samples=self.samples,
            workloads=self._task.profile.workloads,
            arms=self._task.arms,
            guard_rails=self._rails,
            paths=tuple(self._paths.values()),
        )
        return next_step(state, self._task.terms)

    def _guards(self) -> tuple[str, ...]:
        chosen = self._task.profile.guards
        return guards() if chosen is None else chosen

    def _looks_before(self, opened: Sequence[Opened]) -> dict[tuple[str, str], rails.Kept]:
        """Of two arms of one target, the first is how it was."""
        before: dict[tuple[str, str], rails.Kept] = {}
        for each in opened:
            if _place(each) not in before:
                self._switch.arm(each)
                before[_place(each)] = self.look_before(each)
        return before

    @contextmanager
    def _left_as_found(self, opened: Sequence[Opened]) -> Iterator[None]:
        """However it ends. Where that fails too, what ended it is still what is told."""
        try:
            yield
        except BaseException:
            try:
                self._switch.back(opened)
            except VnicauditError as error:
                self._listener.says(f"the target is not as it was found: {error}")
            raise
        self._switch.back(opened)


def _place(opened: Opened) -> tuple[str, str]:
    return opened.arm.path.target, opened.arm.path.address


def _shares(opened: Opened, all_: Sequence[Opened]) -> bool:
    """Whether another arm is of the same target, by whichever of its addresses."""
    targets = [each.arm.path.target.partition("?")[0] for each in all_]
    return targets.count(opened.arm.path.target.partition("?")[0]) > 1


def _also(first: Setup, later: Setup, arm: str) -> Setup:
    """What differs later is named by the arm it was found in."""
    new = {name: value for name, value in later.facts.items() if first.facts.get(name) != value}
    named = {f"{name} ({arm})" if name in first.facts else name: new[name] for name in new}
    facts = {**first.facts, **named}
    unknown = {name: why for name, why in first.unknown.items() if name not in facts}
    return Setup(first.endpoint, facts, unknown)


def _run(task: Task, run_id: str) -> BenchRun:
    return BenchRun(
        id=run_id,
        started=now(),
        tool="vnicaudit",
        version=__version__,
        profile=task.profile.name,
        design=task.design,
        seed=task.seed,
        looks=task.terms.looks,
        alphas=task.terms.alphas,
        labels=task.labels,
        margins=task.terms.margins,
        max_steal=task.limits.steal,
    )
