"""Check a past run: whether its changes are in effect, and are still as planned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress

from vnicaudit.errors import ActionError, GoneError, RefusedError, TargetError, UsageError
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.driver import UnitState
from vnicaudit.remedy.applying.history import Parts, parts_undone, undone_by
from vnicaudit.remedy.applying.journal.past_run import PastRun, all_past
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.kinds import Drivers


def in_effect(found: PastRun, context: RunContext) -> Iterator[UnitState]:
    """The state of every unit that the run changed, or may have. Nothing is changed."""
    runs = list(all_past(context.state))
    undone, parts = undone_by(runs), parts_undone(runs)
    with ExitStack() as stack:
        drivers = context.drivers(stack, hold=False)
        for unit in found.request.units:
            done = found.done_event(unit.key)
            if back := undone.get((found.request.id, unit.key)):
                yield UnitState(unit.name, "taken-back", f"by run {back}")
            elif found.is_lost(unit.key):
                yield UnitState(unit.name, "unknown", found.restore_hint)
            elif found.is_open(unit.key):
                yield _unfinished(found, _unit(found, unit, drivers))
            elif done is not None and done.outcome == "applied" and found.has_begun(unit.key):
                yield _unit(found, unit, drivers, parts.get((found.request.id, unit.key), {}))


def _unfinished(found: PastRun, seen: UnitState) -> UnitState:
    """The state of a unit whose result the journal does not record: it may not have been
    checked."""
    words = f"the run is unfinished on it: {found.rollback_command()} undoes it"
    if seen.state not in ("in-effect", "waiting"):
        return seen._replace(detail=f"{seen.detail}; {words}")
    now = f"{seen.state}: {seen.detail}" if seen.detail else seen.state
    return seen._replace(state="unknown", detail=f"{words}; its state now: {now}")


def _unit(
    found: PastRun, unit: UnitRequest, drivers: Drivers, back: Parts | None = None
) -> UnitState:
    """The state of a unit. ``back``: its NICs that were rolled back since; they are not checked."""
    begin = found.begin(unit.key)
    if begin is None:
        return UnitState(unit.name, "unknown", "the journal does not record the planned change")
    try:
        drivers.open([unit])
        return drivers.of(unit).verify(unit, begin, back or {})
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
    told = drivers.of(unit).explain(unit, error, begun=False, dry_run=True)
    return UnitState(unit.name, "gone" if told.outcome == "gone" else "moved", told.message)
