"""What is known of a run whose journal, or whose sheet, is damaged: from what else was kept.

Beside each original stands the task that it was kept for (``KEY.task.json``), written before
anything is done; ``run.json`` says what was asked for. So a unit whose lines are gone is looked at
again, and not taken for one that was never begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from vnicaudit.errors import KeptError, RefusedError, UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.files import read
from vnicaudit.remedy.applying.lines import Entry, task_in
from vnicaudit.remedy.applying.means import Definitions
from vnicaudit.remedy.applying.sheet import SCHEMA, RunSheet, UnitSheet, read_sheet
from vnicaudit.remedy.applying.task import Task
from vnicaudit.remedy.digests import digest

_TASK = ".task.json"
_MAY_BE_CHANGED = ("applied", "failed")


class Recalled(NamedTuple):
    """The lines of a unit, with those that what is kept stands for; ``lost``: something is kept,
    and nothing says what was done with it."""

    entries: tuple[Entry, ...]
    lost: bool = False
    damage: str = ""

    @classmethod
    def of(
        cls,
        folder: Path,
        unit: UnitSheet,
        said: Iterable[Entry],
        sheet: RunSheet,
        *,
        has_beginning: bool,
    ) -> Recalled:
        """A unit of a run. ``has_beginning``: the journal's first line is there, which is written
        before anything is kept."""
        key = unit.key
        kept = Definitions(folder, key)
        lines = [entry for entry in said if _is_about(entry, unit)]
        line, damage = kept.begin(), ""
        if line is not None and line.entry is None:
            damage = f"{key}{_TASK} is damaged: {line.wrong}"
        if not any(entry.event == "begin" for entry in lines):
            if line is None or line.entry is None or not _is_about(line.entry, unit):
                whole = has_beginning and sheet.schema == SCHEMA
                lost = _is_lost(kept, lines, damage, whole=whole)
                lost = lost or (not lines and _is_replaced(kept, unit))
                return cls(tuple(lines), lost, damage)
            lines.insert(0, line.entry)
        if not any(entry.event == "defined" for entry in lines) and kept.has("settled"):
            with suppress(KeptError):
                lines.append(_settled(kept, lines[0]))
        return cls(tuple(sorted(lines, key=_done_last)), damage=damage)


def _is_about(entry: Entry, unit: UnitSheet) -> bool:
    """Whether a line that begins a unit begins that one: an old line has no checksum."""
    if entry.event != "begin":
        return True
    task = task_in(entry)
    if isinstance(task, CloudTask):
        this = (task.key, task.object, task.id, task.target)
        return this == (unit.key, unit.object, unit.uuid, unit.target)
    uuid = task.uuid if task.file is None else None
    named = (task.key, uuid, task.target, task.file)
    return unit.object is None and named == (unit.key, unit.uuid, unit.target, unit.file)


def _is_lost(kept: Definitions, lines: Sequence[Entry], damage: str, *, whole: bool) -> bool:
    """Whether something may have been done. Before version 2 no task was kept: an original alone
    may be that of a run that was ended before it did anything, or of one whose journal is gone, as
    it may where the journal has lost its beginning (not ``whole``)."""
    outcomes = [entry.data["outcome"] for entry in lines if entry.event == "done"]
    if outcomes:
        return outcomes[-1] in _MAY_BE_CHANGED and (bool(damage) or kept.has("before"))
    if damage or kept.has("settled"):
        return True
    return kept.has("before") and (not whole or bool(lines))


def _is_replaced(kept: Definitions, unit: UnitSheet) -> bool:
    """Whether a file is what it was to become. Of a domain, what libvirt made of it is kept."""
    if unit.file is None:
        return False
    try:
        before, goal = kept.get("before", None), kept.get("goal", None)
        return before != goal == read(unit.file, len(goal) + 1)
    except RefusedError:  # KeptError, too
        return False


def _settled(kept: Definitions, begin: Entry) -> Entry:
    """What libvirt made of it, where the line that says so is missing."""
    return Entry(begin.at, "defined", begin.unit, {"settled": digest(kept.get("settled", None))})


def _done_last(entry: Entry) -> int:
    """A definition that is known from its file was made before the unit ended."""
    return int(entry.event == "done")


def sheet_of(folder: Path, lines: Sequence[Entry]) -> tuple[RunSheet | None, tuple[str, ...]]:
    """What a run was asked to do, and what is damaged of that: as its journal says, else its file,
    else its tasks. None: it was ended before anything was written down. Raises UsageError where
    something is kept, and nothing says of what."""
    noted = _noted(lines)
    damage: tuple[str, ...] = ()
    try:
        written = read_sheet(folder)
    except UsageError as error:
        written, damage = None, (str(error),)
    if noted is not None and written is None and not damage:
        return noted, (f"{folder / 'run.json'}: it is missing",)
    if noted is not None and written not in (None, noted):
        return noted, (f"{folder / 'run.json'}: damaged: it is not what the journal says",)
    if written is not None or noted is not None:
        return noted or written, damage
    units = _units(folder)
    if units:
        known = RunSheet(folder.name, "apply", "", "", units[0][1], tuple(one for one, _ in units))
        missing = (f"{folder / 'run.json'}: it is missing",)
        return known, damage or missing
    if damage:
        raise UsageError(damage[0])
    return None, ()


def _noted(lines: Sequence[Entry]) -> RunSheet | None:
    for entry in lines:
        if entry.event == "run":
            try:
                return converted(entry.data["sheet"], RunSheet)
            except (msgspec.ValidationError, KeyError):
                return None
    return None


def _units(folder: Path) -> list[tuple[UnitSheet, Mode]]:
    found = []
    for path in sorted((folder / "definitions").glob(f"*{_TASK}")):
        line = Definitions(folder, path.name.removesuffix(_TASK)).begin()
        if line is not None and line.entry is not None:
            task = task_in(line.entry)
            found.append((_unit(task), task.mode))
    return found


def _unit(task: Task | CloudTask) -> UnitSheet:
    macs = tuple(one.mac for one in task.wanted)
    if isinstance(task, CloudTask):
        return UnitSheet(
            task.key, task.name, task.target, task.steps, macs, task.id, object=task.object
        )
    uuid = task.uuid if task.file is None else None
    return UnitSheet(task.key, task.name, task.target, task.steps, macs, uuid, task.file)
