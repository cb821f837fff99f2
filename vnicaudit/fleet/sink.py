"""The receiver of a fleet's audits: a history, or any other store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from vnicaudit.model.fleet import FleetAudit, KeptReading


class ReadingSink(Protocol):
    """Stores whole audits of a fleet."""

    def take(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> None:
        """Store an audit, with one reading for each host that was to be read, in the order of the
        inventory; ``audit.finished`` is set. After a crash it is called again: an audit with a
        known id is not stored twice. Raises VnicauditError if it cannot be stored."""
