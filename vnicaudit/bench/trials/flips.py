"""Many flips: the change is made and undone repeatedly, in turns, by applying a plan and rolling it
back.

Each flip is a run of its own, journalled and verified, with its own rollback; with restarts, each
is a boot, and the difference between boots is then part of the noise and not of the effect.

An arm that looks broken is left at once: only the other one, measured right then, can show if the
change is to blame, and the guest must not stay in the broken one meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby
from typing import Literal, NamedTuple, Protocol

from msgspec.structs import replace

from vnicaudit.bench import history
from vnicaudit.bench.facts.guards import RailStates
from vnicaudit.bench.history import StoredMeasurement
from vnicaudit.bench.judging.stopping import NextRun, Slot, turns
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.measuring import Measuring
from vnicaudit.bench.running.opening import OpenedArm, OpenedEndpoints
from vnicaudit.bench.running.run import reporting_where_stored
from vnicaudit.bench.trials.request import AFTER, BEFORE, TrialRequest, trial_terms
from vnicaudit.errors import ActionError, VnicauditError
from vnicaudit.model.measurement import BenchResult, Decision, Design
from vnicaudit.model.plan import Step
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.apply import RunContext, apply
from vnicaudit.remedy.applying.journal.past_run import unfinished
from vnicaudit.remedy.applying.rollback import RollbackSelection, rollback
from vnicaudit.remedy.applying.runner import RunResult, Tell
from vnicaudit.remedy.replacing import digest


class Flipping(Protocol):
    """Switches one guest between the two states."""

    def to(self, arm: str) -> None:
        """Switch the guest to the state before, or after. Raises VnicauditError if that fails: the
        guest is then as before, as far as the message says."""


class FlippedNic(NamedTuple):
    """The NIC that is flipped, of one guest. ``uri``: the libvirt URI of its host."""

    uri: str
    uuid: str
    mac: str


class Flips:
    """One measurement of one NIC of one guest."""

    def __init__(self, request: TrialRequest, design: Design, guest: FlippedNic) -> None:
        self._request = request
        self._design = design
        self._path = request.path_into(guest.uri, guest.uuid, request.peer)
        self._mac = guest.mac
        self._rails: RailStates = {}
        self._last = ""
        self._found: set[str] = set()
        self._said: set[str] = set()

    def measure(self, flipping: Flipping) -> BenchResult:
        """Flip and measure until it is decided. The guest is left as the decision says, or as it
        was before if there is none (an error, an interruption)."""
        kept = history.new_measurement(self._request.state)
        with reporting_where_stored(kept, self._request.listener):
            measuring = self._begin(kept)
            try:
                take_turns(
                    measuring,
                    visits_of(self._terms()),
                    lambda arm, slots: self._visit(measuring, flipping, arm, slots),
                )
                result = measuring.conclude()
            except BaseException:
                self._give_back(flipping)
                raise
            return self._finished(flipping, result, kept)

    def _finished(
        self, flipping: Flipping, result: BenchResult, kept: StoredMeasurement
    ) -> BenchResult:
        """Put the guest in the decided state, and record that."""
        decision = result.decision
        if decision is None:  # two arms are always judged
            flipping.to(BEFORE)
            return result
        keep = decision.action == "keep"
        try:
            flipping.to(AFTER if keep else BEFORE)
        except BaseException:
            if keep:
                self._give_back(flipping)
            else:
                with suppress(VnicauditError):
                    kept.write_head(_with_done(result, decision, "not-rolled-back"))
            raise
        result = _with_done(result, decision, "kept" if keep else "rolled-back")
        kept.write_head(result)
        return result

    def _give_back(self, flipping: Flipping) -> None:
        """Restore the state before. If that fails too, the original error is still the one
        raised."""
        try:
            flipping.to(BEFORE)
        except VnicauditError as error:
            self._request.listener.says(f"the guest is not as it was before: {error}")

    def _visit(
        self, measuring: Measuring, flipping: Flipping, arm: str, slots: list[Slot]
    ) -> NextRun:
        """All runs between two changes. A turn is a plug, or a boot, of its own."""
        if arm == self._last:
            flipping.to(AFTER if arm == BEFORE else BEFORE)
        flipping.to(arm)
        self._last = arm
        with ExitStack() as stack:
            opened = self._open(stack, measuring, arm)
            measuring.warm_up([opened])
            step = measuring.stretch([opened], slots)
            measuring.check_rails(opened, self._rails)
        return step

    def _begin(self, kept: StoredMeasurement) -> Measuring:
        """The state of the guest before the first flip; checks that all tools are there, and
        settles which of them measure both arms."""
        with ExitStack() as stack:
            places, opened = self._opened(stack, BEFORE)
            self._request.prepare(opened)
            measuring = Measuring(self._terms(), kept, self._request.listener)
            self._note(measuring, places, opened)
            self._rails = measuring.rail_states(opened)
        return measuring

    def _open(self, stack: ExitStack, measuring: Measuring, arm: str) -> OpenedArm:
        places, opened = self._opened(stack, arm)
        self._note(measuring, places, opened)
        return opened

    def _opened(self, stack: ExitStack, arm: str) -> tuple[OpenedEndpoints, OpenedArm]:
        places = self._request.places(stack, self._say_once)
        self._request.listener.prepares(f"connecting to the guest of {self._mac}, {arm}")
        return places, places.open(self._path, self._request.profile, self._mac).renamed(arm)

    def _say_once(self, text: str) -> None:
        """Report each fact about an end once: it is the same in every turn."""
        if text not in self._said:
            self._said.add(text)
            self._request.listener.says(text)

    def _note(self, measuring: Measuring, places: OpenedEndpoints, opened: OpenedArm) -> None:
        """Record the facts of an arm, the first time."""
        arm = opened.path.name
        if arm not in self._found:  # recorded facts do not change any more
            places.require([opened], self._request.profile.workloads)
            measuring.note_setups([opened], places.setups([opened]), places.labels([opened]))
            self._found.add(arm)

    def _terms(self) -> MeasurementTerms:
        return trial_terms(self._request, self._design)


def _with_done(
    result: BenchResult, decision: Decision, done: Literal["kept", "rolled-back", "not-rolled-back"]
) -> BenchResult:
    return replace(result, decision=replace(decision, done=done))


Visit = tuple[str, list[Slot]]
"""An arm, and its runs between two changes."""


def visits_of(task: MeasurementTerms) -> list[Visit]:
    """All visits of a measurement, in order."""
    terms, names = task.terms, [workload.id for workload in task.profile.workloads]
    slots = turns(task.arms, names, terms.looks[-1], task.seed, terms.runs_per_turn)
    groups = groupby(slots, key=lambda slot: (slot.arm, slot.block // terms.runs_per_turn))
    return [(arm, list(group)) for (arm, _turn), group in groups]


def take_turns(
    measuring: Measuring, visits: Sequence[Visit], visit: Callable[[str, list[Slot]], NextRun]
) -> None:
    """Make all visits, or as many as are needed. ``visit``: makes one."""
    left = list(visits)
    while left:
        (arm, slots), *left = left
        step = visit(arm, slots)
        if step.action == "stop":
            return
        if step.action == "away":
            last = measuring.samples[-1]
            at = [(slot.block, slot.workload) for slot in slots].index((last.block, last.workload))
            left = others_first(arm, slots[at + 1 :], left)


def others_first(arm: str, rest: list[Slot], visits: Sequence[Visit]) -> list[Visit]:
    """The remaining visits after one of ``arm`` was cut short: the next one of the other arm first,
    then the ``rest`` of this one. Without another arm, all as they were."""
    mine = [(arm, rest)] if rest else []
    at = next((place for place, (other, _slots) in enumerate(visits) if other != arm), None)
    if at is None:
        return [*mine, *visits]
    return [visits[at], *mine, *visits[:at], *visits[at + 1 :]]


_NOT_TAKEN_BACK: frozenset[Outcome] = frozenset({"failed", "unfinished", "refused", "not-reached"})


class PlanFlips:
    """The steps of a plan on one domain, and the runs that applied or undid them. ``text``: the
    plan's file. The guest is in its state before at the start."""

    def __init__(self, steps: Sequence[Step], text: bytes, context: RunContext, tell: Tell) -> None:
        self._steps = steps
        self._text = text
        self._context = context
        self._tell = _once(tell)
        self.applied: RunResult | None = None
        """The run that is in effect; None: the guest is as before."""

    def to(self, arm: str) -> None:
        """Apply the steps, or roll them back; does nothing if the guest is in that state already. A
        run that was left half done is rolled back."""
        if arm == AFTER:
            if self.applied is None:
                self.applied = self._apply()
        elif (run_id := self._in_effect()) is not None:
            self._take_back(run_id)

    def _apply(self) -> RunResult:
        done = apply(self._steps, self._text, self._context, self._tell)
        (unit,) = done.run.steps
        if unit.outcome != "applied" or done.stopped:
            raise _failed(done, "applied")
        return done

    def _in_effect(self) -> str | None:
        """The run that is to be rolled back."""
        if self.applied is not None:
            return self.applied.run.id
        mine, units = digest(self._text), tuple(self._context.kinds.units(self._steps))
        for found in unfinished(self._context.state):
            run = found.request
            if (run.kind, run.plan, run.units) == ("apply", mine, units):
                return run.id
        return None

    def _take_back(self, run_id: str) -> None:
        for done in rollback(run_id, RollbackSelection(), self._context, self._tell):
            if {unit.outcome for unit in done.run.steps} & _NOT_TAKEN_BACK:
                raise _failed(done, "rolled back")
        self.applied = None


def _once(tell: Tell) -> Tell:
    """Leaves out the details of an outcome that were told before: they come with every flip."""
    told: set[tuple[str, str]] = set()

    def tell_once(name: str, text: str) -> None:
        outcome, colon, _ = text.partition(": ")
        known = bool(colon) and (name, text) in told
        told.add((name, text))
        tell(name, outcome if known else text)

    return tell_once


def _failed(done: RunResult, words: str) -> ActionError:
    (unit,) = done.run.steps
    why = unit.message or done.stopped or unit.outcome
    return ActionError(f"{unit.name} could not be {words} (run {done.run.id}): {why}")
