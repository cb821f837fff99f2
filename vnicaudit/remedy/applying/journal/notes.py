"""The journal's lines about one unit: read them, and write new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from vnicaudit.base.clock import timestamp
from vnicaudit.remedy.applying.journal.events import BaseEvent, Begin, Event, OfNic
from vnicaudit.remedy.applying.journal.journal_file import Journal
from vnicaudit.remedy.applying.journal.journal_line import Entry
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.transaction import Transaction

E = TypeVar("E", bound=BaseEvent)


class Notes:
    """The journal of one unit, including the lines of an interrupted run. ``journal`` is None for
    code that only reads and changes nothing."""

    def __init__(self, journal: Journal | None, key: str, past: Iterable[Entry] = ()) -> None:
        self._journal = journal
        self._key = key
        self._past = list(past)

    def write(self, event: Event) -> None:
        """Record an action that is about to start, or its observed result; on disk when this
        returns."""
        if self._journal is None:
            raise AssertionError(event)
        self._past.append(self._journal.write(event, self._key))

    def last(self, kind: type[E]) -> E | None:
        """The last event of that kind; None if there is none."""
        found = [one.event for one in self._past if isinstance(one.event, kind)]
        return found[-1] if found else None

    def latest(self, *kinds: type[BaseEvent]) -> Entry | None:
        """The last line of one of these kinds; None if there is none."""
        found = (one for one in reversed(self._past) if isinstance(one.event, kinds))
        return next(found, None)

    def latest_of(self, mac: str, *kinds: type[OfNic]) -> Entry | None:
        """The last line of one of these kinds about that NIC; None if there is none."""
        for entry in reversed(self._past):
            if isinstance(entry.event, kinds) and entry.event.mac == mac:
                return entry
        return None

    def entries(self) -> tuple[Entry, ...]:
        """All lines, in order."""
        return tuple(self._past)

    def events_of(self, kind: type[E]) -> Iterator[E]:
        """Every event of that kind, in order."""
        return (one.event for one in self._past if isinstance(one.event, kind))


class UnwrittenNotes(Notes):
    """Notes kept in memory and not written: for actions that cannot wait until the journal can be
    written."""

    def __init__(self, notes: Notes, key: str) -> None:
        super().__init__(None, key, notes.entries())

    def write(self, event: Event) -> None:
        """Remember the event."""
        self._past.append(Entry(timestamp(), event, self._key))


def begun_with(transaction: Transaction, unit: UnitRequest) -> Begin:
    """The line that starts a unit with that transaction."""
    return Begin(msgspec.Raw(msgspec.json.encode(transaction)), unit.identity)
