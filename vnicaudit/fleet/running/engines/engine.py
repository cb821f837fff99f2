"""The interface of an engine: one attempt to read one host, wherever that runs."""

from __future__ import annotations

from typing import Protocol, TypeVar

from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.report import ReadError

M = TypeVar("M")
"""Items read from a host: what runs there (``Met``), or its definitions."""


class ReadingEngine(Protocol[M]):
    """Reads hosts; called by several threads at once."""

    def attempt(self, host: InventoryHost) -> list[M | ReadError]:
        """Everything that one attempt reads before the host's deadline, with a LostRead if it
        failed. Raises TargetError if no further host can be read."""

    def slots(self, site: str) -> int:
        """The number of hosts of a site that it can read at once now; 0: no limit."""

    def close(self) -> None:
        """Release everything it holds; hosts that are being read are abandoned."""
