"""Finish or undo the units that a dead process left half done; nothing new is started.

For a service unit or a watchdog: it never asks. A run that a living process is working on is left
alone, as its host is locked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.errors import RefusedError, SilentError, TargetError, UsageError, VnicauditError
from vnicaudit.model.runs import UnitRun
from vnicaudit.remedy.applying.apply import RunContext, hold_plans
from vnicaudit.remedy.applying.history import record, undone_by
from vnicaudit.remedy.applying.host_by_host import open_reachable
from vnicaudit.remedy.applying.journal.past_run import (
    PastRun,
    all_past,
    read_run,
    reread,
    unfinished,
)
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.state import HeldError, StateFolder
from vnicaudit.remedy.applying.kinds import Drivers
from vnicaudit.remedy.applying.runner import Runner, Tell, begin_nothing

_NOT_REACHED = (TargetError, SilentError, RefusedError, UsageError)
"""Errors because of which units cannot be recovered now, while others can: their host does not
answer, must not be contacted, or this program cannot change such units."""


class Recovered(NamedTuple):
    """The result of recovering a run. ``units``: those it had left half done, in their present
    state; ``at_work``: a message if a living process is still working on the run; ``error``: why
    the run, or part of it, could not be recovered; ``damage``: a sentence for each damaged place in
    its folder."""

    run: str
    units: tuple[UnitRun, ...] = ()
    at_work: str = ""
    error: VnicauditError | None = None
    damage: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """True if recovery succeeded and left no unit failed or unfinished."""
        bad = any(unit.outcome in ("failed", "unfinished") for unit in self.units)
        return not bad and self.error is None


def recover(context: RunContext, tell: Tell) -> Iterator[Recovered]:
    """Recover every run that left a unit half done, oldest first, and report the runs that are too
    damaged to tell. ``context``: its limits are replaced by those that each run was started
    with."""
    yield from _untold(context.state)
    for found in reversed(list(unfinished(context.state))):
        if lost := _unrecorded_units(found, context.state):
            yield Recovered(found.request.id, lost)
        units = [unit for unit in found.request.units if found.is_open(unit.key)]
        if units:
            yield _recovered(found, units, context, tell)._replace(damage=found.damage)


def _untold(state: StateFolder) -> Iterator[Recovered]:
    """Runs that are too damaged to be read: nobody can tell which units they left half done."""
    for run_id in state.ids():
        try:
            read_run(state.run(run_id))
        except UsageError as error:
            yield Recovered(run_id, error=error)


def _unrecorded_units(found: PastRun, state: StateFolder) -> tuple[UnitRun, ...]:
    """The units that the run may have changed, and of which only the original is left, unless that
    has been restored since."""
    lost = [unit.key for unit in found.request.units if found.is_lost(unit.key)]
    if not lost:
        return ()
    undone = undone_by(all_past(state))
    shown = zip(found.request.units, record(found).steps, strict=True)
    return tuple(
        one for unit, one in shown
        if unit.key in lost and (found.request.id, unit.key) not in undone
    )  # fmt: skip


def _recovered(
    found: PastRun, units: list[UnitRequest], context: RunContext, tell: Tell
) -> Recovered:
    run, context = found.request.id, context.going_on_with(found.request)
    with ExitStack() as stack:
        drivers = context.drivers(stack)
        try:
            if context.host_by_host:
                hold_plans((found.request.plan, run), context, stack)
            reached, unreached = open_reachable(units, drivers, _NOT_REACHED)
        except HeldError as error:
            return Recovered(run, at_work=str(error))
        except _NOT_REACHED as error:
            return Recovered(run, error=error)
        found = reread(found)  # the locks keep others from changing it now
        keys = [unit.key for unit in reached if found.is_open(unit.key)]
        went = _finished(found, keys, drivers, context, tell) if keys else None
        shown = zip(found.request.units, record(reread(found)).steps, strict=True)
        return Recovered(
            run, tuple(one for unit, one in shown if unit.key in keys), error=went or unreached
        )


def _finished(
    found: PastRun, keys: list[str], drivers: Drivers, context: RunContext, tell: Tell
) -> VnicauditError | None:
    measured = any(found.folder.glob("*.bench"))
    try:
        runner = Runner(found, drivers, begin_nothing, tell, None, context.tell_remaining)
        # too late to measure whether the change helped
        ended = runner.take_back(keys) if measured else runner.finish(keys)
    except VnicauditError as error:
        return error
    return SilentError(ended.stopped) if ended.silent else None
