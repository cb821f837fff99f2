"""Build a :class:`~vnicaudit.model.nic.RunningQemu` from one command line, with the reasons why
it may have NICs that its arguments do not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.model.finding import Location
from vnicaudit.model.nic import Evidence, RunningNic, RunningQemu
from vnicaudit.platforms.qemu import machine
from vnicaudit.platforms.qemu.arguments import NIC_OPTIONS, Arguments, parse
from vnicaudit.platforms.qemu.faults import (
    broken_options,
    cut_off,
    left_over,
    machine_default,
    misplaced_options,
    unfilled_device,
    unnamed,
)
from vnicaudit.platforms.qemu.nics import added_nics, nics, silent


class Built(NamedTuple):
    """The guest that the arguments describe, and the reason why they may be incomplete (None: they
    are complete)."""

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
    ended: bool = False,
    logged: bool = False,
) -> Built:
    """The guest that the arguments describe. ``whole``: QEMU was given only these arguments, so
    missing ones have QEMU's defaults. ``opened`` is a word that a shell may expand to arguments.
    ``runs``: QEMU accepted the arguments, so nothing in them can be refused. ``ended``: the end of
    the last one is known, so none is cut off. ``logged``: they are libvirt's, from its log."""
    arch = machine.architecture(program, arguments)
    kind = machine.machine_type(arguments)
    trimmed = logged or machine.by_libvirt(arguments)
    found = nics(arguments, arch=arch, machine=kind, with_default=whole, trimmed=trimmed)
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
    cut = cut_off(arguments) or (_cut_nic(arguments, found.nics) if runs else None)
    if ended:
        cut = None
    problem = arguments.problem or found.problem or cut
    if problem is None and trimmed and not arguments.has("nodefaults"):
        problem = "libvirt started it, but its -nodefaults is missing"  # always, before any NIC
    return Built(qemu, problem)


def _cut_nic(arguments: Arguments, nics: tuple[RunningNic, ...]) -> str | None:
    """The reason why the last argument of a running QEMU is cut off: QEMU would refuse it."""
    last = arguments.pairs[-1][0] if arguments.pairs else ""
    refusal = nics[-1].refusal if nics and last in NIC_OPTIONS else None
    if refusal is None or refusal.starts_from is not None:
        return None
    return f"its last argument is cut off: {refusal.reason}"


_SHOWN = 60


def unread_file(path: str) -> str:
    """The message that NICs in a ``-readconfig`` file are unknown."""
    return f"-readconfig {path[:_SHOWN]!r} may hold NICs, which are not judged"


def gaps(
    arguments: Arguments,
    arch: str | None,
    machine: str | None,
    *,
    whole: bool,
    opened: str | None,
    nics: int,
) -> Iterator[str]:
    """Reasons why NICs may be missing. If some were found, further ones are only suspected in a
    named file, and on a netdev that none of them uses."""
    for reason in left_over(arguments, any_nics=nics > 0):
        yield f"{reason}: not judged"
    for path in arguments.values("readconfig"):
        yield unread_file(path)
    if nics == 0 and not arguments.has("readconfig"):
        yield from _without_nics(arguments, arch, machine, whole=whole, opened=opened)


def _without_nics(
    arguments: Arguments,
    arch: str | None,
    machine: str | None,
    *,
    whole: bool,
    opened: str | None,
) -> Iterator[str]:
    open_device = unfilled_device(arguments)
    default = machine_default(arch, machine)
    if not default.known and (silent(arguments) or machine is not None):
        what = (
            "the machine, which depends on the host,"
            if machine is None
            else f"{machine[:_SHOWN]!r}"
        )
        yield f"no NIC is given, and {what} may have one of its own: not judged"
    elif opened is not None:
        yield f"no NIC is given, and {opened[:_SHOWN]!r} may hold some: not judged"
    elif open_device is not None and not arguments.has("netdev"):
        yield f"no NIC is given, and -device {open_device[:_SHOWN]!r} may be one: not judged"
    elif silent(arguments) and not whole and default.device is not None:
        yield (
            f"no NIC is given, so QEMU adds {default.device}; but these may not be all its "
            "arguments: not judged"
        )


# Find the NICs among the arguments that ``<qemu:commandline>`` adds to libvirt's own.


_EVIDENCE: Evidence = "arguments in <qemu:commandline>"


class NicsInArguments(NamedTuple):
    """The NICs, and the arguments that cannot be read and why: each with the index of its
    argument."""

    nics: tuple[tuple[int, RunningNic], ...]
    problems: tuple[tuple[int, str], ...]


def read_added(words: Sequence[str], *, arch: str | None, machine: str | None) -> NicsInArguments:
    """The NICs that the arguments add to a machine, and the arguments that cannot be read. Assigned
    devices are left out, because nothing shows whether they are network adapters. References to
    libvirt's own arguments (a netdev, a bus) are not resolved, so no NIC counts as refused."""
    arguments = parse(words)
    nics = tuple(
        (arguments.places[pair], msgspec.structs.replace(nic, evidence=_EVIDENCE, refusal=None))
        for pair, nic in added_nics(arguments, arch=arch, machine=machine)
        if nic.backend != "vfio"
    )
    return NicsInArguments(nics, tuple(sorted(_problems(arguments, len(words) - 1, arch, machine))))


def _problems(
    arguments: Arguments, last: int, arch: str | None, machine: str | None
) -> Iterator[tuple[int, str]]:
    for faults in (
        broken_options(arguments),
        misplaced_options(arguments),
        unnamed(arguments, arch, machine),
    ):
        for pair, problem in faults:
            yield arguments.places[pair], problem
    for pair, (name, value) in enumerate(arguments.pairs):
        if name == "readconfig" and value is not None:
            yield arguments.places[pair], unread_file(value)
    if arguments.problem is not None:
        yield last, arguments.problem
