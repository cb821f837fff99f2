"""The place that the audits of a fleet are handed to: a history, or whoever else remembers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from vnicaudit.model.fleet import FleetAudit, KeptReading


class ReadingSink(Protocol):
    """Takes whole audits of a fleet."""

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> None:
        """Take an audit, with one reading for each host that was to be read, in the order of the
        inventory; ``audit.finished`` is set. It is handed over again after a crash in between: an
        audit whose id is known is not taken twice. Raises VnicauditError where it cannot be."""
