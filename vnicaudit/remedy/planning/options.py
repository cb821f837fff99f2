"""What a plan is asked for."""

from __future__ import annotations

import msgspec

from vnicaudit.audit.settings_keys import PolicyTable
from vnicaudit.model.plan import Goal


class PlanOptions(msgspec.Struct, frozen=True):
    """``domains`` (names or UUIDs) and ``macs``: these only; empty: all. ``accepted``: names of
    functions that may be lost. ``devices``: of vDPA or vhost-user, one for each of ``macs``.
    ``unsafe``: plan also what may hurt a guest."""

    to: Goal = "virtio"
    domains: frozenset[str] = frozenset()
    macs: tuple[str, ...] = ()
    accepted: frozenset[str] = frozenset()
    devices: tuple[str, ...] = ()
    socket_mode: str = "server"
    unsafe: bool = False
    policy: PolicyTable = PolicyTable()

    def takes(self, name: str, uuid: str | None) -> bool:
        """Whether a domain is meant."""
        return not self.domains or bool(self.named(name, uuid))

    def named(self, name: str, uuid: str | None) -> frozenset[str]:
        """Which of ``domains`` name a domain."""
        return frozenset(
            one for one in self.domains if one == name or (uuid and one.lower() == uuid.lower())
        )

    def converts(self, mac: str | None) -> bool:
        """Whether a NIC is to be put on another backend."""
        return self.to != "virtio" and mac in self.macs

    def device(self, mac: str | None) -> str:
        """The device or socket for a NIC; empty where there is none for it."""
        if mac not in self.macs:
            return ""
        place = self.macs.index(mac)
        return self.devices[place] if place < len(self.devices) else ""
