"""A QEMU process, or the last start of one, as shown by its arguments and ``/proc``."""

from __future__ import annotations

import msgspec

from vnicaudit.model.location import Location
from vnicaudit.model.nic import RunningNic
from vnicaudit.model.owner import Owner
from vnicaudit.model.version import Version


class RunningQemu(msgspec.Struct, frozen=True):
    """One QEMU: its guest, its machine, and the NICs on its command line.

    ``type`` is libvirt's word for the accelerator: ``kvm`` or ``qemu`` (TCG); None if the command
    line does not say. NICs hot-plugged later are not on the command line.
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
    """The line of each NIC, for a command line of several lines; empty: all are on one line."""
    warning_line: int | None = None
    """Line of libvirt's warning about vhost-net in the log; None if there is none."""
    qemu_version: Version | None = None
    libvirt_version: Version | None = None
    stopped: bool | None = None
    """True: according to the log this QEMU has ended; None: no log was read."""
    session: bool | None = None
    """An unprivileged session libvirt runs it; False: the system's; None: unknown."""
    owner: Owner = "qemu"
    """The owner of the definition, by marks in the arguments: nova, kubevirt, ovirt, libvirt; or
    ``qemu``: a script, a service unit, a person."""
    opened: str = ""
    """A word that a shell may expand into more arguments than are seen here, such as further
    NICs."""
    gaps: tuple[str, ...] = ()
    """Reasons why it may have NICs that are not listed here: a file of options, an unknown
    board."""
