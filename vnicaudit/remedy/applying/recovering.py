"""Bring back what a dead process left in the middle: what was begun is finished, nothing is begun.

For a service unit or a watchdog: it never asks. A run that a living process is at work on is left
alone: its host is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.errors import RefusedError, SilentError, TargetError, UsageError, VnicauditError
from vnicaudit.model.runs import UnitRun
from vnicaudit.remedy.applying.engine import Order
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.prepare import Prepared
from vnicaudit.remedy.applying.runner import Runner, Tell
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.state import HeldError, StateFolder
from vnicaudit.remedy.history import Past, again, all_past, past, record, undone_by, unfinished


class Recovered(NamedTuple):
    """What became of a run. ``units``: those that were in the middle, as they are now; ``at_work``:
    a living process is at work on it; ``error``: why it could not be brought back, or not all;
    ``damage``: what of its folder is damaged."""

    run: str
    units: tuple[UnitRun, ...] = ()
    at_work: str = ""
    error: VnicauditError | None = None
    damage: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether nobody is left in the middle."""
        bad = any(unit.outcome in ("failed", "unfinished") for unit in self.units)
        return not bad and self.error is None


def recover(order: Order, tell: Tell) -> Iterator[Recovered]:
    """Every run with something in the middle, the oldest first. ``order``: of its limits, those
    that each run was begun with hold. And those of which nobody can tell whether they have."""
    yield from _untold(order.state)
    for found in reversed(list(unfinished(order.state))):
        if lost := _lost(found, order.state):
            yield Recovered(found.sheet.id, lost)
        units = [unit for unit in found.sheet.units if found.is_open(unit.key)]
        if units:
            yield _recovered(found, units, order, tell)._replace(damage=found.damage)


def _untold(state: StateFolder) -> Iterator[Recovered]:
    """Runs that are too damaged to be read: who was left in the middle by them is not known."""
    for run_id in state.ids():
        try:
            past(state.run(run_id))
        except UsageError as error:
            yield Recovered(run_id, error=error)


def _lost(found: Past, state: StateFolder) -> tuple[UnitRun, ...]:
    """Those that the run may have changed, and of which nothing but the original is left, until
    that is put back."""
    lost = [unit.key for unit in found.sheet.units if found.is_lost(unit.key)]
    if not lost:
        return ()
    undone = undone_by(all_past(state))
    shown = zip(found.sheet.units, record(found).steps, strict=True)
    return tuple(
        one for unit, one in shown
        if unit.key in lost and (found.sheet.id, unit.key) not in undone
    )  # fmt: skip


def _recovered(found: Past, units: list[UnitSheet], order: Order, tell: Tell) -> Recovered:
    run = found.sheet.id
    with ExitStack() as stack:
        hosts = Hosts(order.state, order.deadline, stack, order.reach)
        try:
            reached, unreached = _opened(units, hosts)
        except HeldError as error:
            return Recovered(run, at_work=str(error))
        except (TargetError, RefusedError) as error:
            return Recovered(run, error=error)
        found = again(found)  # nobody is at work on it now
        keys = [unit.key for unit in reached if found.is_open(unit.key)]
        went = _finished(found, keys, hosts, order, tell) if keys else None
        shown = zip(found.sheet.units, record(again(found)).steps, strict=True)
        return Recovered(
            run, tuple(one for unit, one in shown if unit.key in keys), error=went or unreached
        )


def _opened(
    units: list[UnitSheet], hosts: Hosts
) -> tuple[list[UnitSheet], TargetError | RefusedError | None]:
    """Those whose host can be reached, and why the first of the others is not: guests of other
    hosts are not left off for it. Raises what it is where there are none, HeldError at once."""
    reached: list[UnitSheet] = []
    first: TargetError | RefusedError | None = None
    by_target: dict[str, list[UnitSheet]] = {}
    for unit in units:
        by_target.setdefault(unit.target, []).append(unit)
    for there in by_target.values():
        try:
            hosts.open(there)
        except HeldError:
            raise
        except (TargetError, RefusedError) as error:
            first = first or error
        else:
            reached += there
    if first is not None and not reached:
        raise first
    return reached, first


def _finished(
    found: Past, keys: list[str], hosts: Hosts, order: Order, tell: Tell
) -> VnicauditError | None:
    measured = any(found.folder.glob("*.bench"))
    try:
        runner = Runner(found, hosts, _nothing, tell, None, order.tell_left)
        # whether it helps cannot be measured any more
        ended = runner.take_back(keys) if measured else runner.finish(keys)
    except VnicauditError as error:
        return error
    return SilentError(ended.stopped) if ended.silent else None


def _nothing(unit: UnitSheet, hosts: Hosts) -> Prepared:
    """Nothing is begun here."""
    del unit, hosts
    return Prepared(None)
