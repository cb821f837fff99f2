"""The platforms that changes are made on, and measured, put together: each is imported when it is
needed, so that the rest of the command line starts without them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vnicaudit.model.host import VdpaDevice
    from vnicaudit.model.running import RunningQemu
    from vnicaudit.remedy.adapters import Adapters
    from vnicaudit.remedy.cloud import Cloud
    from vnicaudit.remedy.definitions import Texts
    from vnicaudit.remedy.hypervisor import Hypervisor, RunningProcess


def adapters() -> Adapters:
    """The platforms' side of changes and measurements, as the remedy and the lab call it."""
    from vnicaudit.remedy.adapters import Adapters
    from vnicaudit.remedy.guest.network import LinuxSettings

    return Adapters(
        texts(), connect, _ThisMachine(), connect_cloud, time, command_line, LinuxSettings
    )


def texts() -> Texts:
    """How definitions are read, compared and written."""
    from vnicaudit.platforms.domain_xml import definitions, likeness, pieces, write
    from vnicaudit.remedy.definitions import Texts

    return Texts(definitions, likeness, pieces, write)


def connect(uri: str, *, deadline: float) -> Hypervisor:
    """A host on which domains can be changed. Raises TargetError where it cannot be reached."""
    from vnicaudit.platforms.libvirt.control import connect as reach

    return reach(uri, deadline=deadline)


def connect_cloud(name: str, *, deadline: float) -> Cloud:
    """A cloud in which servers can be changed. Raises TargetError where it cannot be reached."""
    from vnicaudit.platforms.openstack.control import connect as reach

    return reach(name, deadline=deadline)


def command_line(data: bytes, *, target: str, file: str | None) -> Iterable[RunningQemu]:
    """The QEMU of a process, by its command line. Raises TargetError."""
    from vnicaudit.platforms.qemu.read import read_text

    return read_text(data, target=target, file=file)


class _ThisMachine:
    """Facts of the machine that this program runs on."""

    def running_process(self, uuid: str) -> RunningProcess | None:
        """The QEMU of that domain; None where there is none, or it cannot be looked at."""
        from vnicaudit.model.running import RunningQemu
        from vnicaudit.platforms.qemu import proc
        from vnicaudit.remedy.hypervisor import RunningProcess

        for found in proc.read_proc("/proc", target="/proc"):
            if isinstance(found, RunningQemu) and found.uuid == uuid:
                return RunningProcess(found.nics, proc.vhost_descriptors(f"/proc/{found.pid}/fd"))
        return None

    def arp_table(self) -> dict[str, tuple[str, ...]]:
        """MAC -> IPv4 addresses, as this machine knows them."""
        from vnicaudit.platforms.host import arp, tree

        return arp.read_arp(tree.Tree("/"))

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The vhost-vDPA devices of this machine."""
        from vnicaudit.platforms.host import tree, vdpa

        return vdpa.read_vdpa(tree.Tree("/"))
