"""Hosts are read by this process: its threads wait for libvirt, which lets go of the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vnicaudit.fleet.running.engines.one_try import ReadHost, one_try
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.live import LiveOptions

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met


class Threads:
    """``plain``: options of hosts that have none of their own; ``deadline``: seconds for one try of
    one host."""

    def __init__(self, read: ReadHost, plain: LiveOptions, deadline: float) -> None:
        self._read = read
        self._plain = plain
        self._deadline = deadline

    def attempt(self, host: InventoryHost) -> list[Met]:
        """One try of a host, in this thread."""
        return one_try(self._read, host, self._plain, self._deadline)

    def slots(self, site: str) -> int:
        """As many as there are threads."""
        del site
        return 0

    def close(self) -> None:
        """Nothing is held."""
