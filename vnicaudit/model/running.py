"""A QEMU process (or the last start of one) as its arguments and ``/proc`` show it."""

from __future__ import annotations

import msgspec

from vnicaudit.model.location import Location
from vnicaudit.model.nic import RunningNic
from vnicaudit.model.owner import Owner
from vnicaudit.model.version import Version


class RunningQemu(msgspec.Struct, frozen=True):
    """One QEMU: who it runs, on what, and the NICs on its command line.

    ``type`` is libvirt's word for the accelerator: ``kvm`` or ``qemu`` (TCG); None when the
    command line does not say. NICs hot-plugged later are not on the command line.
    """

    location: Location
    name: str | None = None
    uuid: str | None = None
    pid: int | None = None
    arch: str | None = None
    machine: str | None = None
    type: str | None = None
    vcpus: int | None = None
    vcpus_max: int | None = None
    shared_memory: bool | None = None
    virtio_disk: bool = False
    windows_hint: bool = False
    nics: tuple[RunningNic, ...] = ()
    nic_lines: tuple[int, ...] = ()
    """The line each NIC stands in, for a command line of several lines; empty: all in one."""
    warning_line: int | None = None
    """Where the log has libvirt's warning of vhost-net; None where there is none."""
    qemu_version: Version | None = None
    libvirt_version: Version | None = None
    stopped: bool | None = None
    """The log says that this QEMU has ended; None when no log was read."""
    session: bool | None = None
    """An unprivileged session libvirt runs it; False: the system's; None: that is not known."""
    owner: Owner = "qemu"
    """Who keeps the definition, by marks in the arguments: nova, kubevirt, ovirt, libvirt; or
    ``qemu``: a script, a service unit, a person."""
    opened: str = ""
    """A word, beside the NICs that are here, that a shell may make more of."""
    gaps: tuple[str, ...] = ()
    """Why it may have NICs that are not here: a file of options, a board that is not known."""
