"""Readings as they are handed over: packed, and unpacked where something of them is new."""

from __future__ import annotations

from typing import Protocol

import msgspec

from vnicaudit.model.fleet import HostReading, HostStatus


class KeptReading(Protocol):
    """One host's reading, as in a spool. All but ``reading`` is known without unpacking it."""

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""

    @property
    def status(self) -> HostStatus:
        """Status of the reading."""

    @property
    def digest(self) -> str:
        """Digest of all that was judged of the host; equal ones mean that nothing changed, an empty
        one that it is not known."""

    def reading(self) -> HostReading:
        """The reading itself, unpacked anew each time."""


class Unpacked(msgspec.Struct, frozen=True):
    """A reading that is in memory."""

    host_reading: HostReading

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""
        return self.host_reading.host.name

    @property
    def status(self) -> HostStatus:
        """Status of the reading."""
        return self.host_reading.status

    @property
    def digest(self) -> str:
        """Digest of all that was judged of the host."""
        return self.host_reading.digest

    def reading(self) -> HostReading:
        """The reading itself."""
        return self.host_reading
