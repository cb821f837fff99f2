"""The options of a plan."""

from __future__ import annotations

import msgspec

from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.plan import Goal


class PlanOptions(msgspec.Struct, frozen=True):
    """``domains`` (names or UUIDs) and ``macs``: plan only these; empty: all. ``accepted``: names
    of functions that may be lost. ``devices``: vDPA devices or vhost-user sockets, one for each of
    ``macs``. ``unsafe``: also plan changes that may hurt a guest."""

    to: Goal = "virtio"
    domains: frozenset[str] = frozenset()
    macs: tuple[str, ...] = ()
    accepted: frozenset[str] = frozenset()
    devices: tuple[str, ...] = ()
    socket_mode: str = "server"
    unsafe: bool = False
    policy: PolicyTable = PolicyTable()

    def takes(self, name: str, uuid: str | None) -> bool:
        """True if a domain is to be planned."""
        return not self.domains or bool(self.names_of(name, uuid))

    def names_of(self, name: str, uuid: str | None) -> frozenset[str]:
        """The names in ``domains`` that match the domain: its name or its UUID."""
        return frozenset(
            one for one in self.domains if one == name or (uuid and one.lower() == uuid.lower())
        )

    def converts(self, mac: str | None) -> bool:
        """True if a NIC is to be moved to another backend."""
        return self.to != "virtio" and mac in self.macs

    def device(self, mac: str | None) -> str:
        """The device or socket for a NIC; empty if none was given for it."""
        if mac not in self.macs:
            return ""
        place = self.macs.index(mac)
        return self.devices[place] if place < len(self.devices) else ""
