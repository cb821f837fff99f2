"""A measurement from its first run to its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.base.deadlines import timestamp
from vnicaudit.bench.contract import Guard
from vnicaudit.bench.facts.guards import RailStates, checks_after, states_before, troubles
from vnicaudit.bench.facts.setup import link_changes, setup_of
from vnicaudit.bench.history import StoredMeasurement
from vnicaudit.bench.judging.catastrophe import Question, failure_words, unproven_falls
from vnicaudit.bench.judging.comparing import compare_all
from vnicaudit.bench.judging.stopping import NextRun, Slot, State, blocks, next_step
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.bench.running.collector import Collector, MeasurementTerms
from vnicaudit.bench.running.forecast import Listener
from vnicaudit.bench.running.opening import OpenedArm
from vnicaudit.errors import VnicauditError
from vnicaudit.model.measurement import (
    OWN_TOOL,
    BenchResult,
    BenchRun,
    Comparison,
    Decision,
    Sample,
    Setup,
)

LinkSetups = tuple[Setup, Setup]
"""Setup of the target and of the peer at one moment."""


class Measuring:
    """One measurement, stored as it proceeds. ``begun``: its head, if an interrupted process
    started it; its samples are in ``kept``."""

    def __init__(
        self,
        task: MeasurementTerms,
        kept: StoredMeasurement,
        listener: Listener,
        begun: BenchResult | None = None,
    ) -> None:
        self._terms = task
        self._kept = kept
        self._listener = listener
        self._collector = Collector(task, kept, listener, begun.samples if begun else ())
        self._switch = self._collector.switch
        self._rails = list(begun.guard_rails) if begun else []
        self._paths = {path.name: path for path in begun.paths} if begun else {}
        self._setups = {setup.endpoint: setup for setup in begun.environment} if begun else {}
        self._run = begun.run if begun else _run(task, kept.id)
        self._notes = begun.notes if begun else ()
        self._step = NextRun("go-on")
        self._troubles: tuple[str, ...] = ()

    @property
    def samples(self) -> list[Sample]:
        """All samples so far."""
        return self._collector.samples

    def note_setups(
        self, opened: Sequence[OpenedArm], setups: Sequence[Setup], labels: Mapping[str, str]
    ) -> None:
        """Record the paths, and the facts found at their ends. Facts found there before, in another
        arm, are kept as well. ``labels``: of the target, as found; labels that the user gave, or
        that were recorded before, take precedence."""
        self._run = replace(self._run, labels={**labels, **self._run.labels})
        self._paths.update({each.path.name: each.path for each in opened})
        targets = {each.path.target for each in opened}
        for setup in setups:
            known = self._setups.get(setup.endpoint)
            if known is not None:
                here = setup.endpoint in targets
                self._note_changes(
                    f"at {setup.endpoint}, in {opened[0].path.name}",
                    link_changes(known, setup, changed_here=here),
                )
            self._setups[setup.endpoint] = (
                setup if known is None else _merged(known, setup, opened[0].path.name)
            )
        self._kept.write_head(self.result())

    def _note_changes(self, where: str, changes: Sequence[str]) -> None:
        for text in (f"{where}: {change}" for change in changes):
            if text not in self._notes:
                self._notes += (text,)
                self._listener.says(text)

    def _note_links(self, looks: Sequence[tuple[OpenedArm, LinkSetups]]) -> None:
        """Record differences between the arms of one path, and in the first arm since the start."""
        (first, was), *others = looks
        name = first.path.name
        for setup in was if self._terms.design != "paths" else ():
            known = self._setups.get(setup.endpoint)
            if known is not None:
                changes = link_changes(known, setup, changed_here=False)
                self._note_changes(f"at {setup.endpoint}, during the measurement", changes)
        for other, now in others if self._terms.design == "live-flip" else ():
            for before, after in zip(was, now, strict=True):
                here = before.endpoint == first.ends.target.url
                changes = link_changes(before, after, changed_here=here)
                between = f"between {name} and {other.path.name}"
                self._note_changes(f"at {before.endpoint}, {between}", changes)

    def interleaved(self, opened: Sequence[OpenedArm]) -> BenchResult:
        """Measure all arms, mixed, to the verdict."""
        with self._left_as_found(opened):
            before = self._rail_states_of(opened)
            self._collector.warm_up(opened)
            looks = self._terms.terms.looks
            workloads = [workload.id for workload in self._terms.profile.workloads]
            runs = looks[0] if self._terms.design == "single" else looks[-1]
            self.stretch(opened, blocks(self._terms.arms, workloads, runs, self._terms.seed))
            links: list[tuple[OpenedArm, LinkSetups]] = []
            for each in opened:
                self._switch.arm(each)
                self.check_rails(each, before[_endpoint_and_address(each)])
                links.append((each, _link_setups(each)))
            self._note_links(links)
        return self.conclude()

    def stretch(self, opened: Sequence[OpenedArm], slots: Sequence[Slot]) -> NextRun:
        """Make these runs."""
        arms = {each.path.name: each for each in opened}
        self._step = self._collector.collect(slots, arms, self._judge)
        return self._step

    def stops(self) -> bool:
        """True if an interrupted process had measured enough, and only its conclusion is
        missing."""
        if self.samples:
            self._step = self._judge()
        return self._step.action == "stop"

    def warm_up(self, opened: Sequence[OpenedArm]) -> None:
        """One run in each arm, which is discarded."""
        self._collector.warm_up(opened)

    def rail_states(self, opened: OpenedArm) -> RailStates:
        """The states of the guard rails before the change, to be compared with later."""
        self._listener.prepares(f"checking the guard rails of {opened.path.name}")
        states = states_before(self._guards(), opened.ends, opened.path)
        self._note_troubles(states)
        return states

    def _note_troubles(self, states: RailStates) -> None:
        known = (*self._troubles, *troubles(self._guards(), states))
        self._troubles = tuple(dict.fromkeys(known))

    def check_rails(self, opened: OpenedArm, before: RailStates) -> None:
        """Record the results of the guard rails, replacing earlier ones."""
        self._note_troubles(before)
        self._listener.prepares(f"checking the guard rails of {opened.path.name} again")
        found = checks_after(self._guards(), opened.ends, opened.path, before)
        again = {(rail.name, rail.arm) for rail in found}
        self._rails = [each for each in self._rails if (each.name, each.arm) not in again] + found

    def conclude(self) -> BenchResult:
        """The verdict; stored, without the samples, which are stored already."""
        self._run = replace(self._run, finished=timestamp())
        result = self.result()
        self._kept.write_head(result)
        return result

    def result(self) -> BenchResult:
        """Everything measured so far."""
        terms, paths = self._terms, tuple(self._paths.values())
        compared = compare_all(
            self.samples, terms.profile.workloads, terms.arms, terms.terms, paths
        )
        return BenchResult(
            run=self._run,
            arms=self._terms.arms,
            paths=paths,
            environment=tuple(self._setups.values()),
            workloads=self._terms.profile.workloads,
            samples=tuple(self.samples),
            guard_rails=tuple(self._rails),
            results=compared,
            decision=self._decision(compared),
            notes=self._notes,
        )

    def _decision(self, compared: Sequence[Comparison]) -> Decision | None:
        if len(self._terms.arms) != 2 or self._run.finished is None:
            return None
        workloads, arms = self._terms.profile.workloads, self._terms.arms
        question = Question(workloads, arms[0], arms[1], self._terms.design)
        # several paths may differ as much as they like
        may_fall = self._terms.design not in ("single", "paths")
        decision = decide(
            compared, self._terms.terms,
            guard_rails=self._rails, catastrophe=self._step.catastrophe,
            failures=failure_words(self.samples, workloads, arms[0], arms[1]),
            unproven=unproven_falls(self.samples, question) if may_fall else (),
            troubles=self._troubles,
        )  # fmt: skip
        return replace(decision, reasons=(*decision.reasons, *self._notes))

    def _judge(self) -> NextRun:
        """The next run, or the end of the measurement."""
        state = State(
            samples=self.samples,
            workloads=self._terms.profile.workloads,
            arms=self._terms.arms,
            guard_rails=self._rails,
            paths=tuple(self._paths.values()),
            troubles=self._troubles,
        )
        return next_step(state, self._terms.terms)

    def _guards(self) -> dict[str, Guard]:
        chosen, there = self._terms.profile.guards, self._terms.plugins.guards
        return {name: there[name] for name in (there if chosen is None else chosen)}

    def _rail_states_of(self, opened: Sequence[OpenedArm]) -> dict[tuple[str, str], RailStates]:
        """States of the guard rails before the first run; for two arms with the same target and
        address, those of the first."""
        before: dict[tuple[str, str], RailStates] = {}
        for each in opened:
            if _endpoint_and_address(each) not in before:
                self._switch.arm(each)
                before[_endpoint_and_address(each)] = self.rail_states(each)
        return before

    @contextmanager
    def _left_as_found(self, opened: Sequence[OpenedArm]) -> Iterator[None]:
        """Restore the target however the measurement ends. If that fails too, the original error is
        still the one raised."""
        try:
            yield
        except BaseException:
            try:
                self._switch.back(opened)
            except VnicauditError as error:
                self._listener.says(
                    f"the target could not be restored to its initial state: {error}"
                )
            raise
        self._switch.back(opened)


def _link_setups(opened: OpenedArm) -> LinkSetups:
    target, peer, address = opened.ends.target, opened.ends.peer, opened.ends.address
    return setup_of(target, address), setup_of(peer, towards=address)


def _endpoint_and_address(opened: OpenedArm) -> tuple[str, str]:
    return opened.path.target, opened.path.address


def _merged(first: Setup, later: Setup, arm: str) -> Setup:
    """The setup of both; facts that differ in the later one carry the name of its arm."""
    new = {name: value for name, value in later.facts.items() if first.facts.get(name) != value}
    named = {f"{name} ({arm})" if name in first.facts else name: new[name] for name in new}
    facts = {**first.facts, **named}
    unknown = {name: why for name, why in first.unknown.items() if name not in facts}
    return Setup(first.endpoint, facts, unknown)


def _run(task: MeasurementTerms, run_id: str) -> BenchRun:
    return BenchRun(
        id=run_id,
        started=timestamp(),
        tool=OWN_TOOL,
        version=__version__,
        profile=task.profile.name,
        design=task.design,
        seed=task.seed,
        looks=task.terms.looks,
        alphas=task.terms.alphas,
        labels=task.labels,
        margins=task.terms.margins,
        max_steal=task.profile.max_steal,
        max_cpu_wait=task.profile.max_cpu_wait,
        runs_per_turn=task.terms.runs_per_turn,
    )
