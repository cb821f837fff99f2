"""The contract of an engine: one try of one host, wherever that is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from vnicaudit.model.fleet import InventoryHost

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met


class ReadingEngine(Protocol):
    """Is asked by several threads at once."""

    def attempt(self, host: InventoryHost) -> list[Met]:
        """All that one try brings before the host's deadline, and a LostRead where it failed.
        Raises TargetError where no host can be read any more."""

    def slots(self, site: str) -> int:
        """How many hosts of a site it can read at once now; 0: as many as it is asked for."""

    def close(self) -> None:
        """Let go of all that it holds; hosts that are being read are given up."""
