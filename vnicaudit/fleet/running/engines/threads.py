"""Hosts are read by threads of this process: they wait for libvirt, which releases the GIL."""

from __future__ import annotations

from typing import Generic, TypeVar

from vnicaudit.fleet.running.engines.one_try import ReadHost, one_try
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.live import LiveOptions
from vnicaudit.model.report import ReadError

M = TypeVar("M")


class Threads(Generic[M]):
    """``plain``: options of hosts that have none of their own; ``deadline``: seconds for one try of
    one host."""

    def __init__(self, read: ReadHost[M], plain: LiveOptions, deadline: float) -> None:
        self._read = read
        self._plain = plain
        self._deadline = deadline

    def attempt(self, host: InventoryHost) -> list[M | ReadError]:
        """One try of a host, in this thread."""
        return one_try(self._read, host, self._plain, self._deadline)

    def slots(self, site: str) -> int:
        """0: no limit besides the number of threads."""
        del site
        return 0

    def close(self) -> None:
        """Nothing to release."""
