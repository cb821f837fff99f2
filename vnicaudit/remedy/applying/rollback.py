"""Roll back a run, one domain or one NIC, newest change first.

Units that the run left half done are undone first. A rollback is a run of its own, with the same
kind of journal: it can be resumed, and rolled back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, partial

import msgspec

from vnicaudit.base.files import DEFINITIONS
from vnicaudit.errors import NoResponseError, TargetError, UsageError, VnicauditError
from vnicaudit.model.runs import Preview
from vnicaudit.remedy.applying.apply import (
    RunContext,
    dry_run_units,
    hold_plans,
    host_by_host,
    open_locked,
    open_reachable,
    refuse_others,
)
from vnicaudit.remedy.applying.driver import Drivers, Prepared, UndoRequest
from vnicaudit.remedy.applying.history import record, undone_by
from vnicaudit.remedy.applying.journal.events import End, Result, RunRequest, UnitRequest
from vnicaudit.remedy.applying.journal.journal_file import Journal
from vnicaudit.remedy.applying.journal.past_run import (
    PastRun,
    all_past,
    begin_run,
    read_run,
    reread,
    unfinished,
)
from vnicaudit.remedy.applying.journal.state import HeldError
from vnicaudit.remedy.applying.runner import ROLLED_BACK, Preparing, RunResult, Tell, begin_nothing
from vnicaudit.remedy.replacing import unified_diff
from vnicaudit.text.targets import command

_CHANGED = ("applied",)


class RollbackSelection(msgspec.Struct, frozen=True):
    """The part of a run to roll back: all of it, or some domains (name or UUID). ``over_edits``:
    roll back even where somebody edited the definition since; only the NICs are restored then."""

    domains: tuple[str, ...] = ()
    over_edits: bool = False
    restore: bool = False
    """Restore the saved originals as a whole, whatever was changed since."""

    def units_of(self, found: PastRun) -> list[UnitRequest]:
        """The selected units. Raises UsageError if a name matches nothing in the run: the user
        would believe that it was rolled back."""
        names = {unit.key: {unit.name, unit.uuid, unit.file} for unit in found.request.units}
        missing = [one for one in self.domains if not any(one in of for of in names.values())]
        if missing:
            raise UsageError(
                f"run {found.request.id} has no such domain {missing[0][:200]!r}; "
                f"{command(f'runs {found.request.id}', found.folder.parent.parent)}"
            )
        return [
            unit for unit in found.request.units
            if not self.domains or names[unit.key] & set(self.domains)
        ]  # fmt: skip


def rollback(
    run_id: str, selection: RollbackSelection, context: RunContext, tell: Tell
) -> tuple[RunResult, ...]:
    """Roll back a run. Returns the result of undoing the units that it left half done, and the
    result of the rollback itself, each only if there was such work. A unit that fails, or whose
    host cannot be reached, affects no other: no number of failures ends a rollback. Raises
    UsageError if there is no such run, or the selection matches nothing in it; TargetError or
    RefusedError if no host can be reached, or another run is working there."""
    found = _read_begun(run_id, context)
    units = selection.units_of(found)
    context = context.going_on_with(found.request)
    with ExitStack() as stack:
        drivers = context.drivers(stack)
        drivers.check(units)
        if context.host_by_host:
            hold_plans((found.request.plan, run_id), context, stack)
        else:
            open_reachable(units, drivers, (TargetError, NoResponseError, HeldError))
        found = reread(found)  # the locks keep others from changing it now
        closed = [unit for unit in units if not found.is_open(unit.key)]
        ended = _undo_open(found, units, drivers, context, tell)
        found = reread(found) if ended else found
        if selection.restore:
            chosen = [one for one in units if drivers.of(one).can_restore(one, found)][::-1]
            if not chosen:
                raise UsageError(f"there is no saved original in {found.folder / DEFINITIONS}")
            went = _went_back(found, chosen, selection, drivers, context, tell)
            _note_restored(found, chosen, went)
            return (went,)
        chosen = _not_undone(found, closed, selection, context)[::-1]
        if not chosen:
            return ended or _nothing_to_undo(found, context)
        return (*ended, _went_back(found, chosen, selection, drivers, context, tell))


def _read_begun(run_id: str, context: RunContext) -> PastRun:
    found = read_run(context.state.run(run_id))
    if found is None:
        raise UsageError(f"run {run_id} ended before it changed anything")
    return found


def _went_back(
    found: PastRun, units: Sequence[UnitRequest], selection: RollbackSelection, drivers: Drivers,
    context: RunContext, tell: Tell,
) -> RunResult:  # fmt: skip
    """The result of the run that rolls these units back; one that was interrupted is continued."""
    request = context.request("rollback", found.folder.name, units)
    mine = _unfinished(context, request) or begin_run(context.state, request)
    preparing = _preparer(found, selection, context)
    back = host_by_host(preparing, refuse_others(mine, context))
    schedule = msgspec.structs.replace(context.schedule, canary=0, max_failures=len(units))
    result = context.runner(mine, drivers, back, tell).go(schedule)
    if context.host_by_host:
        open_locked(found, drivers, context.state, context.tell_remaining or tell)
    return result


def _undo_open(
    found: PastRun, units: Sequence[UnitRequest], drivers: Drivers, context: RunContext, tell: Tell
) -> tuple[RunResult, ...]:
    """Undo the units among these that were left half done."""
    if not found.is_unfinished and not any(found.is_lost(unit.key) for unit in units):
        return ()
    request = msgspec.structs.replace(found.request, limits=context.limits)
    runner = context.runner(found._replace(request=request), drivers, begin_nothing, tell)
    return (runner.roll_back({unit.key for unit in units}),)


def _nothing_to_undo(found: PastRun, context: RunContext) -> tuple[RunResult, ...]:
    """The result for a run that was interrupted and undone already. Raises UsageError for any other
    run."""
    run = record(found)
    if not found.rolled_back or run.outcome == "failed":
        made = _earlier(found, context)
        words = f"runs {run.id}" if made is None else f"rollback {made}"
        see = "to see the run" if made is None else f"run {made} made the change; to undo it"
        raise UsageError(f"there is nothing to undo; {see}: {context.state.command(words)}")
    return (RunResult(run, ROLLED_BACK, rolled_back=True),)


def _earlier(found: PastRun, context: RunContext) -> str | None:
    """The last run before this one whose change can be undone, if this one found it made
    already."""
    units = [
        unit for unit in found.request.units
        if (done := found.result(unit.key)) is not None and done.outcome == "already"
    ]  # fmt: skip
    earlier = (one for one in all_past(context.state) if one.request.id < found.request.id)
    made = (
        one.request.id for one in earlier
        if one.request.kind == "apply" and any(_undoable(one, unit) for unit in units)
    )  # fmt: skip
    return next(made, None)


def dry_run_rollback(
    run_id: str, selection: RollbackSelection, context: RunContext, show: Tell | None = None
) -> tuple[Preview, ...]:
    """The foreseen outcome of each domain (or file) that :func:`rollback` would change. ``show`` is
    told each unit that would be restored as a whole, with the diff of its text. Nothing is changed.
    Raises UsageError if the run ended before it did anything."""
    found = _read_begun(run_id, context)
    units = selection.units_of(found)[::-1]
    halves = tuple(
        Preview(unit.name, "would-change", steps=unit.steps, place=unit.place)
        for unit in units if found.is_open(unit.key)
    )  # fmt: skip
    context = context.going_on_with(found.request)
    with ExitStack() as stack:
        drivers = context.drivers(stack, hold=False)
        if selection.restore:
            whole = [unit for unit in units if drivers.of(unit).can_restore(unit, found)]
        else:
            whole = _not_undone(found, units, selection, context)
        seen = partial(_show_diff, show) if selection.restore and show is not None else None
        back = host_by_host(_preparer(found, selection, context))
        drivers.check(units)
        if not context.host_by_host:
            open_reachable(units, drivers, (TargetError, NoResponseError))
        return halves + dry_run_units(whole, drivers, back, seen)


def _show_diff(show: Tell, unit: UnitRequest, prepared: Prepared) -> None:
    if prepared.before == prepared.goal:  # no text is to change
        return
    try:
        text = unified_diff(prepared.before, prepared.goal, unit.name)
    except (VnicauditError, ValueError):
        text = "the present content cannot be shown as text\n"
    show(unit.name, text)


def _preparer(found: PastRun, selection: RollbackSelection, context: RunContext) -> Preparing:
    @cache
    def since() -> tuple[PastRun, ...]:
        """The run, and the runs that have rolled back part of it since, read once."""
        past, mine = all_past(context.state), ("rollback", found.request.id)
        return found, *(one for one in past if (one.request.kind, one.request.plan) == mine)

    over_edits = selection.over_edits or selection.restore
    request = UndoRequest(context.mode, found, since, over_edits)

    def preparing(unit: UnitRequest, drivers: Drivers) -> Prepared:
        driver = drivers.of(unit)
        prepare = driver.prepare_restore if selection.restore else driver.prepare_undo
        return prepare(unit, request)

    return preparing


def _note_restored(found: PastRun, units: Sequence[UnitRequest], went: RunResult) -> None:
    """Record in a run whose journal had lost units that their originals were restored."""
    back = [one.outcome in ("applied", "already") for one in went.run.steps]
    keys = {unit.key for unit, good in zip(units, back, strict=True) if good}
    lost = {unit.key for unit in found.request.units if found.is_lost(unit.key)}
    if not lost & keys:
        return
    journal, run = Journal(found.folder), went.run.id
    try:
        for key in sorted(lost & keys):
            journal.write(Result("rolled-back", f"its original was restored by run {run}"), key)
        if not found.has_ended:
            journal.write(End(f"its originals were restored by run {run}"))
        journal.sync()
    finally:
        journal.close()


def _not_undone(
    found: PastRun, units: Sequence[UnitRequest], selection: RollbackSelection, context: RunContext
) -> list[UnitRequest]:
    """The units that still need to be rolled back. For a fleet's run, units that an earlier
    rollback restored are left out, to spare their guests another restart, unless units are named or
    nothing else is left."""
    units = [unit for unit in units if _undoable(found, unit)]
    if not context.host_by_host or selection.domains:
        return units
    mine = found.request.id
    ended = (
        one for one in all_past(context.state)
        if one.request.id == mine or not one.is_unfinished  # the run's own, which is being resumed
    )  # fmt: skip
    undone = undone_by(ended)
    return [unit for unit in units if (mine, unit.key) not in undone] or units


def _undoable(found: PastRun, unit: UnitRequest) -> bool:
    done = found.result(unit.key)
    if done is None or not found.has_begun(unit.key):
        return False
    return done.outcome in _CHANGED or not done.undone


def _unfinished(context: RunContext, request: RunRequest) -> PastRun | None:
    """The unfinished rollback of this run. Raises UsageError if it used another mode."""
    for found in unfinished(context.state):
        run = found.request
        if (run.kind, run.plan, run.units) == (request.kind, request.plan, request.units):
            if run.mode != request.mode:
                raise UsageError(f"run {run.id} is unfinished: use --mode {run.mode}")
            return found._replace(request=msgspec.structs.replace(run, limits=context.limits))
    return None
