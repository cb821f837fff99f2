"""Combines the platforms on which changes and measurements are made. Each is imported when needed,
so that the rest of the command line starts without them."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.host import arp, tree, vdpa
from vnicaudit.platforms.qemu import proc
from vnicaudit.platforms.qemu.read import read_text
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.definitions import Texts
from vnicaudit.remedy.guest.network import LinuxSettings
from vnicaudit.remedy.hypervisor import RunningProcess

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vnicaudit.model.host import VdpaDevice
    from vnicaudit.remedy.cloud import Cloud
    from vnicaudit.remedy.hypervisor import Hypervisor


def adapters() -> Adapters:
    """The platform functions called by the remedy and the lab."""
    return Adapters(
        texts(), connect, _ThisMachine(), connect_cloud, time, command_line, LinuxSettings
    )


def texts() -> Texts:
    """How definitions are read, compared and written."""
    from vnicaudit.platforms.domain_xml import definitions, likeness, pieces, write

    return Texts(definitions, likeness, pieces, write)


def connect(uri: str, *, deadline: float) -> Hypervisor:
    """A host on which domains can be changed. Raises TargetError if it cannot be reached."""
    from vnicaudit.platforms.libvirt.control import connect as reach

    return reach(uri, deadline=deadline)


def connect_cloud(name: str, *, deadline: float) -> Cloud:
    """A cloud in which servers can be changed. Raises TargetError if it cannot be reached."""
    from vnicaudit.platforms.openstack.control import connect as reach

    return reach(name, deadline=deadline)


def command_line(data: bytes, *, target: str, file: str | None) -> Iterable[RunningQemu]:
    """Parse the QEMU command line of a process. Raises TargetError."""
    return read_text(data, target=target, file=file)


class _ThisMachine:
    """Facts about the machine on which vnicaudit runs."""

    def running_process(self, uuid: str) -> RunningProcess | None:
        """The QEMU process of that domain; None if there is none, or it cannot be read."""
        for found in proc.read_proc("/proc", target="/proc"):
            if isinstance(found, RunningQemu) and found.uuid == uuid:
                with suppress(FileNotFoundError):  # it has ended since
                    files = proc.vhost_descriptors(f"/proc/{found.pid}/fd")
                    return RunningProcess(found.nics, files)
        return None

    def arp_table(self) -> dict[str, tuple[str, ...]]:
        """MAC -> IPv4 addresses, from this machine's ARP table."""
        return arp.read_arp(tree.Tree("/"))

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The vhost-vDPA devices of this machine."""
        return vdpa.read_vdpa(tree.Tree("/"))
