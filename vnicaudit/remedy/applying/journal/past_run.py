"""A past run: its request, and everything its journal records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.files import DEFINITIONS, write_private
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.remedy.applying.journal.events import (
    REQUEST,
    Begin,
    End,
    Result,
    Run,
    RunRequest,
    UnitRequest,
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
from vnicaudit.remedy.replacing import UnitRefusedError
from vnicaudit.text.targets import command

# A unit whose lines are lost, although its definitions were saved, may have been changed: it is not
# mistaken for one that was never started, and its original can be restored.


_MAY_BE_CHANGED = ("applied", "failed")


def _is_lost(
    kept: KeptTexts, unit: UnitRequest, lines: Sequence[Entry], *, has_beginning: bool
) -> bool:
    """True if the unit may have been changed, and no line tells how. An original alone belongs to a
    run that ended before it did anything, or to one whose journal is gone, which is possible if the
    journal has lost its first line (not ``has_beginning``)."""
    if begin_of(lines) is not None:
        return False
    if results := [one.event for one in lines if isinstance(one.event, Result)]:
        return results[-1].outcome in _MAY_BE_CHANGED and kept.has("before")
    if kept.has("settled") or (kept.has("before") and (lines or not has_beginning)):
        return True
    try:  # a file has its planned content; of a domain's, libvirt's own form is saved
        before, goal = kept.get("before", None), kept.get("goal", None)
        return not lines and before != goal and unit.file_holds(goal)
    except RefusedError:  # including SavedTextError
        return False


T = TypeVar("T")

_LOST = "the journal lost the record of this change, but the original is saved; restore it with: "


class PastRun(NamedTuple):
    """A run and everything its journal records."""

    folder: Path
    request: RunRequest
    by_unit: Mapping[str, tuple[Entry, ...]]
    damage: tuple[str, ...] = ()
    """Damage in the run's folder: one sentence for each place, with the file's name."""
    without_lines: frozenset[str] = frozenset()
    """Units whose lines are missing from the journal although something was saved."""

    @property
    def has_ended(self) -> bool:
        """True if it came to its end, good or bad."""
        return any(isinstance(one.event, End) for one in self.of(""))

    @property
    def rolled_back(self) -> bool:
        """True if the run was interrupted, and everything it had started was undone."""
        return any(isinstance(one.event, End) and one.event.rolled_back for one in self.of(""))

    def of(self, key: str) -> tuple[Entry, ...]:
        """The lines about one unit."""
        return self.by_unit.get(key, ())

    def begin(self, key: str) -> Begin | None:
        """The line that started a unit; None: the unit was not started."""
        return begin_of(self.of(key))

    def transaction(self, key: str, kind: type[T]) -> T:
        """The transaction that the unit's driver recorded when it started. Raises RefusedError if
        the unit was not started, SavedTextError if the record is damaged."""
        begin = self.begin(key)
        if begin is None:
            raise UnitRefusedError("it was not started", "not-begun")
        return begin.of(kind)

    def result(self, key: str) -> Result | None:
        """The result of a unit; None if it is not finished."""
        found = [one.event for one in self.of(key) if isinstance(one.event, Result)]
        return found[-1] if found else None

    def has_begun(self, key: str) -> bool:
        """True if the run started to change the unit."""
        return self.begin(key) is not None

    def is_open(self, key: str) -> bool:
        """True if the run started the unit and left it unfinished."""
        return self.has_begun(key) and self.result(key) is None

    def is_lost(self, key: str) -> bool:
        """True if the unit may be changed, and only its saved original is left."""
        return key in self.without_lines

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
    """One run; None if it ended before anything could be recorded. Its request is in the first line
    of its journal, and in a file. Raises UsageError if both are lost: nobody can tell what it was
    to change."""
    path, text = folder / REQUEST, read_journal(folder)
    first = next((one.event for one in text.entries if isinstance(one.event, Run)), None)
    saved, wrong = _saved_request(path)
    if first is not None:
        if saved not in (None, first.request):
            wrong = "damaged: it does not match the journal"
        damage = (f"{path}: {wrong}; the journal's is used",) if wrong else ()
        return _past_run(folder, first.request, text, damage)
    if saved is not None:
        return _past_run(folder, saved, text)
    if not wrong and not text.entries and not any((folder / DEFINITIONS).glob("*")):
        return None
    raise UsageError(
        f"{path}: {wrong or 'it is missing'}, and so is the first line of {NAME}; the original "
        f"definitions are in {folder / DEFINITIONS}"
    )


def _saved_request(path: Path) -> tuple[RunRequest | None, str]:
    """The request in that file, and what is wrong with it; a missing file is nothing wrong."""
    try:
        return json_as(path.read_bytes(), RunRequest), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, error.strerror or str(error)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return None, f"not the request of a run: {error}"


def reread(found: PastRun) -> PastRun:
    """The run, read again."""
    return _past_run(found.folder, found.request, read_journal(found.folder))


def begin_run(state: StateFolder, request: RunRequest) -> PastRun:
    """Create a new run: its folder, with its request in it."""
    folder = state.new()
    request = replace(request, id=folder.name)
    journal = Journal(folder)
    try:
        journal.write(Run(request))
    finally:
        journal.close()
    write_private(folder / REQUEST, msgspec.json.format(msgspec.json.encode(request), indent=1))
    return _past_run(folder, request, read_journal(folder))


def _past_run(
    folder: Path, request: RunRequest, text: JournalText, damage: tuple[str, ...] = ()
) -> PastRun:
    grouped: dict[str, list[Entry]] = {}
    for entry in text.entries:
        grouped.setdefault(entry.unit, []).append(entry)
    by_unit = {key: tuple(lines) for key, lines in grouped.items()}
    damage += text.damage
    begun = any(isinstance(one.event, Run) for one in by_unit.get("", ()))
    for unit in request.units:
        lines = by_unit.get(unit.key, ())
        copy = KeptTexts(folder, unit.key).begin() if begin_of(lines) is None else None
        if copy is not None:
            by_unit[unit.key] = (copy, *lines)
            lost_line = f"the line that started {unit.name} is lost; its copy is used"
            damage += (f"{folder / NAME}: {lost_line}",)
    lost = frozenset(
        unit.key for unit in request.units
        if _is_lost(
            KeptTexts(folder, unit.key), unit, by_unit.get(unit.key, ()), has_beginning=begun
        )
    )  # fmt: skip
    if (lost or by_unit) and not begun:
        damage += (f"{folder / NAME}: {text.gone or 'its beginning is missing'}",)
    return PastRun(folder, request, by_unit, damage, lost)


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


def half_done(state: StateFolder, *, but: str) -> dict[str, set[str]]:
    """The targets on which a run, other than ``but``, left a change half done, or may have; each
    with all targets of such runs. Raises UsageError if a run cannot be read: nobody can tell what
    it left half done."""
    found: dict[str, set[str]] = {}
    for run_id in state.ids():
        if run_id == but or run_id in state.ended:
            continue
        try:
            run = read_past(state, run_id)
        except UsageError:
            if run_id in state.ids():
                raise
            continue  # it was removed meanwhile
        if run is None:
            continue
        for unit in run.request.units:
            if run.is_open(unit.key) or run.is_lost(unit.key):
                found.setdefault(unit.target, set()).update(run.request.targets)
    return found
