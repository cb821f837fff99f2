"""Domain by domain: the new NIC is measured beside the old one, and the steps of the plan are
applied if the result supports that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Interface
from typing import Literal, Protocol

from msgspec.structs import replace

from vnicaudit.bench.history import stored_measurement
from vnicaudit.bench.trials.flips import FlippedNic
from vnicaudit.bench.trials.guest_by_guest import (
    Applied,
    Event,
    GuestByGuest,
    GuestMeasured,
    NotChanged,
)
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.bench.trials.shadow import Shadow
from vnicaudit.model.measurement import BenchResult, Decision
from vnicaudit.model.plan import Step
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.runner import Tell
from vnicaudit.remedy.hypervisor import Machine

_DONE: dict[str, Literal["kept", "rolled-back"]] = {
    "applied": "kept",
    "rolled-back": "rolled-back",
}


class Measurement(Protocol):
    """Measures one NIC beside another."""

    def measure(self) -> BenchResult:
        """Measure. Raises RefusedError if that is not possible, EndpointError if an end is lost."""


class MakeMeasurement(Protocol):
    """Makes a measurement, with the arguments of :class:`vnicaudit.bench.trials.shadow.Shadow`."""

    def __call__(
        self, request: TrialRequest, guest: FlippedNic, machine: Machine, goal: bytes,
        address: IPv4Interface, tell: Tell,
    ) -> Measurement: ...  # fmt: skip


class ShadowTrials(GuestByGuest):
    """``address``: the temporary address. Units whose change was started were measured before
    it."""

    def __init__(
        self, steps: Sequence[Step], text: bytes, context: RunContext, trial: TrialRequest,
        address: IPv4Interface, tell: Tell, shadow: MakeMeasurement = Shadow,
    ) -> None:  # fmt: skip
        super().__init__(steps, text, context, trial, tell, "shadow")
        self._address = address
        self._shadow = shadow

    def _unit_events(self, unit: UnitRequest, *, begun: bool) -> Iterator[Event]:
        result = None if begun else self._measured(unit)
        if result is not None:
            yield GuestMeasured(result)
            if result.decision is None or result.decision.action != "keep":
                yield NotChanged(unit.name)
                return
        run = self._applied(unit)
        if result is not None and result.decision is not None:
            (changed,) = run.run.steps
            self._store_decision(result, replace(result.decision, done=_DONE.get(changed.outcome)))
        yield Applied(run)

    def _measured(self, unit: UnitRequest) -> BenchResult | None:
        """The measured guest; None: there is nothing left to change. Raises RefusedError if the
        change cannot be started, or not be measured."""
        with self._host(unit) as host:
            prepared = self._measurable(unit, host)
            if prepared is None:
                return None
            guest = FlippedNic(unit.target, unit.uuid or "", unit.macs[0])
            machine = host.machine(guest.uuid)
            result = self._shadow(
                self._trial, guest, machine, prepared.goal, self._address, self._tell
            ).measure()
        if result.decision is not None and result.decision.action != "keep":
            result = self._store_decision(result, replace(result.decision, action="none"))
        return result

    def _store_decision(self, result: BenchResult, decision: Decision) -> BenchResult:
        """Record the decision in the stored measurement, too."""
        decided = replace(result, decision=decision)
        stored_measurement(self._context.state.path, result.run.id).write_head(decided)
        return decided
