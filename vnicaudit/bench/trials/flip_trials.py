"""Guest by guest: the change is made and undone in turns, and stays if it helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.bench.trials.flips import FlippedNic, Flips, PlanFlips
from vnicaudit.bench.trials.guest_by_guest import (
    Applied,
    Event,
    GuestByGuest,
    GuestMeasured,
    GuestRefused,
    TakenBack,
)
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Design
from vnicaudit.model.plan import Step
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.runner import Tell


class FlipTrials(GuestByGuest):
    """Trials by flips. A guest that was left half done is first rolled back, and measured again."""

    def __init__(
        self, steps: Sequence[Step], text: bytes, context: RunContext, trial: TrialRequest,
        tell: Tell,
    ) -> None:  # fmt: skip
        super().__init__(steps, text, context, trial, tell, "flips")

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
            yield TakenBack(unit.name, decision)
        else:
            self._queue.count(unit, Result("applied", ""))

    def _is_done(self, unit: UnitRequest) -> bool:
        """True if there is nothing left to change. Raises RefusedError if the change cannot be
        started, or not be measured."""
        with self._host(unit) as host:
            return self._measurable(unit, host) is None
