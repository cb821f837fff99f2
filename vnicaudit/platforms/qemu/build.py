"""Build a :class:`~vnicaudit.model.nic.RunningQemu` from one command line, with the reasons why
it may have NICs that its arguments do not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.backends import is_opennebula, owner_of
from vnicaudit.model.finding import KnownOwner, Location
from vnicaudit.model.nic import Evidence, RunningNic, RunningQemu
from vnicaudit.platforms.qemu.arguments import NIC_OPTIONS, Arguments, parse, unfilled
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
from vnicaudit.platforms.qemu.options import number, truth

# The machine that the arguments describe: name, architecture, accelerator, vCPUs, hints.


_SYSTEM = re.compile(r"\.?qemu-system-([a-z0-9_]+?)(?:w?\.exe)?(?![a-z0-9_])")
_KVM_PROGRAMS = ("qemu-kvm", "kvm")
_LIBVIRT_ARCH = {"i386": "i686", "arm": "armv7l", "sparc": "sparc", "ppc": "ppc"}
_MACHINE_ARCH = (
    (re.compile(r"(?:pc|q35)(?:-.*)?|isapc|microvm"), "x86_64"),
    (re.compile(r"s390-ccw.*"), "s390x"),
    (re.compile(r"pseries.*"), "ppc64"),
)
"""Machine types that only one architecture has (apart from i686, whose NICs are x86_64's)."""

_NOVA_NAME = re.compile(r"instance-[0-9a-f]{8}")
"""Default of Nova's ``instance_name_template``."""
_DESCRIPTOR, _LIBVIRT_ID = re.compile(r"\bfds?\b"), re.compile(r"\bhostnet\d+")
"""A tap passed as a descriptor, and libvirt's name for it (qemuBuildHostNetProps)."""
_MARKS: tuple[tuple[re.Pattern[str], KnownOwner], ...] = (
    (re.compile("/run/kubevirt-private/"), "kubevirt"),
    (re.compile(r"/qemu-server/|\+pve"), "proxmox"),
    (re.compile("/run/ganeti/kvm-hypervisor/"), "ganeti"),
    (re.compile(r"/(?:incus|lxd)/(?:logs/)?[^/\s]{1,200}/qemu\.conf"), "incus"),
)
"""Folders and machine types of those that start QEMU without libvirt, or in a pod of their own:
Proxmox VE (qemu-server, QemuServer.pm), Ganeti c35736d8 (hv_kvm/__init__.py), Incus be7afc5d and
LXD (driver_qemu.go: ``-readconfig``)."""
_LIBVIRT_MARKS = ("masterKey0", "charmonitor")
"""Ids that libvirt gives its secret and its monitor (qemu_domain.c, qemu_command.c)."""

_SYSTEM_FILES = "/var/lib/libvirt/qemu/"
_SESSION_FILES = "/.config/libvirt/qemu/"
"""Folders where the system's libvirt, and a user's (``$XDG_CONFIG_HOME``, by default), keep the
secret and the monitor of each guest (docs/drvqemu.rst)."""

_HYPERV = re.compile(r"(?:^|,)\+?hv[-_]")
_TOPOLOGY = ("drawers", "books", "sockets", "dies", "clusters", "modules", "cores", "threads")


def guest_name(arguments: Arguments) -> str | None:
    """The name from ``-name``; None if there is none."""
    return arguments.last_keys("name").get("guest")


def machine_type(arguments: Arguments) -> str | None:
    """``pc-q35-9.0``; None if QEMU's default is used. The last of ``-machine`` and ``-M``."""
    kinds = [one.keys.get("type") for one in arguments.parsed("machine", "M")]
    return next((kind for kind in reversed(kinds) if kind), None)


def architecture(program: str, arguments: Arguments) -> str | None:
    """libvirt's name of the architecture: by the program, or by a machine type that only one
    architecture has. None for ``kvm -m 512``, which uses the host's architecture."""
    match = _SYSTEM.match(re.split(r"[/\\]", program)[-1])
    if match is not None:
        return _LIBVIRT_ARCH.get(match[1], match[1])
    machine = machine_type(arguments) or ""
    return next((arch for pattern, arch in _MACHINE_ARCH if pattern.fullmatch(machine)), None)


def accelerator(program: str, arguments: Arguments) -> str | None:
    """libvirt's domain type: ``kvm``, ``qemu`` (TCG), ``hvf``…; None if QEMU chose at start
    (``kvm:tcg``, several ``-accel``), or a shell's variable decides.

    Without any option QEMU uses TCG, or KVM with a fall-back if the program is named ``…kvm``
    (``configure_accelerators`` in softmmu/vl.c).
    """
    named = [one.keys.get("accel", "") for one in arguments.parsed("accel")]
    machines = arguments.parsed("machine", "M")
    named += [one.keys["accel"] for one in machines if "accel" in one.keys]
    if arguments.has("enable-kvm"):
        named.append("kvm")
    if any(unfilled(name) for name in named):
        return None
    wanted = {word for name in named for word in name.split(":") if word}
    if len(wanted) == 1:
        word = wanted.pop()
        return "qemu" if word == "tcg" else word
    if wanted or program.rpartition("/")[2] in _KVM_PROGRAMS:
        return None
    return "qemu"


def vcpus(arguments: Arguments) -> tuple[int | None, int | None]:
    """vCPUs at boot and the maximum. One without ``-smp``; the product of the topology if it
    contains no number (qemu(1)); None if a shell's variable decides."""
    if not arguments.has("smp"):
        return 1, 1
    if unfilled(arguments.last("smp") or ""):
        return None, None
    given = arguments.last_keys("smp")
    product = 1
    for level in _TOPOLOGY:
        product *= number(given.get(level)) or 1
    most = number(given.get("maxcpus")) or number(given.get("cpus")) or product
    return number(given.get("cpus")) or most, most


def shared_memory(arguments: Arguments) -> bool:
    """True if a memory backend is shared with other processes, as vhost-user needs."""
    backends = [one for one in arguments.parsed("object") if "memory-backend-" in one.text]
    return any(truth(one.keys.get("share")) for one in backends)


def has_virtio_disk(arguments: Arguments) -> bool:
    """True if a disk is on virtio-blk, like libvirt's ``bus='virtio'``."""
    devices = arguments.values("device")
    if any(part in value for value in devices for part in ("virtio-blk", "vhost-user-blk")):
        return True
    return any("if=virtio" in value.split(",") for value in arguments.values("drive"))


def windows_hint(arguments: Arguments) -> bool:
    """True for Hyper-V enlightenments or a clock in local time: weak evidence of Windows."""
    if any(_HYPERV.search(value) for value in arguments.values("cpu")):
        return True
    return arguments.has("localtime") or arguments.last_keys("rtc").get("base") == "localtime"


def owner(arguments: Arguments) -> KnownOwner:
    """The owner of the definition, by SMBIOS names or its paths; ``libvirt`` if libvirt's marks are
    there; ``qemu`` otherwise (a script, a unit, a person)."""
    if (told := _by_smbios(arguments)) is not None:
        return told
    words = [value for _name, value in arguments.pairs if value is not None]
    for mark, known in _MARKS:
        if any(map(mark.search, words)):
            return known
    if is_opennebula(guest_name(arguments), words):
        return "opennebula"
    if not by_libvirt(arguments):
        return "qemu"
    return "nova" if _NOVA_NAME.fullmatch(guest_name(arguments) or "") else "libvirt"


def _by_smbios(arguments: Arguments) -> KnownOwner | None:
    for smbios in arguments.parsed("smbios"):
        given = smbios.keys
        if given.get("type") != "1":
            continue
        if "KubeVirt" in (given.get("manufacturer"), given.get("family")):
            return "kubevirt"
        if "OpenStack" in (given.get("manufacturer"), given.get("product")):
            return "nova"  # "OpenStack Foundation" or "OpenStack Nova", cut if quotes are missing
        if given.get("manufacturer") == "Apache":
            return "cloudstack"  # "Apache Software Foundation", cut
        found = owner_of((), given.get("product"))
        if found != "libvirt":
            return found
    return None


def by_libvirt(arguments: Arguments) -> bool:
    """True if libvirt wrote this command line."""
    if _marked(arguments):
        return True
    return any(
        _DESCRIPTOR.search(value) and _LIBVIRT_ID.search(value)
        for value in arguments.values("netdev")
    )


def session(arguments: Arguments) -> bool | None:
    """True if an unprivileged libvirt runs the guest, by the folder of its secret or monitor; None
    if these show neither folder (another prefix, a descriptor, a QEMU without libvirt)."""
    paths = _marked(arguments)
    if any(_SESSION_FILES in path for path in paths):
        return True
    return False if any(_SYSTEM_FILES in path for path in paths) else None


def _marked(arguments: Arguments) -> list[str]:
    """The arguments that only libvirt writes."""
    values = arguments.values("object", "chardev")
    return [value for value in values if any(mark in value for mark in _LIBVIRT_MARKS)]


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
    arch = architecture(program, arguments)
    kind = machine_type(arguments)
    trimmed = logged or by_libvirt(arguments)
    found = nics(arguments, arch=arch, machine=kind, with_default=whole, trimmed=trimmed)
    at_boot, most = vcpus(arguments) if whole or arguments.has("smp") else (None, None)
    qemu = RunningQemu(
        location=location,
        name=guest_name(arguments),
        uuid=(arguments.last("uuid") or "").strip().lower() or None,
        pid=pid,
        arch=arch,
        machine=kind,
        type=accelerator(program, arguments),
        vcpus=at_boot,
        vcpus_max=most,
        shared_memory=shared_memory(arguments),
        virtio_disk=has_virtio_disk(arguments),
        windows_hint=windows_hint(arguments),
        nics=tuple(replace(nic, refusal=None) for nic in found.nics) if runs else found.nics,
        gaps=tuple(gaps(arguments, arch, kind, whole=whole, opened=opened, nics=len(found.nics))),
        opened=opened if opened is not None and found.nics else "",
        session=session(arguments),
        owner=owner(arguments),
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
        (arguments.places[pair], replace(nic, evidence=_EVIDENCE, refusal=None))
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
