"""The way back: of a run, of one domain, or of one NIC, newest first.

A run that was left in the middle is first brought to where it began. What is done here is a run of
its own, with the same journal: it can be carried on, and taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

import msgspec

from vnicaudit.errors import UsageError, VnicauditError
from vnicaudit.remedy.applying.engine import Order, look_at, refuse_beside
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.journal import now
from vnicaudit.remedy.applying.prepare import Prepared
from vnicaudit.remedy.applying.restoring import Restore, note_restored, restorable
from vnicaudit.remedy.applying.runner import Ended, Preparing, Runner, Tell
from vnicaudit.remedy.applying.sheet import RunSheet, UnitSheet
from vnicaudit.remedy.applying.task import Wanted
from vnicaudit.remedy.applying.way_back import WayBack
from vnicaudit.remedy.history import (
    TAKEN_BACK,
    Past,
    again,
    begin_run,
    past,
    record,
    unfinished,
)
from vnicaudit.remedy.planning.diffs import unified_diff
from vnicaudit.text.own_commands import command

_CHANGED = ("applied",)


class Chosen(msgspec.Struct, frozen=True):
    """What is to be taken back of a run: all, or some domains (name or UUID), or some NICs (MAC).
    ``over_edits``: also where somebody changed the definition since; of it only the NIC is put
    back then."""

    domains: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    over_edits: bool = False
    restore: bool = False
    """The originals that were kept are put back as a whole, whatever was done since."""

    def takes(self, unit: UnitSheet) -> bool:
        """Whether something of that domain is meant."""
        named = not self.domains or {unit.name, unit.uuid, unit.file} & set(self.domains)
        return bool(named) and (not self.macs or bool(set(self.macs) & set(unit.macs)))

    def of_run(self, found: Past) -> list[UnitSheet]:
        """The units that are meant. Raises UsageError where something is named that the run has
        not: it would be believed to be taken back."""
        units = [unit for unit in found.sheet.units if self.takes(unit)]
        has = {name for unit in units for name in (unit.name, unit.uuid, unit.file, *unit.macs)}
        missing = [name for name in (*self.domains, *self.macs) if name not in has]
        if missing or not units:
            named = f" {missing[0][:200]!r}" if missing else ""
            raise UsageError(
                f"run {found.sheet.id} has no such domain or NIC{named}; "
                f"{command(f'runs {found.sheet.id}', found.folder.parent.parent)}"
            )
        return units

    def of(self, unit: UnitSheet) -> UnitSheet:
        """A unit with the NICs that are meant."""
        macs = tuple(mac for mac in unit.macs if not self.macs or mac in self.macs)
        return msgspec.structs.replace(unit, macs=macs)

    def wanted(self, wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
        """The NICs that are meant."""
        return tuple(one for one in wanted if not self.macs or one.mac in self.macs)


def rollback(run_id: str, chosen: Chosen, order: Order, tell: Tell) -> tuple[Ended, ...]:
    """Take a run back: how the run went where it was in the middle, and how its way back went where
    something of it had been done. Raises UsageError where there is no such run, or nothing of what
    was chosen in it; RefusedError where another run is at work."""
    found = past(order.state.run(run_id))
    if found is None:
        raise UsageError(f"run {run_id} was ended before it did anything")
    units = chosen.of_run(found)
    with ExitStack() as stack:
        hosts = Hosts(order.state, order.deadline, stack, order.reach)
        hosts.open(units)
        found = again(found)  # nobody is at work on it now
        whole = [unit for unit in units if not found.is_open(unit.key)]
        ended = _middle(found, units, hosts, order, tell)
        found = again(found)
        if any(found.is_open(unit.key) for unit in units):
            return ended
        if chosen.restore:
            units = [unit for unit in reversed(units) if restorable(found, unit)]
        else:
            units = [chosen.of(unit) for unit in reversed(whole) if _undoable(found, unit)]
        if not units and chosen.restore:
            raise UsageError(f"no original is kept in {found.folder / 'definitions'}")
        if not units:
            return ended or _nothing_left(found, order)
        sheet = RunSheet("", "rollback", now(), run_id, order.mode, tuple(units), order.limits)
        mine = _unfinished(order, sheet) or begin_run(order.state, sheet)
        back = _preparing(found, chosen, order)
        went = Runner(mine, hosts, back, tell, None, order.tell_left, order.halted).go(
            order.schedule
        )
        if chosen.restore:
            _note_restored(found, units, went)
            return (went,)
        return (*ended, went)


def _middle(
    found: Past, units: Sequence[UnitSheet], hosts: Hosts, order: Order, tell: Tell
) -> tuple[Ended, ...]:
    """Bring what was left in the middle of these units to where it began."""
    if not found.is_unfinished and not any(found.is_lost(unit.key) for unit in units):
        return ()
    sheet = msgspec.structs.replace(found.sheet, limits=order.limits)
    return (
        Runner(found._replace(sheet=sheet), hosts, _nothing, tell, None, order.tell_left).take_back(
            {unit.key for unit in units}
        ),
    )


def _nothing_left(found: Past, order: Order) -> tuple[Ended, ...]:
    """Of a run that was taken back already. Raises UsageError for another."""
    run = record(found)
    if not found.taken_back or run.outcome == "failed":
        shown = order.state.command(f"runs {run.id}")
        raise UsageError(f"there is nothing to take back of it: {shown}")
    return (Ended(run, TAKEN_BACK, taken_back=True),)


def look(
    run_id: str, chosen: Chosen, order: Order, show: Tell | None = None
) -> list[tuple[str, str]]:
    """What :func:`rollback` would do: each domain (or file), and why it would not be begun; empty
    where it would. ``show`` is told each that is put back as a whole, and how its text would
    change. Nothing is changed."""
    found = past(order.state.run(run_id))
    if found is None:
        raise UsageError(f"run {run_id} was ended before it did anything")
    units = chosen.of_run(found)[::-1]
    halves = [(unit.name, "") for unit in units if found.is_open(unit.key)]
    whole = [unit for unit in units if (restorable if chosen.restore else _undoable)(found, unit)]
    with ExitStack() as stack:
        hosts = Hosts(order.state, order.deadline, stack, order.reach, hold=False)
        hosts.open(whole)
        seen = _showing(show) if chosen.restore and show is not None else None
        return halves + look_at(whole, hosts, _preparing(found, chosen, order), seen)


def _showing(show: Tell) -> Callable[[UnitSheet, Prepared], None]:
    def seen(unit: UnitSheet, prepared: Prepared) -> None:
        if prepared.before == prepared.goal:  # of a cloud, or what runs alone is to change
            return
        try:
            text = unified_diff(prepared.before, prepared.goal, unit.name)
        except (VnicauditError, ValueError):
            text = "what is there now cannot be shown as text\n"
        show(unit.name, text)

    return seen


def _preparing(found: Past, chosen: Chosen, order: Order) -> Preparing:
    if not chosen.restore:
        return WayBack(found, chosen, order)
    over_edits = msgspec.structs.replace(chosen, over_edits=True)
    return Restore(found, order.mode, WayBack(found, over_edits, order))


def _note_restored(found: Past, units: Sequence[UnitSheet], went: Ended) -> None:
    back = [one.outcome in ("applied", "already") for one in went.run.steps]
    keys = {unit.key for unit, good in zip(units, back, strict=True) if good}
    lost = {unit.key for unit in found.sheet.units if found.is_lost(unit.key)}
    if lost & keys:
        note_restored(found, lost & keys, went.run.id)


def _nothing(unit: UnitSheet, hosts: Hosts) -> Prepared:
    """Nothing is begun where a run is only taken back."""
    del unit, hosts
    return Prepared(None)


def _undoable(found: Past, unit: UnitSheet) -> bool:
    done = found.done(unit.key)
    if done is None or not found.begun(unit.key):
        return False
    return done["outcome"] in _CHANGED or done.get("undone") is False


def _unfinished(order: Order, sheet: RunSheet) -> Past | None:
    """The way back of this run that did not come to its end. Raises UsageError where it went
    another way, RefusedError where another run is in the middle of one of these domains."""
    for found in unfinished(order.state):
        run = found.sheet
        if (run.kind, run.plan, run.units) == (sheet.kind, sheet.plan, sheet.units):
            if run.mode != sheet.mode:
                raise UsageError(f"run {run.id} is unfinished: give --mode {run.mode}")
            return found._replace(sheet=msgspec.structs.replace(run, limits=order.limits))
        refuse_beside(found, sheet.units)
    return None
