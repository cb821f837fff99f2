"""Past runs: remove old ones, which can no longer be undone then (``old_runs``, ``remove_runs``);
check whether the changes of one are in effect (``in_effect``); finish or undo what a dead process
left half done (``recover``).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from vnicaudit.base.wording import TIME_ID
from vnicaudit.errors import (
    ActionError,
    GoneError,
    NoResponseError,
    RefusedError,
    TargetError,
    UsageError,
    VnicauditError,
)
from vnicaudit.model.runs import UnitRun, UnitState
from vnicaudit.remedy.applying.apply import RunContext, hold_plans, open_reachable
from vnicaudit.remedy.applying.driver import Drivers
from vnicaudit.remedy.applying.history import record, undone_by
from vnicaudit.remedy.applying.journal.events import UnitRequest
from vnicaudit.remedy.applying.journal.past_run import (
    PastRun,
    all_past,
    read_run,
    reread,
    unfinished,
)
from vnicaudit.remedy.applying.journal.state import HeldError, StateFolder
from vnicaudit.remedy.applying.runner import Tell, begin_nothing

_ASIDE = ".removed-"
"""Prefix of a run's folder that is being removed."""


def old_runs(state: StateFolder, before: datetime) -> list[PastRun]:
    """The runs that ended before a moment, oldest first. Unfinished or damaged runs stay, and so do
    all runs that undo, or are undone by, one that stays: together they tell what is in effect, and
    resuming a rollback needs the run that it undoes."""
    past = list(all_past(state))
    old = {run.request.id: run for run in past if _ended_before(run, before)}
    links = [(run.request.id, run.request.plan) for run in past if run.request.kind == "rollback"]
    staying = _linked(set(state.ids()) - old.keys(), links)
    return [old[run_id] for run_id in sorted(old.keys() - staying)]


def remove_runs(runs: Sequence[PastRun]) -> None:
    """Remove these runs, each before the runs that undo it: wherever this stops, no remaining run
    was undone by a removed one. Raises UsageError if the file system refuses; each run is then
    either complete, or no longer counts as a run (see :func:`remove_leftovers`)."""
    for run in sorted(runs, key=lambda one: one.request.id):  # an undoing run is newer
        aside = run.folder.with_name(f"{_ASIDE}{run.folder.name}")
        try:
            run.folder.rename(aside)
            shutil.rmtree(aside)
        except OSError as error:
            raise _not_removed(run.folder, error) from None


def remove_leftovers(state: StateFolder) -> None:
    """Remove what an interrupted removal left behind: definitions, with passwords in them. Raises
    UsageError if the file system refuses."""
    state.ids()  # raises if another user could change the folder
    for folder in (state.path / "runs").glob(f"{_ASIDE}*"):
        if TIME_ID.fullmatch(folder.name.removeprefix(_ASIDE)):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise _not_removed(folder, error) from None


def _not_removed(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"{error.filename or folder}: {error.strerror or error}")


def _linked(ids: Iterable[str], links: Sequence[tuple[str, str]]) -> set[str]:
    """These ids, and all ids linked with them, directly or through others."""
    found = set(ids)
    while more := {one for link in links if found.intersection(link) for one in link} - found:
        found |= more
    return found


def _ended_before(run: PastRun, before: datetime) -> bool:
    if run.is_unfinished or run.damage:
        return False
    finished = record(run).finished
    return finished is not None and datetime.fromisoformat(finished.replace("Z", "+00:00")) < before


# Check a past run: whether its changes are in effect, and are still as planned.


def in_effect(found: PastRun, context: RunContext) -> Iterator[UnitState]:
    """The state of every unit that the run changed, or may have. Nothing is changed."""
    undone = undone_by(all_past(context.state))
    with ExitStack() as stack:
        drivers = context.drivers(stack, hold=False)
        for unit in found.request.units:
            done = found.result(unit.key)
            if back := undone.get((found.request.id, unit.key)):
                yield UnitState(unit.name, "taken-back", f"by run {back}")
            elif found.is_lost(unit.key):
                yield UnitState(unit.name, "unknown", found.restore_hint)
            elif found.is_open(unit.key):
                yield _unfinished(found, _unit(found, unit, drivers))
            elif done is not None and done.outcome == "applied" and found.has_begun(unit.key):
                yield _unit(found, unit, drivers)


def _unfinished(found: PastRun, seen: UnitState) -> UnitState:
    """The state of a unit whose result the journal does not record: it may not have been
    checked."""
    words = f"the run is unfinished on it: {found.rollback_command()} undoes it"
    if seen.state not in ("in-effect", "waiting"):
        return seen._replace(detail=f"{seen.detail}; {words}")
    now = f"{seen.state}: {seen.detail}" if seen.detail else seen.state
    return seen._replace(state="unknown", detail=f"{words}; its state now: {now}")


def _unit(found: PastRun, unit: UnitRequest, drivers: Drivers) -> UnitState:
    """The state of a unit."""
    begin = found.begin(unit.key)
    if begin is None:
        return UnitState(unit.name, "unknown", "the journal does not record the planned change")
    try:
        drivers.open([unit])
        return drivers.of(unit).present_state(unit, begin)
    except TargetError as error:
        return UnitState(unit.name, "unknown", str(error), unreachable=True)
    except GoneError as error:
        return _gone(found, unit, drivers, error)
    except (ActionError, RefusedError, UsageError) as error:  # or of unknown kind
        return UnitState(unit.name, "unknown", str(error))


def _gone(found: PastRun, unit: UnitRequest, drivers: Drivers, error: GoneError) -> UnitState:
    """The state of a unit that no longer exists at its place: its driver can tell if another place
    of the run has it."""
    for other in found.request.units:
        with suppress(TargetError, ActionError, RefusedError, UsageError):
            drivers.open([other])
    told = drivers.of(unit).result_if_gone(unit, error, begun=False, dry_run=True)
    return UnitState(unit.name, "gone" if told.outcome == "gone" else "moved", told.message)


# Finish or undo the units that a dead process left half done; nothing new is started.
#
# For a service unit or a watchdog: it never asks. A run that a living process is working on is left
# alone, as its host is locked.


_NOT_REACHED = (TargetError, NoResponseError, RefusedError, UsageError)
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
        runner = context.runner(found, drivers, begin_nothing, tell)
        # too late to measure whether the change helped
        ended = runner.roll_back(keys) if measured else runner.finish(keys)
    except VnicauditError as error:
        return error
    return NoResponseError(ended.stopped) if ended.silent else None
