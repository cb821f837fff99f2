"""All that changing things, and measuring them, asks of platforms and of the machine it runs on:
handed in from the command line, which knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from vnicaudit.base.clock import Clock
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
    """Platform services for the remedy and the lab. ``connect`` reaches a hypervisor, ``cloud`` a
    cloud, each when it is called; ``machine`` is the machine that this program runs on, ``clock``
    what it waits by; ``command_line`` reads the QEMU of one that runs elsewhere."""

    texts: Texts
    connect: hypervisor.ConnectHypervisor
    machine: hypervisor.ThisMachine
    cloud: cloud.ConnectCloud
    clock: Clock
    command_line: hypervisor.ReadCommandLine
    settings: Callable[[hypervisor.Machine, Clock], GuestSettings]
    """Of a guest's interfaces, which a hot swap carries over."""


GetAdapters = Callable[[], Adapters]
"""Loads them, when they are needed: most measurements need none."""
