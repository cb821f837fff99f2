"""Running QEMU processes, from ``/proc``: arguments and open descriptors.

Descriptors are better evidence than arguments: QEMU opens ``/dev/vhost-net`` once for each queue
pair whose packets the kernel carries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from vnicaudit.base.deadlines import PROCESS_SECONDS, Deadline, OutOfTime
from vnicaudit.base.opening import open_regular
from vnicaudit.base.wording import bare_uuid
from vnicaudit.knowledge.models import CCW, VIRTIO_BUS, bus_of, device_of
from vnicaudit.knowledge.readiness import readiness_of
from vnicaudit.knowledge.systems import KVM_OR_QEMU
from vnicaudit.model.domain import Domain, DomainConfig, LiveFacts
from vnicaudit.model.finding import DESCRIPTORS, QEMU, VIRTIO, Location
from vnicaudit.model.nic import Nic, NicConfig, Origin, RunningNic, RunningQemu, is_multicast
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.qemu.arguments import Arguments, parse
from vnicaudit.platforms.qemu.build import build
from vnicaudit.platforms.qemu.options import VIRTIO_RING
from vnicaudit.text.beginning import placeholder_text

# Make a domain from a QEMU command line, for targets that consist only of command lines.


_TYPES = {
    "tap": "ethernet",
    "bridge": "bridge",
    "user": "user",
    "vhost-user": "vhostuser",
    "vhost-vdpa": "vdpa",
    "vfio": "hostdev",
}
"""``-netdev`` type -> libvirt's interface type. Backends that libvirt does not know keep QEMU's
word."""

_ADDRESSES = {CCW: "ccw", VIRTIO_BUS: "virtio-mmio"}


def domain_of(qemu: RunningQemu, target: str) -> Domain:
    """The domain that the command line describes; its NICs include ``running``."""
    found = tuple(_running_nic(qemu, index, running) for index, running in enumerate(qemu.nics))
    return Domain(
        name=qemu.name or _nameless(qemu),
        uuid=qemu.uuid,
        declared=_config(qemu),
        location=replace(qemu.location, target=target),
        nics=found,
        unread=tuple(
            ReadError(f"QEMU command line: {gap}", qemu.location.file or target, qemu.location.line)
            for gap in qemu.gaps
        ),
        qemu_version=qemu.qemu_version,
        libvirt_version=qemu.libvirt_version,
        template=placeholder_text(qemu.opened),
        stopped=qemu.stopped is True,
    )


def _running_nic(qemu: RunningQemu, index: int, running: RunningNic) -> Nic:
    """A NIC that is known only from a command line, as the ``index``-th of its domain."""
    location = qemu.location
    if index < len(qemu.nic_lines):
        location = replace(location, line=qemu.nic_lines[index])
    places: tuple[tuple[str, Location], ...] = ()
    if qemu.warning_line is not None:
        warning = replace(qemu.location, line=qemu.warning_line)
        places = (("log_warning", warning),)
    return Nic(
        index=index,
        declared=config_of(running, origin="qemu", arch=qemu.arch),
        location=location,
        mac=running.mac,
        alias=running.id,
        places=places,
        running=anonymous(running),
    )


def anonymous(running: RunningNic) -> RunningNic:
    """Return the NIC without MAC and id, so that equal NICs compare equal and share one verdict."""
    return replace(running, mac=None, id=None)


def config_of(running: RunningNic, *, origin: Origin, arch: str | None = None) -> NicConfig:
    """The settings that the arguments give one NIC, in libvirt's terms; QEMU's defaults count as
    unset."""
    device = device_of(running.driver, arch)
    kind = _TYPES.get(running.backend or "", running.backend or "none")
    if kind == "hostdev":  # as in XML: it is unknown whether the device is a network adapter
        return NicConfig(type=kind, origin="hostdev", actual_type=kind)
    virtio = running.model in VIRTIO
    return replace(
        running.settings,
        type=kind,
        origin=origin,
        actual_type=kind,
        model=running.model or None,
        driver_name="vhost" if running.vhost and virtio else None,
        queues=running.backend_queues if (running.backend_queues or 1) > 1 else None,
        rx_queue_size=_unless_default(running.rx_queue_size),
        tx_queue_size=_unless_default(running.tx_queue_size),
        multicast=is_multicast(running.mac),
        mtu=running.mtu,
        address_type=_ADDRESSES.get(bus_of(device) or "", "pci" if virtio else None),
    )


def _config(qemu: RunningQemu) -> DomainConfig:
    return DomainConfig(
        type=qemu.type or KVM_OR_QEMU,
        arch=qemu.arch,
        machine=qemu.machine,
        vcpus=qemu.vcpus,
        vcpus_max=qemu.vcpus_max,
        owner=qemu.owner,
        described_by="qemu",
        platform=QEMU,
        readiness=readiness_of(
            None,
            qemu.arch,
            virtio_nic=any(nic.model in VIRTIO for nic in qemu.nics),
            virtio_disk=qemu.virtio_disk,
            windows_hint=qemu.windows_hint,
        ),
        shared_memory=qemu.shared_memory,
        session=qemu.session,
        nics=len(qemu.nics),
        unseen=("inserted",) if qemu.opened else (),
    )


def _nameless(qemu: RunningQemu) -> str:
    if qemu.pid is not None:
        return f"QEMU {qemu.pid}"
    place = "" if qemu.location.line is None else f" at line {qemu.location.line}"
    return f"QEMU{place}"


def _unless_default(size: int | None) -> int | None:
    return None if size == VIRTIO_RING else size


MAX_CMDLINE = 4 << 20
"""Bytes; Linux allows arguments of 2 MiB by default."""

MAX_DESCRIPTORS = 65536
"""Maximum number per process; with more, the count is unknown."""

_PROGRAM = re.compile(r"\.?qemu-system-[\w.-]+|qemu-kvm|kvm")
_OTHER_VHOST = ("/dev/vhost-vdpa", "/dev/vhost-vsock", "/dev/vhost-scsi")


def read_proc(
    root: str = "/proc", *, target: str = "/proc", only: int | None = None
) -> Iterator[RunningQemu | ReadError]:
    """Every visible QEMU process, by process id, or ``only`` the one with this id.

    A process whose arguments cannot be understood is a ReadError, because the rest may contain a
    NIC. One that ends meanwhile is left out; if descriptors may not be read, the arguments alone
    decide.
    """
    for pid in _pids(root) if only is None else (only,):
        try:
            with Deadline(PROCESS_SECONDS):  # anybody can start a process called qemu
                found = _process(root, pid, target)
        except (FileNotFoundError, ProcessLookupError, PermissionError, NotADirectoryError):
            continue  # gone, hidden (hidepid=), or not QEMU despite its name
        except OSError as error:  # a folder that looks like /proc, such as one of a support case
            found = ReadError(error.strerror or str(error), f"{root}/{pid}/cmdline")
        except OutOfTime:
            took = f"parsing was given up after {PROCESS_SECONDS:.0f} s of CPU time"
            found = ReadError(took, f"{root}/{pid}/cmdline")
        if found is not None:
            yield found


def _process(root: str, pid: int, target: str) -> RunningQemu | ReadError | None:
    folder = f"{root}/{pid}"
    with open_regular(f"{folder}/cmdline") as file:
        data = file.read(MAX_CMDLINE)
    words = data.decode("utf-8", "replace").split("\0")
    program = _program(folder, words[0])
    if program is None:
        return None
    place = Location(target, f"{folder}/cmdline")
    return running_in(words, program, place, pid, vhost_descriptors(f"{folder}/fd"))


def running_in(
    words: list[str], program: str, place: Location, pid: int, descriptors: int | None
) -> RunningQemu | ReadError:
    """The QEMU of a process with that command line. ``descriptors``: how many of vhost-net it has
    open; None: unknown."""
    arguments = arguments_in(words)
    whole = not arguments.has("readconfig")
    ended = words[-1] == ""  # Linux before 4.2 showed a page of them
    qemu, problem = build(
        program, arguments, place, pid=pid, whole=whole, runs=True, ended=ended
    )  # fmt: skip
    if problem is not None:
        return ReadError(f"QEMU command line not understood: {problem}", place.file)
    return replace(qemu, nics=_proven(qemu.nics, arguments, descriptors))


def arguments_in(words: list[str]) -> Arguments:
    """The arguments of a command line that was split at its NULs."""
    return parse(words[1:-1] if words[-1] == "" else words[1:])


def is_qemu(word: str) -> bool:
    """True if the first word of a command line is the name or path of QEMU."""
    return _PROGRAM.fullmatch(word.rpartition("/")[2]) is not None


def _proven(
    nics: tuple[RunningNic, ...], arguments: Arguments, descriptors: int | None
) -> tuple[RunningNic, ...]:
    """The NICs with ``vhost`` according to the descriptors: if none is open, none has it; if as
    many are open as the arguments require, these are confirmed. Any other number (a NIC was plugged
    or unplugged since) decides nothing."""
    if descriptors is None:
        return nics
    asked = sum(nic.queues or 1 for nic in nics if nic.vhost)
    passed = any("vhostfd" in value for value in arguments.values("netdev", "nic", "net"))
    if descriptors != asked and (descriptors > 0 or passed):
        return nics  # 0 with a passed descriptor: <backend vhost='…'/> under another name
    return tuple(_decided(nic, on=descriptors > 0) for nic in nics)


def _decided(nic: RunningNic, *, on: bool) -> RunningNic:
    if nic.model not in VIRTIO or nic.vhost is None:
        return nic
    return replace(nic, vhost=nic.vhost and on, evidence=DESCRIPTORS)


def _program(folder: str, first: str) -> str | None:
    """The program's file name; by ``exe`` if that may be read, because ``kvm`` is a link or a
    script in some distributions; None if it is not QEMU's system emulator."""
    if not is_qemu(first):
        return None
    try:
        real = Path(folder, "exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        return first
    return real if _PROGRAM.fullmatch(real) else None


def vhost_descriptors(folder: str) -> int | None:
    """Number of open descriptors of vhost-net; None if they may not be read, or not any more: the
    kernel closes those of a process that ends before it removes the process.

    Raises FileNotFoundError if there is no such process.
    """
    count = 0
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MAX_DESCRIPTORS:
                    return None
                count += _is_vhost_net(f"{folder}/{entry.name}")
        if not count and not os.listdir(folder):
            return None
    except FileNotFoundError:
        raise  # the process ended
    except OSError:
        return None  # another user's; or a copy of /proc, whose descriptors are not links
    return count


def _is_vhost_net(link: str) -> bool:
    try:
        return is_vhost_net(str(Path(link).readlink()))
    except FileNotFoundError:
        return False


def is_vhost_net(path: str) -> bool:
    """True for the device of vhost-net, by any name that libvirt may open it by."""
    return path.startswith("/dev/vhost-") and not path.startswith(_OTHER_VHOST)


def _pids(root: str) -> list[int]:
    with os.scandir(root) as entries:
        names = [entry.name for entry in entries if entry.name.isdecimal()]
    return sorted(int(name) for name in names if name.isascii())


def read_processes(name: str) -> Iterator[Domain | ReadError]:
    """The QEMUs below a proc file system, or the one of ``/proc/PID``; a ReadError for each whose
    arguments cannot be understood. Raises OSError if it cannot be listed."""
    folder = os.path.realpath(name)
    wanted = os.path.basename(folder)
    one = wanted.isdecimal()
    root = os.path.dirname(folder) if one else name
    for found in read_proc(root, target=name, only=int(wanted) if one else None):
        if isinstance(found, ReadError):
            yield found
        else:
            domain = domain_of(found, name)
            yield domain
            yield from domain.unread


# A definition and the QEMU that runs it, combined into one domain whose NICs show what runs.


def find(domain: Domain, candidates: Iterable[RunningQemu]) -> RunningQemu | None:
    """The QEMU that runs the domain: by UUID; by name if either has no UUID. The last of several
    wins (a migration leaves two for a moment); None if there is none."""
    by_name = None
    by_uuid = None
    for qemu in candidates:
        if domain.uuid is not None and qemu.uuid is not None:
            if bare_uuid(domain.uuid) == bare_uuid(qemu.uuid):
                by_uuid = qemu
        elif qemu.name is not None and qemu.name == domain.name:
            by_name = qemu
    return by_uuid or by_name


def join(domain: Domain, running: RunningQemu) -> Domain:
    """The domain with ``running`` filled in for each NIC that is on the command line.

    NICs are matched by MAC, among equal MACs by id and then by order; the rest by id. A NIC that
    was plugged later is not on the command line and gets no ``running``. A NIC that is only on the
    command line is gone: the running definition lists every NIC, including those of
    ``<qemu:commandline>``, whereas the command line keeps those that were unplugged. So the command
    line may name a device that was replaced by another one with the same MAC while the guest ran;
    the former does not run.
    """
    nics = list(domain.nics)
    for index, other in _match(domain.nics, list(running.nics)).items():
        model = nics[index].declared.model
        if model is None or (model in VIRTIO) == (other.model in VIRTIO):  # not exchanged
            nics[index] = replace(nics[index], running=anonymous(other))
    return replace(
        domain,
        nics=tuple(nics),
        live=replace(domain.live or LiveFacts(), joined=True),
        qemu_version=running.qemu_version or domain.qemu_version,
        libvirt_version=running.libvirt_version or domain.libvirt_version,
    )


def _match(nics: tuple[Nic, ...], left: list[RunningNic]) -> dict[int, RunningNic]:
    """Index of a NIC -> its running NIC; matches are removed from ``left``. The most certain match
    comes first: MAC and id, then MAC, then id."""
    pairs: dict[int, RunningNic] = {}
    for least in (3, 2, 1):
        for index, nic in enumerate(nics):
            alike = (place for place, other in enumerate(left) if _likeness(nic, other) >= least)
            if index not in pairs and (found := next(alike, None)) is not None:
                pairs[index] = left.pop(found)
    return pairs


def _likeness(nic: Nic, other: RunningNic) -> int:
    """3 for the same MAC and id, 2 for the same MAC; 1 for the same id, if no MAC contradicts it;
    else 0."""
    same_id = nic.alias is not None and nic.alias == other.id
    if nic.mac is not None and nic.mac == other.mac:
        return 2 + same_id
    return int(same_id and (nic.mac is None or other.mac is None))


def with_log(qemu: RunningQemu, log: RunningQemu | None) -> RunningQemu:
    """A process with the facts that only the log of its start has: the versions of QEMU and
    libvirt, and warnings about vhost-net. A log of another start (or of none) adds nothing."""
    if log is None or log.stopped or (log.uuid, log.name) != (qemu.uuid, qemu.name):
        return qemu
    warned = {nic.id: nic.log_warning for nic in log.nics}
    nics = tuple(replace(nic, log_warning=warned.get(nic.id)) for nic in qemu.nics)
    return replace(
        qemu,
        nics=nics,
        qemu_version=log.qemu_version,
        libvirt_version=log.libvirt_version,
    )
