"""Runs of the past, from what they left in the state folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import to_builtins
from msgspec.structs import replace

from vnicaudit.errors import UsageError
from vnicaudit.model.runs import Check, RunRecord, UnitRun
from vnicaudit.remedy.applying.clouds.left import may_be_off
from vnicaudit.remedy.applying.clouds.sets import doubtful
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.journal import NAME, Journal, Text, read_journal
from vnicaudit.remedy.applying.lines import Entry, task_of
from vnicaudit.remedy.applying.recalled import Recalled, sheet_of
from vnicaudit.remedy.applying.sheet import SCHEMA, RunSheet, UnitSheet, write_sheet
from vnicaudit.remedy.applying.state import StateFolder
from vnicaudit.remedy.applying.task import Task
from vnicaudit.text.own_commands import command

TAKEN_BACK = "taken back"
_LOST = "the journal has lost what was done to it; its original is kept, and put back by: "
_BAD = ("failed", "refused", "not-reached")
_BACK = ("applied", "already")
"""How a way back ended that found, or made, all as it was."""


class Past(NamedTuple):
    """A run and all that its journal says. ``ended``: it came to its end, good or bad."""

    folder: Path
    sheet: RunSheet
    entries: tuple[Entry, ...]
    ended: bool
    by_unit: Mapping[str, tuple[Entry, ...]]
    damage: tuple[str, ...] = ()
    """What of the run's folder is damaged: a sentence each, with the file's name."""
    without_lines: frozenset[str] = frozenset()
    """Units of which the journal has lost the lines, and something is kept
    (``recalled.py``)."""

    @property
    def taken_back(self) -> bool:
        """It was ended in the middle, and what was begun of it undone."""
        return any(
            entry.event == "end" and entry.data.get("stopped") == TAKEN_BACK
            for entry in self.entries
        )

    def of(self, key: str) -> tuple[Entry, ...]:
        """The lines about one unit."""
        return self.by_unit.get(key, ())

    def task(self, key: str) -> Task | CloudTask | None:
        """What was to be done to a unit; None: it was not begun."""
        return task_of(self.of(key))

    def done(self, key: str) -> dict[str, Any] | None:
        """How a unit ended; None where it has not."""
        found = [entry.data for entry in self.of(key) if entry.event == "done"]
        return found[-1] if found else None

    def begun(self, key: str) -> bool:
        """Whether anything was done to a unit."""
        return any(entry.event == "begin" for entry in self.of(key))

    def is_open(self, key: str) -> bool:
        """Whether it was left in the middle of a unit."""
        return self.begun(key) and self.done(key) is None

    def is_lost(self, key: str) -> bool:
        """Whether the unit may be changed, and nothing but the kept original is known of it."""
        return key in self.without_lines

    def way_back(self, options: str = "") -> str:
        """The command that takes it back."""
        words = f"rollback {self.sheet.id} {options}".rstrip()
        return command(words, self.folder.parent.parent)

    @property
    def told_lost(self) -> str:
        """What to do about a unit that is lost."""
        return _LOST + self.way_back("--restore")

    @property
    def is_unfinished(self) -> bool:
        """It did not come to its end, or lost the line that says so of a unit."""
        return not self.ended or any(self.is_open(unit.key) for unit in self.sheet.units)


def past(folder: Path) -> Past | None:
    """One run; None where it was ended before anything could be noted of it. Raises UsageError for
    one of which nothing can be told."""
    text = read_journal(folder)
    sheet, damage = sheet_of(folder, text.entries)
    if sheet is None:
        return None
    return _past(folder, sheet, text, damage)


def again(found: Past) -> Past:
    """The run as it is now."""
    return _past(found.folder, found.sheet, read_journal(found.folder))


def shown_now(found: Past) -> RunRecord:
    """The run as it is now, with what others have taken back of it."""
    state = StateFolder(str(found.folder.parent.parent))
    return record(again(found), undone_by(all_past(state)))


def begin_run(state: StateFolder, sheet: RunSheet) -> Past:
    """A new run: its folder, with its sheet in it."""
    folder = state.new()
    sheet = replace(sheet, id=folder.name)
    write_sheet(folder, sheet)
    journal = Journal(folder)
    try:
        journal.write("run", sheet=to_builtins(sheet))
    finally:
        journal.close()
    return _past(folder, sheet, read_journal(folder))


def _past(folder: Path, sheet: RunSheet, text: Text, damage: tuple[str, ...] = ()) -> Past:
    by_unit: dict[str, list[Entry]] = {}
    for entry in text.entries:
        by_unit.setdefault(entry.unit, []).append(entry)
    ended = any(entry.event == "end" for entry in by_unit.get("", ()))
    lost, more = set(), []
    begun = any(entry.event == "run" for entry in by_unit.get("", ()))
    for unit in sheet.units:
        said = by_unit.get(unit.key, ())
        known = Recalled.of(folder, unit, said, sheet, has_beginning=begun)
        by_unit[unit.key] = list(known.entries)
        if known.lost:
            lost.add(unit.key)
        more += [f"{folder / 'definitions'}: {known.damage}"] if known.damage else []
    if (lost or any(by_unit.values())) and not begun and sheet.schema == SCHEMA:
        more.append(f"{folder / NAME}: {text.gone or 'it has lost its beginning'}")
    return Past(
        folder, sheet, text.entries, ended, {key: tuple(of) for key, of in by_unit.items()},
        (*damage, *text.damage, *more), frozenset(lost),
    )  # fmt: skip


def all_past(state: StateFolder) -> Iterator[Past]:
    """Every run of which something can be told, newest first: :func:`damaged` names the others."""
    for run_id in reversed(state.ids()):
        try:
            found = past(state.run(run_id))
        except UsageError:
            continue
        if found is not None:
            yield found


def damaged(state: StateFolder) -> Iterator[str]:
    """What of the runs' folders is damaged, a sentence each that names the file."""
    for run_id in reversed(state.ids()):
        try:
            found = past(state.run(run_id))
        except UsageError as error:
            yield str(error)
        else:
            yield from () if found is None else found.damage


