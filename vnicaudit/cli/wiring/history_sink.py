"""Stores fleet audits in the history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vnicaudit.cli.output.stderr import tell
from vnicaudit.errors import MissingExtraError

if TYPE_CHECKING:
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.model.fleet import FleetAudit, KeptReading


class HistorySink:
    """Stores whole audits; an audit already stored is left unchanged."""

    def __init__(self, place: HistoryPlace) -> None:
        self._place = place

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> None:
        """Store an audit. Raises UsageError, HistoryError."""
        from vnicaudit.history.history import history_to_write

        with history_to_write(self._place) as history:
            history.take(audit, readings)


def history_sink(place: HistoryPlace, *, is_named: bool, quiet: bool = False) -> HistorySink | None:
    """A sink that stores audits in that place, after checking that it can be written; call this
    before reading hosts. None if a library is missing and the place was not named explicitly
    (``is_named``). Raises UsageError, MissingExtraError, HistoryError."""
    from vnicaudit.history.history import history_to_write

    try:
        with history_to_write(place):
            return HistorySink(place)
    except MissingExtraError as error:
        if is_named:
            raise
        if not quiet:
            tell(f"Note: this audit was not stored in the history: {error}")
        return None
