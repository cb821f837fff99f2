"""The journal entries of one unit, and the writing of new ones."""

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
    """The journal of one unit: what was written in an earlier life too. ``journal`` None: of who
    only looks, and does nothing that would have to be noted."""

    def __init__(self, journal: Journal | None, key: str, past: Iterable[Entry] = ()) -> None:
        self._journal = journal
        self._key = key
        self._past = list(past)

    def write(self, event: Event) -> None:
        """Say what is about to be done, or what was seen to be done; on disk when it returns."""
        if self._journal is None:
            raise AssertionError(event)
        self._past.append(self._journal.write(event, self._key))

    def last(self, kind: type[E]) -> E | None:
        """The last event of that kind; None where there is none."""
        found = [one.event for one in self._past if isinstance(one.event, kind)]
        return found[-1] if found else None

    def latest(self, *kinds: type[BaseEvent]) -> Entry | None:
        """The last line of one of these kinds; None where there is none."""
        found = (one for one in reversed(self._past) if isinstance(one.event, kinds))
        return next(found, None)

    def latest_of(self, mac: str, *kinds: type[OfNic]) -> Entry | None:
        """The last line of one of these kinds about that NIC; None where there is none."""
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
    """Notes that are remembered, and not written: of what cannot wait until they can be."""

    def __init__(self, notes: Notes, key: str) -> None:
        super().__init__(None, key, notes.entries())

    def write(self, event: Event) -> None:
        """Remember it."""
        self._past.append(Entry(timestamp(), event, self._key))


def begun_with(transaction: Transaction, unit: UnitRequest) -> Begin:
    """The line that begins a unit with that transaction."""
    return Begin(msgspec.Raw(msgspec.json.encode(transaction)), unit.identity)