def unfinished(state: StateFolder) -> Iterator[Past]:
    """Those that did not come to their end, newest first."""
    return (found for found in all_past(state) if found.is_unfinished)


def left_off(state: StateFolder) -> frozenset[str]:
    """Ids of servers that the last run on them stopped, and left off though they ran before."""
    off: dict[str, bool] = {}
    for found in all_past(state):
        for unit in found.sheet.units:
            if unit.object == "server" and unit.uuid is not None and found.begun(unit.key):
                off.setdefault(unit.uuid, bool(may_be_off(found.of(unit.key))))
    return frozenset(server_id for server_id, is_off in off.items() if is_off)


def in_doubt(state: StateFolder) -> frozenset[str]:
    """Ids of servers of which the last run that set a property of them does not know whether all of
    it is set."""
    known: dict[str, bool] = {}
    for found in all_past(state):
        for unit in found.sheet.units:
            doubts = doubtful(found.of(unit.key)) if unit.object == "server" else None
            if unit.uuid is not None and doubts is not None:
                known.setdefault(unit.uuid, bool(doubts))
    return frozenset(server_id for server_id, doubt in known.items() if doubt)


def runs(folder: str) -> list[RunRecord]:
    """Every run in a state folder, newest first. Raises UsageError for what cannot be read."""
    found = list(all_past(StateFolder(folder)))
    undone = undone_by(found)
    return [record(one, undone) for one in found]


Undone = Mapping[tuple[str, str], str]
"""A run and a unit of it -> the run that took it back, the last one where several did."""

Parts = Mapping[str, str]
"""A NIC of a unit (its MAC) -> the run that took it back; of what has no NIC the name is empty."""


def undone_by(newest_first: Iterable[Past]) -> Undone:
    """The units of which all was taken back, by one run or by several."""
    found = list(newest_first)
    back = parts_undone(found)
    return {
        (one.sheet.id, unit.key): max(by.values())
        for one in found for unit in one.sheet.units
        if (by := back.get((one.sheet.id, unit.key))) and by.keys() >= set(_parts(unit))
    }  # fmt: skip


