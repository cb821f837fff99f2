"""Readings as they are handed over: packed, and unpacked where something of them is new."""

from __future__ import annotations

from typing import Protocol

import msgspec

from vnicaudit.model.fleet import HostReading, HostStatus


class KeptReading(Protocol):
    """One host's reading (:class:`vnicaudit.fleet.sink.KeptReading`)."""

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""

    @property
    def status(self) -> HostStatus:
        """As of the reading."""

    @property
    def digest(self) -> str:
        """Of all that was judged of it; empty: not known."""

    def reading(self) -> HostReading:
        """The reading itself."""


class Unpacked(msgspec.Struct, frozen=True):
    """One that is in memory."""

    one: HostReading

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""
        return self.one.host.name

    @property
    def status(self) -> HostStatus:
        """As of the reading."""
        return self.one.status

    @property
    def digest(self) -> str:
        """Of all that was judged of it."""
        return self.one.digest

    def reading(self) -> HostReading:
        """The reading itself."""
        return self.one
