"""A past run: its request, and everything its journal records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from vnicaudit.base.files import DEFINITIONS
from vnicaudit.errors import KeptError, RefusedError, UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Defined,
    Done,
    End,
    Run,
    RunRequest,
    Transaction,
    UnitIdentity,
    UnitRequest,
    common_part,
    read_request,
    transaction_of,
    write_request,
)
from vnicaudit.remedy.applying.journal.journal_file import (
    NAME,
    Entry,
    Journal,
    JournalText,
    KeptTexts,
    begin_of,
    read_journal,
)
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.replacing import UnitRefusedError, digest
from vnicaudit.text.diff import command

# Salvage of a run whose journal or request is damaged, from everything else that was saved.
#
# Beside each saved original is its transaction (``KEY.task.json``), written before any change;
# ``run.json`` has the run's request. So a unit whose lines are lost is checked again, and not
# mistaken for one that was never started.


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


T = TypeVar("T")

_LOST = "the journal lost the record of this change, but the original is saved; restore it with: "


class PastRun(NamedTuple):
    """A run and everything its journal records. ``has_ended``: it came to its end, good or bad."""

    folder: Path
    request: RunRequest
    entries: tuple[Entry, ...]
    has_ended: bool
    by_unit: Mapping[str, tuple[Entry, ...]]
    damage: tuple[str, ...] = ()
    """Damage in the run's folder: one sentence for each place, with the file's name."""
    without_lines: frozenset[str] = frozenset()
    """Units whose lines are missing from the journal although something was saved
    (``salvage.py``)."""

    @property
    def taken_back(self) -> bool:
        """True if the run was interrupted, and everything it had started was undone."""
        return any(isinstance(one.event, End) and one.event.taken_back for one in self.entries)

    def of(self, key: str) -> tuple[Entry, ...]:
        """The lines about one unit."""
        return self.by_unit.get(key, ())

    def begin(self, key: str) -> Begin | None:
        """The line that started a unit; None: the unit was not started."""
        return begin_of(self.of(key))

    def transaction(self, key: str, kind: type[T]) -> T:
        """The transaction that the unit's driver recorded when it started. Raises RefusedError if
        the unit was not started, KeptError if the record is damaged."""
        begin = self.begin(key)
        if begin is None:
            raise UnitRefusedError("it was not started", "not-begun")
        return transaction_of(begin, kind)

    def done_event(self, key: str) -> Done | None:
        """The result of a unit; None if it is not finished."""
        found = [one.event for one in self.of(key) if isinstance(one.event, Done)]
        return found[-1] if found else None

    def has_begun(self, key: str) -> bool:
        """True if the run started to change the unit."""
        return any(isinstance(one.event, Begin) for one in self.of(key))

    def is_open(self, key: str) -> bool:
        """True if the run started the unit and left it unfinished."""
        return self.has_begun(key) and self.done_event(key) is None

    def is_lost(self, key: str) -> bool:
        """True if the unit may be changed, and only its saved original is left."""
        return key in self.without_lines

    def gone_on(self, lines: Sequence[Entry]) -> PastRun:
        """The run with more lines, which were added since it was read."""
        by_unit = dict(self.by_unit)
        for entry in lines:
            by_unit[entry.unit] = (*by_unit.get(entry.unit, ()), entry)
        ended = self.has_ended or any(isinstance(entry.event, End) for entry in lines)
        return self._replace(
            entries=(*self.entries, *lines), has_ended=ended, by_unit=by_unit,
            without_lines=self.without_lines - {entry.unit for entry in lines},
        )  # fmt: skip

    def rollback_command(self, options: str = "") -> str:
        """The command that rolls the run back."""
        words = f"rollback {self.request.id} {options}".rstrip()
        return command(words, self.folder.parent.parent)

    @property
    def restore_hint(self) -> str:
        """A sentence on how to restore a unit whose journal lines are lost."""
        return _LOST + self.rollback_command("--restore")

    @property
    def is_unfinished(self) -> bool:
        """True if the run has not ended, or a unit lost the line that says it is finished."""
        return not self.has_ended or any(self.is_open(unit.key) for unit in self.request.units)


def read_run(folder: Path) -> PastRun | None:
    """One run; None if it ended before anything could be recorded. Raises UsageError for a run of
    which nothing can be read."""
    text = read_journal(folder)
    request, damage = salvage_request(folder, text.entries)
    if request is None:
        return None
    return _past_run(folder, request, text, damage)


def reread(found: PastRun) -> PastRun:
    """The run, read again."""
    return _past_run(found.folder, found.request, read_journal(found.folder))


def begin_run(state: StateFolder, request: RunRequest) -> PastRun:
    """Create a new run: its folder, with its request in it."""
    folder = state.new()
    request = replace(request, id=folder.name)
    write_request(folder, request)
    journal = Journal(folder)
    try:
        journal.write(Run(Raw(encode(request))))
    finally:
        journal.close()
    return _past_run(folder, request, read_journal(folder))


def _past_run(
    folder: Path, request: RunRequest, text: JournalText, damage: tuple[str, ...] = ()
) -> PastRun:
    by_unit: dict[str, list[Entry]] = {}
    for entry in text.entries:
        by_unit.setdefault(entry.unit, []).append(entry)
    ended = any(isinstance(one.event, End) for one in by_unit.get("", ()))
    lost, more = set(), []
    begun = any(isinstance(one.event, Run) for one in by_unit.get("", ()))
    for unit in request.units:
        lines = by_unit.get(unit.key, ())
        known = Salvaged.of(folder, unit, lines, has_beginning=begun)
        by_unit[unit.key] = list(known.entries)
        if known.is_lost:
            lost.add(unit.key)
        more += [f"{folder / DEFINITIONS}: {known.damage}"] if known.damage else []
    if (lost or any(by_unit.values())) and not begun:
        more.append(f"{folder / NAME}: {text.gone or 'its beginning is missing'}")
    return PastRun(
        folder, request, text.entries, ended, {key: tuple(of) for key, of in by_unit.items()},
        (*damage, *text.damage, *more), frozenset(lost),
    )  # fmt: skip


def all_past(state: StateFolder, *, since: str = "", unfinished: bool = False) -> Iterator[PastRun]:
    """Every run that can be read, newest first: :func:`damaged` names the others. ``since``: only
    runs later than the run of that id; ``unfinished``: only runs that did not end."""
    for run_id in reversed(state.ids()):
        if run_id <= since:
            return
        if unfinished and run_id in state.ended:
            continue
        try:
            found = read_past(state, run_id)
        except UsageError:
            continue
        if found is not None and not (unfinished and not found.is_unfinished):
            yield found


def read_past(state: StateFolder, run_id: str) -> PastRun | None:
    """A run of the folder, as :func:`read_run` reads it. A run that ended and has lost nothing is
    remembered in the folder object, so that a search for unfinished runs need not read it again."""
    found = read_run(state.run(run_id))
    if found is not None and not found.is_unfinished and not found.without_lines:
        state.ended.add(run_id)
    return found


def damaged(state: StateFolder) -> Iterator[str]:
    """The damage in the folders of all runs: one sentence for each place, with the file's name."""
    for run_id in reversed(state.ids()):
        try:
            found = read_past(state, run_id)
        except UsageError as error:
            yield str(error)
        else:
            yield from () if found is None else found.damage