def parts_undone(newest_first: Iterable[Past]) -> Mapping[tuple[str, str], Parts]:
    """What runs took back of units of others, NIC by NIC. What was taken back of those holds
    again, and so on: a way back may be taken back, and that as well."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    undoes: dict[str, str] = {}
    seen: set[str] = set()
    for back in reversed(list(newest_first)):
        run = back.sheet
        if run.kind == "rollback":
            if run.plan in seen:  # nothing goes round in circles
                undoes[run.id] = run.plan
            for unit in run.units:
                if (back.done(unit.key) or {}).get("outcome") in _BACK:
                    for part in _parts(unit):
                        _turn(found, undoes, unit.key, part, (run.plan, run.id))
        seen.add(run.id)
    return found


def _parts(unit: UnitSheet) -> tuple[str, ...]:
    return unit.macs or ("",)


def _turn(
    found: dict[tuple[str, str], dict[str, str]], undoes: Mapping[str, str], key: str, part: str,
    ends: tuple[str, str],
) -> None:  # fmt: skip
    """``ends``: what a run did to that part is over, by another. What it had ended holds again, and
    ends what it had ended itself."""
    run, by = ends
    while run:
        found.setdefault((run, key), {})[part] = by
        by = undoes.get(run, "")
        found.get((by, key), {}).pop(part, None)
        run = undoes.get(by, "")


def record(found: Past, undone: Undone | None = None) -> RunRecord:
    """One run, as it is shown. ``undone``: what was taken back of it since."""
    units = tuple(_unit(found, unit, undone or {}) for unit in found.sheet.units)
    ends = [entry for entry in found.entries if entry.event == "end"]
    return RunRecord(
        id=found.sheet.id,
        kind=found.sheet.kind,
        started=found.sheet.started,
        finished=ends[-1].at if ends else None,
        plan=found.sheet.plan,
        mode=found.sheet.mode,
        targets=found.sheet.targets,
        outcome=_outcome(units, ended=found.ended, taken_back=found.taken_back),
        steps=units,
        damage=found.damage,
    )


def _unit(found: Past, unit: UnitSheet, undone: Undone) -> UnitRun:
    done = found.done(unit.key)
    shown = UnitRun(
        unit.name, unit.uuid, unit.file or unit.target, unit.steps, unit.macs, "not-reached",
        kind=unit.kind,
    )  # fmt: skip
    if found.is_lost(unit.key):
        return _with(shown, outcome="unfinished", message=found.told_lost)
    if done is None:
        outcome: Literal["unfinished", "not-reached"] = (
            "unfinished" if found.begun(unit.key) else "not-reached"
        )
        return _with(shown, outcome=outcome, message=may_be_off(found.of(unit.key)))
    checks = tuple(Check(*check) for check in done.get("checks", ()))
    return _with(
        shown,
        outcome=done["outcome"],
        message=done.get("message", ""),
        checks=checks,
        downtime=done.get("downtime"),
        waiting=done["outcome"] == "applied" and _waits(found, unit, undone),
        undone_by=undone.get((found.sheet.id, unit.key)),
    )


def _waits(found: Past, unit: UnitSheet, undone: Undone) -> bool:
    """Whether the guest ran when it was changed, and was left alone with what it had."""
    if not (found.done(unit.key) or {}).get("waits", True):
        return False
    if not unit.guest or (found.sheet.id, unit.key) in undone:
        return False
    task = found.task(unit.key)
    return task is not None and task.active and task.mode == "next-boot"


def _with(unit: UnitRun, **changed: Any) -> UnitRun:

    return replace(unit, **changed)


def _outcome(
    units: Iterable[UnitRun], *, ended: bool, taken_back: bool
) -> Literal["done", "failed", "rolled-back", "unfinished"]:
    outcomes = {unit.outcome for unit in units}
    if not ended or "unfinished" in outcomes:
        return "unfinished"
    if taken_back:
        return "failed" if "failed" in outcomes else "rolled-back"
    if "rolled-back" in outcomes:
        return "rolled-back"
    return "failed" if outcomes & set(_BAD) else "done"
