"""Salvage of a run whose journal or request is damaged, from everything else that was saved.

Beside each saved original is its transaction (``KEY.task.json``), written before any change;
``run.json`` has the run's request. So a unit whose lines are lost is checked again, and not
mistaken for one that was never started.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from vnicaudit.base.new_file import DEFINITIONS
from vnicaudit.errors import KeptError, RefusedError, UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.journal.events import Begin, Defined, Done, Run
from vnicaudit.remedy.applying.journal.journal_line import Entry
from vnicaudit.remedy.applying.journal.kept_texts import KeptTexts
from vnicaudit.remedy.applying.journal.run_request import (
    RunRequest,
    UnitIdentity,
    UnitRequest,
    read_request,
)
from vnicaudit.remedy.applying.journal.transaction import Transaction, common_part
from vnicaudit.remedy.digests import digest

_TASK = ".task.json"
_MAY_BE_CHANGED = ("applied", "failed")


class Salvaged(NamedTuple):
    """The lines of a unit, with lines reconstructed from the saved files. ``is_lost``: something
    was saved, but nothing tells what was done to the unit."""

    entries: tuple[Entry, ...]
    is_lost: bool = False
    damage: str = ""

    @classmethod
    def of(
        cls,
        folder: Path,
        unit: UnitRequest,
        entries: Iterable[Entry],
        *,
        has_beginning: bool,
    ) -> Salvaged:
        """Salvage one unit of a run. ``has_beginning``: the journal still has its first line, which
        is written before anything is saved."""
        key = unit.key
        kept = KeptTexts(folder, key)
        lines = [entry for entry in entries if _is_about(entry, unit)]
        begun = any(isinstance(entry.event, Begin) for entry in lines)
        line = None if begun else kept.begin()
        wrong = kept.damage() if begun else "" if line is None else line.wrong
        damage = f"{key}{_TASK} is damaged: {wrong}" if wrong else ""
        if not begun:
            if line is None or line.entry is None or not _is_about(line.entry, unit):
                lost = _is_lost(kept, lines, damage, whole=has_beginning)
                lost = lost or (not lines and _is_replaced(kept, unit))
                return cls(tuple(lines), lost, damage)
            lines.insert(0, line.entry)
        if not any(isinstance(entry.event, Defined) for entry in lines) and kept.has("settled"):
            with suppress(KeptError):
                lines.append(_settled(kept, lines[0]))
        return cls(tuple(sorted(lines, key=_done_last)), damage=damage)


def _is_about(entry: Entry, unit: UnitRequest) -> bool:
    """True unless the line starts another unit, as a file of another name may do."""
    return not isinstance(entry.event, Begin) or entry.event.of == unit.identity


def _is_lost(kept: KeptTexts, lines: Sequence[Entry], damage: str, *, whole: bool) -> bool:
    """True if the unit may have been changed without the journal recording it. An original alone
    belongs to a run that ended before it did anything, or to one whose journal is gone, which is
    possible if the journal has lost its beginning (not ``whole``)."""
    outcomes = [one.event.outcome for one in lines if isinstance(one.event, Done)]
    if outcomes:
        return outcomes[-1] in _MAY_BE_CHANGED and (bool(damage) or kept.has("before"))
    if damage or kept.has("settled"):
        return True
    return kept.has("before") and (not whole or bool(lines))


def _is_replaced(kept: KeptTexts, unit: UnitRequest) -> bool:
    """True if a file has its planned content. False for a domain: the definition that libvirt made
    of the goal is saved instead."""
    try:
        before, goal = kept.get("before", None), kept.get("goal", None)
        return before != goal and unit.file_holds(goal)
    except RefusedError:  # including KeptError
        return False


def _settled(kept: KeptTexts, begin: Entry) -> Entry:
    """A replacement for the lost line about the definition that libvirt made, from the saved text.
    Raises KeptError if that cannot be read."""
    settled = digest(kept.get("settled", None))
    return Entry(begin.at, Defined(settled), begin.unit)


def _done_last(entry: Entry) -> int:
    """Sort key: the unit ended after everything else, including lines reconstructed from files."""
    return int(isinstance(entry.event, Done))


def salvage_request(
    folder: Path, lines: Sequence[Entry]
) -> tuple[RunRequest | None, tuple[str, ...]]:
    """``(request, damage)`` of a run: the request from its journal, else from its file, else from
    its transactions, and a sentence on damage to its file. The request is None if the run ended
    before anything was written. Raises UsageError if the file is damaged and nothing else has the
    request."""
    noted = _recorded_request(lines)
    damage: tuple[str, ...] = ()
    try:
        written = read_request(folder)
    except UsageError as error:
        written, damage = None, (str(error),)
    if noted is not None and written is None and not damage:
        return noted, (f"{folder / 'run.json'}: it is missing",)
    if noted is not None and written not in (None, noted):
        return noted, (f"{folder / 'run.json'}: damaged: it does not match the journal",)
    if written is not None or noted is not None:
        return noted or written, damage
    units = _units(folder)
    if units:
        known = RunRequest(
            folder.name, "apply", "", "", units[0][1], tuple(one for one, _ in units)
        )
        missing = (f"{folder / 'run.json'}: it is missing",)
        return known, damage or missing
    if damage:
        raise UsageError(damage[0])
    return None, ()


def _recorded_request(lines: Sequence[Entry]) -> RunRequest | None:
    for entry in lines:
        if isinstance(entry.event, Run):
            try:
                return json_as(entry.event.request, RunRequest)
            except msgspec.MsgspecError:
                return None
    return None


def _units(folder: Path) -> list[tuple[UnitRequest, Mode]]:
    found = []
    for path in sorted((folder / DEFINITIONS).glob(f"*{_TASK}")):
        line = KeptTexts(folder, path.name.removesuffix(_TASK)).begin()
        begin = None if line is None or line.entry is None else line.entry.event
        if isinstance(begin, Begin):
            noted = common_part(begin)
            found.append((_unit(begin.of, noted), noted.mode))
    return found


def _unit(of: UnitIdentity, noted: Transaction) -> UnitRequest:
    name, steps, macs = noted.name, noted.steps, noted.macs
    return UnitRequest(of.key, name, of.target, steps, macs, of.kind, of.uuid, of.file)
