"""Hosts: facts that affect NICs, versions, state of domains, compute nodes of a site, locks,
recordings of visits, and how CPUs are divided."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from vnicaudit.model.finding import Location

Workload = Literal["many-connections", "few-connections", "streaming", "latency"]
"""What the network of a host is used for, in the operator's words: it decides some questions that
no fact answers."""

# Versions of libvirt and QEMU, comparable.


_PATTERN = r"\s*v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?"


class Version(msgspec.Struct, frozen=True, order=True):
    """Three numbers, ordered. ``str()`` gives ``10.0.13``."""

    major: int
    minor: int = 0
    micro: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.micro}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``10``, ``10.0``, ``10.0.13`` or ``10.0.13 (Debian 1:10.0.13+ds-1)``.

        Raises ValueError when the text does not begin with a number.
        """
        match = re.match(_PATTERN, text)
        if match is None:
            raise ValueError(f"not a version: {text!r} (expected for example 10.0.13)")
        return cls(*(int(part or 0) for part in match.groups()))

    @classmethod
    def from_libvirt(cls, number: int) -> Version:
        """Read libvirt's encoding: major * 1,000,000 + minor * 1,000 + micro."""
        return cls(number // 1_000_000, number // 1_000 % 1_000, number % 1_000)


# The hypervisor host, as far as it affects NICs. ``None``: not requested, or unknown.


class Network(msgspec.Struct, frozen=True):
    """A libvirt network; ``actual_type`` is the type that an interface on it gets: bridge, direct
    or hostdev."""

    name: str
    actual_type: str


class HostConfig(msgspec.Struct, frozen=True, cache_hash=True):
    """Facts of one host. Rules see this record; it holds no identity."""

    libvirt_version: Version | None = None
    qemu_version: Version | None = None
    assumed: bool = False
    """The versions were given by ``--assume-qemu`` or ``--assume-libvirt``."""
    arch: str | None = None
    kernel: str | None = None
    kvm: bool | None = None
    """``/dev/kvm`` can be used, and has hardware virtualization."""
    vhost_net: bool | None = None
    """``/dev/vhost-net`` can be opened (its module loads itself); False: neither the device nor a
    module for it exists; None also if only one of the two exists."""
    zerocopy_tx: bool | None = None
    """``vhost_net.experimental_zcopytx`` is on."""
    vhost_paths: tuple[tuple[str, bool], ...] = ()
    """Device paths that were checked (vhost and vDPA devices), and whether they exist."""
    vdpa_drivers: tuple[tuple[str, str], ...] = ()
    """vDPA devices on their bus and the driver that each is bound to, ``""`` for none."""


NO_HOST = HostConfig()
"""Facts of a host of which nothing is known."""


class Host(msgspec.Struct, frozen=True):
    """One host: its name, facts and networks."""

    name: str
    declared: HostConfig = HostConfig()
    networks: tuple[Network, ...] = ()


class VdpaDevice(msgspec.Struct, frozen=True):
    """One device on the vDPA bus. ``path`` is the path that a NIC names (``/dev/vhost-vdpa-0``);
    None: there is none, because it is not bound to the driver that creates it."""

    name: str
    path: str | None = None
    driver: str | None = None
    """``vhost_vdpa``, ``virtio_vdpa``; ``""`` if it is not bound to a driver."""
    vduse: bool | None = None
    """A program implements the device, by VDUSE."""
    shared_memory: bool | None = None
    """The guest's memory must be shared: the device reads it at the addresses of the QEMU
    process."""


def needed_memlock_kib(ram_kib: int, vdpa_count: int) -> int:
    """How much memory libvirt lets QEMU lock for a domain with that many vDPA devices, in KiB: all
    of its memory for each device, plus 1 GiB. This can easily exceed the host's memory; it is only
    a limit.

    libvirt 11.3 ``qemuDomainGetMemLockLimitBytes`` (src/qemu/qemu_domain.c): vDPA devices count
    since 7.2, each of them since 8.7. It does not hold with ``<hard_limit>`` (which is then the
    limit), with ``<locked/>`` (there is none), on ppc64 with KVM, and with VFIO or NVMe devices,
    which add to it.
    """
    return vdpa_count * ram_kib + 1024 * 1024 if vdpa_count else 0


# The lock on a host, stored on the host itself.


class HostLock(msgspec.Struct, frozen=True):
    """``owner``: 32 hexadecimal digits that identify one state folder on one machine; empty if they
    cannot be read. ``holder``: a description of the owner for people. ``clear_command``: the
    command that removes the lock if its holder is gone."""

    owner: str
    holder: str
    clear_command: str = ""


# Compute nodes of one site, and how one of them differs from most of the others.


SITE_OPTIONS = (
    ("keystone_authtoken", "auth_url"), ("keystone_authtoken", "www_authenticate_uri"),
    ("keystone_authtoken", "region_name"), ("neutron", "auth_url"), ("neutron", "region_name"),
    ("placement", "auth_url"), ("placement", "region_name"), ("placement", "os_region_name"),
    ("glance", "region_name"), ("cinder", "os_region_name"),
)  # fmt: skip
"""Options that distinguish one cloud or region from another."""

IDENTITY = (("DEFAULT", "host"), ("DEFAULT", "my_ip"))
"""Options that distinguish a node from others."""


class NodeValue(msgspec.Struct, frozen=True):
    """Value of one option on one node, as Nova reads it; its default if it is not set (``""`` if
    there is none). ``place`` is where it is set; the node's first file if it is not."""

    option: str
    value: str
    place: Location


class SiteNode(msgspec.Struct, frozen=True):
    """One compute node: the ``files`` that its nova-compute reads together.

    ``site`` identifies the cloud to which it belongs, by its configuration; ``host`` is its own
    name, ``""`` if it has none. Options that are not certain are not among its ``values``.
    """

    target: str
    files: tuple[str, ...]
    site: tuple[str, ...]
    host: str
    values: tuple[NodeValue, ...]


class Difference(msgspec.Struct, frozen=True):
    """One option of one node that differs from most other nodes of its site.

    ``usual`` is their value, ``nodes`` how many have it, of ``total``; ``places`` are some of them.
    ``place`` is where this node sets it.
    """

    option: str
    value: str
    usual: str
    nodes: int
    total: int
    place: Location
    places: tuple[Location, ...]


# State of a domain that libvirt manages, which decides whether it may be changed now.


PowerPhase = Literal["off", "running", "paused", "shutting-down", "suspended", "crashed"]
"""Power state of a domain; ``crashed``: its QEMU process still exists."""


class MachineState(msgspec.Struct, frozen=True):
    """State of a domain to be changed, as reported by libvirt."""

    phase: PowerPhase
    persistent: bool
    managed_save: bool
    memory_snapshots: int
    job: bool
    """A job is running: a migration, a backup, a save."""
    migrating: bool

    @property
    def active(self) -> bool:
        """True if it has a QEMU process."""
        return self.phase != "off"


class Traffic(msgspec.Struct, frozen=True):
    """Packets of one NIC since its tap was created, as seen from the guest."""

    received: int
    sent: int


class GuestInterface(msgspec.Struct, frozen=True):
    """A network interface as reported by the guest's agent. ``addresses`` as ``192.0.2.1/24``."""

    name: str
    mac: str | None
    addresses: tuple[str, ...] = ()


class GuestExit(msgspec.Struct, frozen=True):
    """Result of a program that was run in a guest."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""


# What a host printed.


class Section(msgspec.Struct, frozen=True):
    """Text that the host printed under a name. ``code``: how its command ended; None: there is no
    command, or its text was too long."""

    name: str
    text: str
    code: int | None = None


RECORDING_SCHEMA: Literal["vnicaudit.host-facts/1"] = "vnicaudit.host-facts/1"


class HostRecording(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.host-facts/1``: everything that one visit read, with secrets masked. ``version``:
    of this program, whose script asked for the sections; ``recorded``: UTC, RFC 3339; ``place``:
    the URL of the place, without options."""

    schema: Literal["vnicaudit.host-facts/1"] = RECORDING_SCHEMA
    version: str
    recorded: str
    place: str
    sections: tuple[Section, ...]


# ``vnicaudit.host-cpus/1``: which tasks may, and do, use which CPUs of a host.


HOST_CPUS_SCHEMA: Literal["vnicaudit.host-cpus/1"] = "vnicaudit.host-cpus/1"

CpuClass = Literal["reserved", "shared", "isolated", "banned", "dedicated", "polled"]
"""``shared``: Nova's cpu_shared_set; ``banned``: isolated, and irqbalance is to keep interrupts
away; ``dedicated``: to pinned vCPUs; ``polled``: dedicated to polling threads."""


class Cell(msgspec.Struct, frozen=True):
    """A class of tasks on some CPUs. None: unknown."""

    allowed: bool | None
    used: bool | None
    """They run there, or nothing keeps them from it."""


class CpuColumn(msgspec.Struct, frozen=True):
    """CPUs of one class on which all cells are the same."""

    cpus: tuple[int, ...]
    kind: CpuClass
    cells: dict[str, Cell]
    """By class of tasks."""


class HostCpus(msgspec.Struct, frozen=True, kw_only=True):
    """The partition matrix of a host."""

    schema: Literal["vnicaudit.host-cpus/1"] = HOST_CPUS_SCHEMA
    tables: tuple[str, ...]
    """Names of the tables that may apply; empty: unknown. A cell on which they differ is
    unknown."""
    evidence: str
    """What shows which."""
    columns: tuple[CpuColumn, ...]
