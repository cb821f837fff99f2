"""State of a domain that libvirt manages, which decides whether it may be changed now."""

from __future__ import annotations

from typing import Literal

import msgspec

PowerPhase = Literal["off", "running", "paused", "shutting-down", "suspended", "crashed"]
"""Power state of a domain; ``crashed``: its QEMU process still exists."""


class MachineState(msgspec.Struct, frozen=True):
    """State of a domain to be changed, as reported by libvirt."""

    phase: PowerPhase
    persistent: bool
    managed_save: bool
    memory_snapshots: int
    job: bool
    """A job is running: a migration, a backup, a save."""
    migrating: bool

    @property
    def active(self) -> bool:
        """True if it has a QEMU process."""
        return self.phase != "off"


class Traffic(msgspec.Struct, frozen=True):
    """Packets of one NIC since its tap was created, as seen from the guest."""

    received: int
    sent: int


class GuestInterface(msgspec.Struct, frozen=True):
    """A network interface as reported by the guest's agent. ``addresses`` as ``192.0.2.1/24``."""

    name: str
    mac: str | None
    addresses: tuple[str, ...] = ()


class GuestExit(msgspec.Struct, frozen=True):
    """Result of a program that was run in a guest."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""
