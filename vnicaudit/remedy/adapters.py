"""The services of platforms and of this machine that changes and measurements need. The command
line, which knows the platforms, passes them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from vnicaudit.base.waiting import Clock
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.remedy import cloud, hypervisor
from vnicaudit.remedy.definitions import Texts


class GuestSettings(Protocol):
    """The settings of a guest on its interfaces."""

    def capture(self, mac: str) -> GuestNetwork:
        """As :func:`vnicaudit.remedy.guest.network.capture`."""

    def restore(self, mac: str, network: GuestNetwork) -> None:
        """As :func:`vnicaudit.remedy.guest.network.restore`."""

    def missing(self, mac: str, network: GuestNetwork) -> tuple[str, ...]:
        """As :func:`vnicaudit.remedy.guest.network.missing`."""


class Adapters(NamedTuple):
    """Platform services for the remedy and the lab. ``connect`` connects to a hypervisor and
    ``cloud`` to a cloud, each when it is called; ``machine`` is the machine that this program runs
    on; ``clock`` is used for all waiting; ``command_line`` reads a QEMU command line from any
    machine."""

    texts: Texts
    connect: hypervisor.ConnectHypervisor
    machine: hypervisor.ThisMachine
    cloud: cloud.ConnectCloud
    clock: Clock
    command_line: hypervisor.ReadCommandLine
    settings: Callable[[hypervisor.Machine, Clock], GuestSettings]
    """The settings of a guest's interfaces, which a hot swap preserves."""


GetAdapters = Callable[[], Adapters]
"""Loads the adapters when they are needed: most measurements need none."""
