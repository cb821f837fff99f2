"""A past run: its request, and everything its journal records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Raw
from msgspec.json import encode
from msgspec.structs import replace

from vnicaudit.base.new_file import DEFINITIONS
from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.journal.events import Begin, Done, End, Run
from vnicaudit.remedy.applying.journal.journal_file import NAME, Journal, JournalText, read_journal
from vnicaudit.remedy.applying.journal.journal_line import Entry, begin_of
from vnicaudit.remedy.applying.journal.run_request import RunRequest, write_request
from vnicaudit.remedy.applying.journal.salvage import Salvaged, salvage_request
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.journal.transaction import transaction_of
from vnicaudit.remedy.unit_refusal import UnitRefusedError
from vnicaudit.text.own_commands import command

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
