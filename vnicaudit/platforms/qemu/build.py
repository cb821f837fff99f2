"""One command line -> :class:`~vnicaudit.model.running.RunningQemu`."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.model.location import Location
from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.qemu import machine
from vnicaudit.platforms.qemu.arguments import Arguments
from vnicaudit.platforms.qemu.gaps import gaps
from vnicaudit.platforms.qemu.nics import nics


class Built(NamedTuple):
    """What the arguments say, and why they are not all there (None: they are)."""

    qemu: RunningQemu
    problem: str | None


def build(
    program: str,
    arguments: Arguments,
    location: Location,
    *,
    pid: int | None,
    whole: bool,
    opened: str | None = None,
    runs: bool = False,
) -> Built:
    """``whole``: nothing but these arguments was given to QEMU, so that what they leave out is
    QEMU's default. ``opened`` is a word that a shell makes arguments of. ``runs``: QEMU took them,
    so that nothing speaks against them."""
    arch = machine.architecture(program, arguments)
    kind = machine.machine_type(arguments)
    found = nics(arguments, arch=arch, machine=kind, with_default=whole)
    vcpus, most = machine.vcpus(arguments) if whole or arguments.has("smp") else (None, None)
    qemu = RunningQemu(
        location=location,
        name=machine.guest_name(arguments),
        uuid=(arguments.last("uuid") or "").strip().lower() or None,
        pid=pid,
        arch=arch,
        machine=kind,
        type=machine.accelerator(program, arguments),
        vcpus=vcpus,
        vcpus_max=most,
        shared_memory=machine.shared_memory(arguments),
        virtio_disk=machine.has_virtio_disk(arguments),
        windows_hint=machine.windows_hint(arguments),
        nics=tuple(replace(nic, refusal=None) for nic in found.nics) if runs else found.nics,
        gaps=tuple(gaps(arguments, arch, kind, whole=whole, opened=opened, nics=len(found.nics))),
        opened=opened if opened is not None and found.nics else "",
        session=machine.session(arguments),
        owner=machine.owner(arguments),
    )
    return Built(qemu, arguments.problem or found.problem or _cut(arguments))


def _cut(arguments: Arguments) -> str | None:
    """libvirt passes ``-nodefaults`` to every QEMU, before any NIC."""
    if machine.by_libvirt(arguments) and not arguments.has("nodefaults"):
        return "libvirt started it, but its -nodefaults is missing"
    return None
