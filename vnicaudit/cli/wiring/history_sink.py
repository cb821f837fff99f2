"""Stores fleet audits in the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from vnicaudit.base.wording import count
from vnicaudit.cli.output.stderr import tell
from vnicaudit.errors import MissingExtraError
from vnicaudit.history.opening import history_to_write
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.model.fleet import FleetAudit, KeptReading
    from vnicaudit.model.history import StoredAudit


class HistorySink:
    """Stores whole audits; an audit already stored is left unchanged."""

    def __init__(self, place: HistoryPlace) -> None:
        self._place = place

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> None:
        """Store an audit. Raises UsageError, HistoryError."""
        with history_to_write(self._place) as history:
            stored = history.take(audit, readings)
        for note in _notes(stored, audit):
            tell(safe(f"Warning: {note}"))


_NOTABLE = 0.1
"""Part of the known hosts that an inventory may leave out without a word."""


def _notes(stored: StoredAudit, audit: FleetAudit) -> Iterator[str]:
    """Warnings about an audit that was stored: late readings, an inventory with fewer hosts."""
    newer = stored.newest_reading
    if newer is not None:
        read = stored.ok + stored.partial
        yield (
            f"{stored.late:,} of {count(read, 'host')} read late: audit {newer.audit}, started "
            f"{newer.started}, already read them later than this one, started {audit.started}. "
            "These readings were recorded and change nothing in the history. If a clock was wrong "
            f"then, remove that audit: vnicaudit history remove {newer.audit}"
        )
    if stored.dropped > _NOTABLE * stored.hosts_before:
        yield (
            f"this inventory does not have {stored.dropped:,} of the {stored.hosts_before:,} hosts "
            "of the audit before: their findings no longer count in the history, which is not the "
            "same as fixed. To audit a part of a fleet, use --limit; for another fleet, use "
            "another --history"
        )


def history_sink(place: HistoryPlace, *, is_named: bool, quiet: bool = False) -> HistorySink | None:
    """A sink that stores audits in that place, after checking that it can be written; call this
    before reading hosts. None if a library is missing and the place was not named explicitly
    (``is_named``). Raises UsageError, MissingExtraError, HistoryError."""
    try:
        with history_to_write(place):
            return HistorySink(place)
    except MissingExtraError as error:
        if is_named:
            raise
        if not quiet:
            tell(f"Note: this audit was not stored in the history: {error}")
        return None
