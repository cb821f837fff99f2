"""A reading that is in memory, in the place of one that is packed."""

from __future__ import annotations

import msgspec

from vnicaudit.model.fleet import HostReading, HostStatus


class Unpacked(msgspec.Struct, frozen=True):
    """A reading in memory (:class:`vnicaudit.fleet.sink.KeptReading`)."""

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
