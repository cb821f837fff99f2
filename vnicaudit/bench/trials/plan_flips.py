"""Flip a guest by carrying a plan out, and taking it back."""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.bench.trials.order import AFTER
from vnicaudit.errors import ActionError
from vnicaudit.model.plan import Step
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.back import Chosen, rollback
from vnicaudit.remedy.applying.engine import Order, apply
from vnicaudit.remedy.applying.runner import Ended, Tell
from vnicaudit.remedy.applying.sheet import unit_sheets
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.history import unfinished

_NOT_TAKEN_BACK: frozenset[Outcome] = frozenset({"failed", "unfinished", "refused", "not-reached"})


class PlanFlips:
    """The steps of a plan on one domain, and the runs that were made of them. ``text``: the plan's
    file. It is as before when this begins."""

    def __init__(self, steps: Sequence[Step], text: bytes, order: Order, tell: Tell) -> None:
        self._steps = steps
        self._text = text
        self._order = order
        self._tell = tell
        self.applied: Ended | None = None
        """The run that is in effect; None: the guest is as before."""

    def to(self, arm: str) -> None:
        """Apply the steps, or take them back; nothing where it is so already. A run that was left
        in the middle is taken back."""
        if arm == AFTER:
            if self.applied is None:
                self.applied = self._apply()
        elif (run_id := self._in_effect()) is not None:
            self._take_back(run_id)

    def _apply(self) -> Ended:
        done = apply(self._steps, self._text, self._order, self._tell)
        (unit,) = done.run.steps
        if unit.outcome != "applied" or done.stopped:
            raise _failed(done, "applied")
        return done

    def _in_effect(self) -> str | None:
        """The run that is to be taken back."""
        if self.applied is not None:
            return self.applied.run.id
        mine, units = digest(self._text), tuple(unit_sheets(self._steps))
        for found in unfinished(self._order.state):
            run = found.sheet
            if (run.kind, run.plan, run.units) == ("apply", mine, units):
                return run.id
        return None

    def _take_back(self, run_id: str) -> None:
        for done in rollback(run_id, Chosen(), self._order, self._tell):
            if {unit.outcome for unit in done.run.steps} & _NOT_TAKEN_BACK:
                raise _failed(done, "taken back")
        self.applied = None


def _failed(done: Ended, words: str) -> ActionError:
    (unit,) = done.run.steps
    why = unit.message or done.stopped or unit.outcome
    return ActionError(f"{unit.name} could not be {words} (run {done.run.id}): {why}")
