"""The outcomes of runs, and which of their changes were rolled back since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from vnicaudit.model.runs import RunRecord, UnitRun
from vnicaudit.remedy.applying.journal.events import (
    End,
    Started,
    Starting,
    Stopped,
    Stopping,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.journal_file import Entry, begin_of, seconds_since
from vnicaudit.remedy.applying.journal.past_run import PastRun, all_past
from vnicaudit.remedy.applying.journal.state import StateFolder

# The downtime of guests that a run stopped, as its journal records it.


_POWER = (Stopping, Stopped, Starting, Started)


def may_be_off(entries: Sequence[Entry]) -> str:
    """A hint on starting the guest by hand, if it ran, was stopped by this run and has not been
    seen running since; empty: not needed."""
    begin = begin_of(entries)
    power = [entry.event for entry in entries if isinstance(entry.event, _POWER)]
    if begin is None or not power or isinstance(power[-1], Started):
        return ""
    transaction = begin.common()
    if not transaction.active or not transaction.start:
        return ""
    return f"it was running before and may be off now; to start it by hand: {transaction.start}"


def seconds_off(entries: Sequence[Entry]) -> float:
    """Seconds for which the run had a server off, summed over its stops; 0: it was never seen off
    and running again. A server that was asked to stop and did not is not counted."""
    total, began, off = 0.0, None, False
    for entry in entries:
        if isinstance(entry.event, Stopping):
            began = began or entry
        elif isinstance(entry.event, (Stopped, Starting)):
            off = True
        elif isinstance(entry.event, Started):
            if began is not None and off:
                total += seconds_since(began, entry.at)
            began, off = None, False
    return total


_BAD = ("failed", "refused", "not-reached")
_BACK = ("applied", "already")
"""Outcomes of a rollback that restored the state from before, or found it restored."""


def runs(folder: str) -> list[RunRecord]:
    """Every run in a state folder, newest first. Raises UsageError for a run that cannot be
    read."""
    found = list(all_past(StateFolder(folder)))
    undone = undone_by(found)
    return [record(one, undone) for one in found]


def current_record(now: PastRun) -> RunRecord:
    """The run, with everything that later runs have rolled back of it."""
    others = all_past(StateFolder(str(now.folder.parent.parent)), since=now.folder.name)
    return record(now, undone_by([*others, now]))


Undone = Mapping[tuple[str, str], str]
"""A run and one of its units -> the run that undid it; the last one if there were several."""


def undone_by(newest_first: Iterable[PastRun]) -> Undone:
    """The units that runs rolled back. A rollback may itself be rolled back, and so on; the change
    it had undone then holds again."""
    found: dict[tuple[str, str], str] = {}
    undoes: dict[str, str] = {}
    seen: set[str] = set()
    for back in reversed(list(newest_first)):
        run = back.request
        if run.kind == "rollback":
            if run.plan in seen:  # runs cannot undo each other in a circle
                undoes[run.id] = run.plan
            for unit in run.units:
                done = back.result(unit.key)
                if done is not None and done.outcome in _BACK:
                    _turn(found, undoes, unit.key, (run.plan, run.id))
        seen.add(run.id)
    return found


def _turn(
    found: dict[tuple[str, str], str], undoes: Mapping[str, str], key: str, ends: tuple[str, str]
) -> None:
    """Record ``ends``, a pair of runs: the second has undone what the first did to that unit. If
    the first had undone another run, that run's change holds again, and so on."""
    run, by = ends
    while run:
        found[run, key] = by
        by = undoes.get(run, "")
        found.pop((by, key), None)
        run = undoes.get(by, "")


def record(found: PastRun, undone: Undone | None = None) -> RunRecord:
    """One run, as it is shown. ``undone``: the units that were rolled back since."""
    units = tuple(_unit(found, unit, undone or {}) for unit in found.request.units)
    ends = [one for one in found.of("") if isinstance(one.event, End)]
    return RunRecord(
        id=found.request.id,
        kind=found.request.kind,
        started=found.request.started,
        finished=ends[-1].at if ends else None,
        plan=found.request.plan,
        mode=found.request.mode,
        targets=found.request.targets,
        outcome=_outcome(units, ended=found.has_ended, rolled_back=found.rolled_back),
        steps=units,
        damage=found.damage,
    )


def _unit(found: PastRun, unit: UnitRequest, undone: Undone) -> UnitRun:
    done = found.result(unit.key)
    shown = UnitRun(
        unit.name, unit.uuid, unit.file or unit.target, unit.steps, unit.macs, "not-reached",
        kind=unit.kind,
    )  # fmt: skip
    if found.is_lost(unit.key):
        return replace(shown, outcome="unfinished", message=found.restore_hint)
    if done is None:
        outcome: Literal["unfinished", "not-reached"] = (
            "unfinished" if found.has_begun(unit.key) else "not-reached"
        )
        return replace(shown, outcome=outcome, message=may_be_off(found.of(unit.key)))
    return replace(
        shown,
        outcome=done.outcome,
        message=done.message,
        checks=done.checks,
        downtime=done.downtime,
        codes=done.codes,
        waiting=done.outcome == "applied" and _waits(found, unit, undone),
        undone_by=undone.get((found.request.id, unit.key)),
    )


def _waits(found: PastRun, unit: UnitRequest, undone: Undone) -> bool:
    """True if a running guest was changed only for its next boot, and has neither been rolled back
    nor been found to run with the change."""
    done = found.result(unit.key)
    if done is None or not done.waits:
        return False
    begin = found.begin(unit.key)
    if begin is None or (found.request.id, unit.key) in undone:
        return False
    transaction = begin.common()
    return transaction.active and transaction.mode == "next-boot"


def _outcome(
    units: Iterable[UnitRun], *, ended: bool, rolled_back: bool
) -> Literal["done", "failed", "rolled-back", "unfinished"]:
    outcomes = {unit.outcome for unit in units}
    if not ended or "unfinished" in outcomes:
        return "unfinished"
    if rolled_back:
        return "failed" if "failed" in outcomes else "rolled-back"
    if "rolled-back" in outcomes:
        return "rolled-back"
    return "failed" if outcomes & set(_BAD) else "done"