def unfinished(state: StateFolder) -> Iterator[PastRun]:
    """The runs that did not end, newest first."""
    return all_past(state, unfinished=True)


# The runs of a state folder that did not end.


class UnfinishedRuns:
    """The unfinished runs at the time of each question. A run that has ended and has lost nothing
    is read only once."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state

    def beside(self, run: str) -> Iterator[PastRun]:
        """The unfinished runs that can be read, except the run of that id. Raises UsageError."""
        for run_id in self._other_ids(run):
            found = None
            with suppress(UsageError):
                found = self._read(run_id)
            if found is not None and found.is_unfinished:
                yield found

    def half_done(self, *, but: str) -> dict[str, set[str]]:
        """The targets on which a run, other than ``but``, left a change half done, or may have;
        each with all targets of such runs. Also raises UsageError if a run cannot be read: nobody
        can tell what it left half done."""
        found: dict[str, set[str]] = {}
        for run in filter(None, map(self._read, self._other_ids(but))):
            for unit in run.request.units:
                if run.is_open(unit.key) or run.is_lost(unit.key):
                    found.setdefault(unit.target, set()).update(run.request.targets)
        return found

    def _other_ids(self, run: str) -> list[str]:
        return [run_id for run_id in self._state.ids() if run_id not in {run, *self._state.ended}]

    def _read(self, run_id: str) -> PastRun | None:
        """A run; None if it ended before anything was recorded, or was removed meanwhile. Raises
        UsageError if it cannot be read."""
        try:
            return read_past(self._state, run_id)
        except UsageError:
            if run_id in self._state.ids():
                raise
            return None
