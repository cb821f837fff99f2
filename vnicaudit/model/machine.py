"""A domain that libvirt manages: the state that decides whether it may be changed now."""

from __future__ import annotations

from typing import Literal

import msgspec

PowerPhase = Literal["off", "running", "paused", "shutting-down", "suspended", "crashed"]
"""Where a domain is between off and running; ``crashed``: its QEMU is kept."""


class MachineState(msgspec.Struct, frozen=True):
    """State that libvirt reports of a domain that is to be changed."""

    phase: PowerPhase
    persistent: bool
    managed_save: bool
    memory_snapshots: int
    job: bool
    """A job is under way: a migration, a backup, a save."""
    migrating: bool

    @property
    def active(self) -> bool:
        """A QEMU process is there."""
        return self.phase != "off"


class Traffic(msgspec.Struct, frozen=True):
    """Packets of one NIC since its tap was made, seen from the guest."""

    received: int
    sent: int


class GuestInterface(msgspec.Struct, frozen=True):
    """A network interface as the guest's agent says. ``addresses`` as ``192.0.2.1/24``."""

    name: str
    mac: str | None
    addresses: tuple[str, ...] = ()


class GuestExit(msgspec.Struct, frozen=True):
    """How a program in a guest ended."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""
