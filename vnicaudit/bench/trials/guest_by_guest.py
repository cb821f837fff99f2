"""Guest by guest: the change is made and undone in turns, and stays if it helps; progress is
reported as it happens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import NamedTuple

from vnicaudit.bench.trials.flips import FlippedNic, Flips, PlanFlips
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.errors import EndpointError, GoneError, MeasureError, RefusedError, UsageError
from vnicaudit.model.measurement import BenchResult, Decision, Design
from vnicaudit.model.plan import Step
from vnicaudit.remedy.applying.apply import RunContext, apply, refuse_concurrent
from vnicaudit.remedy.applying.domains.prepare import prepare
from vnicaudit.remedy.applying.journal.events import Result, UnitRequest
from vnicaudit.remedy.applying.journal.past_run import unfinished
from vnicaudit.remedy.applying.runner import RunResult, Tell
from vnicaudit.remedy.applying.unit_queue import UnitQueue
from vnicaudit.remedy.replacing import check_uri, digest


class GuestMeasured(NamedTuple):
    """A guest was measured."""

    result: BenchResult


class RolledBack(NamedTuple):
    """The change was made for the measurement, and was rolled back."""

    name: str
    decision: Decision


class Applied(NamedTuple):
    """A run of the steps on one guest has ended."""

    run: RunResult


class GuestRefused(NamedTuple):
    """A guest could not be measured or changed, or is gone; that says nothing about the others."""

    name: str
    reason: str


class TrialsStopped(NamedTuple):
    """No further guest is started; ``name``: the first guest that was not reached."""

    name: str
    reason: str


Event = GuestMeasured | RolledBack | Applied | GuestRefused | TrialsStopped


class GuestByGuest:
    """The steps of a plan (``text``: its file), guest by guest: the change is made and undone in
    turns, and stays if it helps. A guest that was left half done is first rolled back, and measured
    again. Raises UsageError if a domain has several NICs in the plan, or is a file."""

    def __init__(
        self, steps: Sequence[Step], text: bytes, context: RunContext, trial: TrialRequest,
        tell: Tell,
    ) -> None:  # fmt: skip
        self._steps = steps
        self._text = text
        self._context = context
        self._trial = trial
        self._tell = tell
        units = context.kinds.units(steps)
        for unit in units:
            if len(unit.macs) != 1 or unit.uuid is None:
                raise UsageError(
                    f"turns are taken with one NIC per domain: {unit.name} has several in the "
                    "plan, or is a file (plan one with vnicaudit plan --nic)"
                )
        self._units = sorted(units, key=lambda one: not self._was_begun(one))
        self._queue = UnitQueue(context.schedule, self._units)

    def run(self) -> Iterator[Event]:
        """Events of the trials, as they happen. Units that an interrupted process started to change
        come first."""
        for unit in self._units:
            begun = self._was_begun(unit)
            if not begun and (reason := self._stop_reason()):
                yield TrialsStopped(unit.name, reason)
                return
            try:
                yield from self._unit_events(unit, begun=begun)
            except (RefusedError, GoneError) as error:
                yield GuestRefused(unit.name, str(error))

    def _unit_events(self, unit: UnitRequest, *, begun: bool) -> Iterator[Event]:
        if not begun and self._is_done(unit):
            yield Applied(self._applied(unit))
            return
        design: Design = "boots" if self._context.mode == "restart" else "flips"
        flips = Flips(self._trial, design, FlippedNic(unit.target, unit.uuid or "", unit.macs[0]))
        steps = self._context.kinds.steps_of(unit, self._steps)
        flipping = PlanFlips(steps, self._text, self._context, self._tell)
        try:
            result = flips.measure(flipping)
        except (EndpointError, MeasureError) as error:
            if flipping.applied is not None:
                raise  # its state has changed
            reason = f"it cannot be measured: {error}"
            self._queue.count(unit, Result("refused", reason))
            yield GuestRefused(unit.name, reason)
            return
        yield GuestMeasured(result)
        decision = result.decision
        if decision is not None and decision.done == "rolled-back":
            self._queue.count(unit, Result("rolled-back", "; ".join(decision.reasons)))
            yield RolledBack(unit.name, decision)
        else:
            self._queue.count(unit, Result("applied", ""))

    def _stop_reason(self) -> str:
        """The reason to stop, as in a run of all guests: its canary and --max-failures apply here,
        too."""
        return self._queue.stop(datetime.now(), self._context.halted)

    def _applied(self, unit: UnitRequest) -> RunResult:
        """Apply the steps on it, and count the result."""
        steps = self._context.kinds.steps_of(unit, self._steps)
        run = apply(steps, self._text, self._context, self._tell)
        for one in run.run.steps:
            self._queue.count(unit, Result(one.outcome, one.message))
        return run

    def _is_done(self, unit: UnitRequest) -> bool:
        """True if there is nothing left to change. Raises RefusedError if the change cannot be
        started, or the guest not be measured. The host is locked against other runs meanwhile."""
        check_uri(unit.target, self._context.reach.trusted)
        adapters, mode = self._context.adapters, self._context.mode
        host = adapters.connect(unit.target, deadline=self._context.deadline)
        with closing(host), self._context.state.lock(host.key, host.name):
            for found in unfinished(self._context.state):
                refuse_concurrent(found, [unit], self._context.kinds)
            steps = self._context.kinds.steps_of(unit, self._steps)
            machine = host.machine(unit.uuid or "")
            prepared = prepare(steps, machine, mode, lambda _text: None, adapters, local=False)
            if prepared.transaction is None:
                return True
            if not host.machine(unit.uuid or "").state().active:
                raise RefusedError(f"{unit.name} is off: it cannot be measured")
            return False

    def _was_begun(self, unit: UnitRequest) -> bool:
        """True if a run of this plan was interrupted in the middle of that domain."""
        plan = digest(self._text)
        return any(
            (found.request.kind, found.request.plan, found.request.units)
            == ("apply", plan, (unit,))
            for found in unfinished(self._context.state)
        )
