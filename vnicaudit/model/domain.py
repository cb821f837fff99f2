"""One domain (virtual machine) as a description declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from vnicaudit.model.finding import (
    DOMAIN_XML,
    AcceptingComment,
    DefinitionForm,
    DescriptionKind,
    Form,
    Location,
    Owner,
    PlatformName,
    Readiness,
    Ref,
)
from vnicaudit.model.host import Version
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import CloudServer, ServerConfig
from vnicaudit.model.report import ReadError

if TYPE_CHECKING:
    from vnicaudit.model.cluster import ClusterGuest


class DomainConfig(msgspec.Struct, frozen=True, cache_hash=True):
    """Settings of the whole domain in its description, as far as they affect its NICs."""

    type: str = "qemu"
    """``<domain type=…>``: kvm, qemu, test, xen, …"""
    arch: str | None = None
    machine: str | None = None
    vcpus: int | None = None
    """vCPUs at boot (``<vcpu current=…>`` or, without it, the maximum)."""
    vcpus_max: int | None = None
    owner: Owner = "libvirt"
    """The owner that regenerates this definition."""
    described_by: DefinitionForm | Manifest | ServerConfig = "raw"
    """A definition of that form, a KubeVirt manifest, or Nova's record of the server."""
    platform: PlatformName = DOMAIN_XML
    """The platform that describes it, and knows its effect and how to change it: a key of the
    registry of platforms. Any name is allowed, because plug-ins add platforms."""
    os_id: str | None = None
    """libosinfo id in the metadata, e.g. ``http://ubuntu.com/ubuntu/22.04``."""
    readiness: Readiness = "unknown"
    shared_memory: bool | None = None
    """Guest memory is shared with another process, as vhost-user needs."""
    encrypted: bool = False
    """Its memory is hidden from the host (``<launchSecurity>``: SEV, TDX, Secure Execution): a
    virtio device may need ``iommu='on'`` to reach it."""
    session: bool | None = None
    """Belongs to an unprivileged session daemon (``qemu:///session``). None: unknown (a file that
    may belong to either, a command line without libvirt's paths)."""
    pcie_ports: tuple[int, ...] | None = None
    """Indexes of the PCI Express port controllers (the ``bus`` of a device behind one). Read only
    where the guest is ready-transitional: nothing else depends on it."""
    nics: int = 0
    """How many NICs the domain has, assigned devices included."""
    unseen: tuple[str, ...] = ()
    """Settings that a template of domain XML decides: ``machine``, ``vcpus``…; ``inserted``: it
    inserts something that may be NICs; ``together``: it decides which of the NICs exist at the same
    time. ``domain``: only the NIC was given, and nothing is known of its domain."""
    joined_server: ServerConfig | None = None
    """For a definition that Nova wrote: Nova's record of the server, if its cloud was read in the
    same run."""

    @property
    def form(self) -> Form:
        """The kind of description, with the form of a definition."""
        by = self.described_by
        if isinstance(by, str):
            return by
        return "manifest" if isinstance(by, Manifest) else "server"

    @property
    def kind(self) -> DescriptionKind:
        """The kind of description, without the form of a definition."""
        by = self.described_by
        if isinstance(by, str):
            return "definition"
        return "manifest" if isinstance(by, Manifest) else "server"

    @property
    def is_definition(self) -> bool:
        """True for a definition of libvirt or QEMU in any form."""
        return isinstance(self.described_by, str)

    @property
    def is_lone_nic(self) -> bool:
        """True for an ``<interface>`` outside of a domain."""
        return "domain" in self.unseen

    @property
    def is_server(self) -> bool:
        """True for Nova's record of a server of a cloud: no definition of it was read."""
        return isinstance(self.described_by, ServerConfig)

    @property
    def is_command_line(self) -> bool:
        """True for the arguments of a QEMU that was started by hand or by a script."""
        return self.described_by == "qemu"

    @property
    def manifest(self) -> Manifest | None:
        """The KubeVirt manifest that describes the domain; None for every other form."""
        by = self.described_by
        if isinstance(by, str):  # most are; this is called often
            return None
        return by if isinstance(by, Manifest) else None

    @property
    def server(self) -> ServerConfig | None:
        """Nova's record of the server that the domain is; None if it is not a server, or its cloud
        was not read."""
        by = self.described_by
        if isinstance(by, str):
            return self.joined_server
        return by if isinstance(by, ServerConfig) else None

    def with_server(self, server: ServerConfig) -> DomainConfig:
        """A copy of this configuration with ``server`` as Nova's record of it."""
        if isinstance(self.described_by, ServerConfig):
            return replace(self, described_by=server)
        return replace(self, joined_server=server)

    @property
    def as_written(self) -> bool:
        """True if defaults are not filled in yet: libvirt will choose missing settings."""
        return self.described_by in ("raw", "terraform")


class DomainState(msgspec.Struct, frozen=True):
    """State of a domain that only a live libvirt knows. None: not requested, or no answer."""

    active: bool | None = None
    paused: bool = False
    """It is known to stand still, though active (only a sosreport tells)."""
    persistent: bool | None = None
    managed_save: bool | None = None
    snapshots: int | None = None
    memory_snapshots: int | None = None
    agent: bool | None = None
    """A guest agent holds its channel open, according to the live definition."""
    guest_os: str | None = None
    """``guest-get-osinfo`` id and version, e.g. ``debian 12``, as reported by the agent."""
    guest_kernel: str | None = None


class StagedNic(msgspec.Struct, frozen=True):
    """A running NIC whose persistent definition differs or lacks it."""

    mac: str | None
    fields: tuple[tuple[str, str, str], ...] = ()
    """The differences: ``(field, running, persistent)``, as text."""
    later: NicConfig | None = None
    """The NIC's settings in the persistent definition; None if it has no such NIC."""
    gone: bool = False
    """The persistent definition has no such NIC: it was removed there, or plugged in live only."""


class PendingChanges(msgspec.Struct, frozen=True):
    """Differences between the persistent definition of a running domain and the running one:
    ``staged`` are running NICs that will change or disappear, ``coming`` the MACs of NICs that only
    the persistent definition has."""

    staged: tuple[StagedNic, ...] = ()
    coming: tuple[str, ...] = ()


class LiveFacts(msgspec.Struct, frozen=True):
    """Facts of a domain, besides its definition, that only its host knows."""

    state: DomainState = DomainState()
    pending: PendingChanges = PendingChanges()
    joined: bool = False
    """The arguments of its QEMU were read as well: a NIC without ``running`` is not on its command
    line."""


_NO_CHANGES = PendingChanges()


class Marked(msgspec.Struct, frozen=True, tag="marked"):
    """A domain of a file that may hold several. ``mark`` identifies a domain without a UUID: for
    QEMU its name, or its position in the file; for Terraform the resource's address. It is part of
    fingerprints, so it is never a line number or a process id."""

    mark: str


class FromManifest(msgspec.Struct, frozen=True, tag="manifest"):
    """A domain of KubeVirt. ``preference_file``: the file of the preference that its manifest
    refers to, if that is a different one."""

    preference_file: str


class Domain(msgspec.Struct, frozen=True):
    """One domain with its NICs.

    ``known_by`` and ``cloud`` are identity, so they are not part of ``declared``, by which verdicts
    are cached for all domains configured alike.
    """

    name: str
    declared: DomainConfig
    location: Location
    nics: tuple[Nic, ...] = ()
    uuid: str | None = None
    known_by: Marked | FromManifest | None = None
    """Further identification from its file; None: none."""
    cloud: CloudServer | None = None
    """The server of OpenStack that it is, if its cloud was read."""
    unjudged: str = ""
    """The reason why it cannot be judged at all; empty: it can."""
    template: str = ""
    """The first placeholder, if the domain XML is a template or the command line is expanded by a
    shell; empty: there is none."""
    live: LiveFacts | None = None
    """None: it was read from a file, or from a cloud."""
    suppressions: tuple[str, ...] = ()
    """Raw JSON of ``<vnicaudit:suppress>`` entries in the domain's own metadata, or of annotations
    of a manifest."""
    unread: tuple[ReadError, ...] = ()
    """Parts that cannot be read, while the rest can: arguments in ``<qemu:commandline>``."""
    qemu_version: Version | None = None
    """The version of the QEMU that runs it, if known; also from a log, a command line or a compute
    node."""
    libvirt_version: Version | None = None
    """The version of the libvirt that started it, if known from the same sources."""
    root_ports: tuple[int, int] | None = None
    """Of a running guest with PCI Express: how many ports are free, and how many there are. A
    device that is attached while it runs needs a free one."""
    stopped: bool = False
    """Its QEMU has ended, according to its log."""
    has_name: bool = True
    """False: its description has no name, and ``name`` is a placeholder."""
    huge_kib: int | None = None
    """Memory of huge pages that it needs to start, in KiB; None: none, or unknown."""
    comments: tuple[AcceptingComment, ...] = ()
    """Comments of its file that accept findings."""

    @property
    def guest(self) -> ClusterGuest | None:
        """Facts of a cluster about it beyond its specification; None: it is in none, or was read
        alone. A field of
        :class:`ClusterDomain`."""
        return None

    @property
    def template_key(self) -> str:
        """The replica set or pool whose template describes it, or that it is itself; empty:
        none."""
        return ""

    @property
    def is_template(self) -> bool:
        """True for a replica set or a pool: what it makes has its addresses, and it has no NIC."""
        manifest = self.declared.manifest
        return manifest is not None and manifest.kind in TEMPLATES

    @property
    def nova_uuid(self) -> str | None:
        """The UUID that Nova gave it, by which it can be matched with a server of a cloud; None:
        Nova gave none."""
        return self.uuid if self.declared.owner == "nova" else None

    @property
    def mark(self) -> str:
        """Text that identifies it in its file if it has no UUID; empty: none."""
        return self.known_by.mark if isinstance(self.known_by, Marked) else ""

    @property
    def state(self) -> DomainState | None:
        """The state on a live host; None: it was not requested."""
        return None if self.live is None else self.live.state

    @property
    def pending(self) -> PendingChanges:
        """Differences between its persistent definition and the running one on a live host."""
        return _NO_CHANGES if self.live is None else self.live.pending

    def with_state(self, state: DomainState | None) -> Domain:
        """A copy of this domain with that state; None: it is not on a live host."""
        live = None if state is None else replace(self.live or LiveFacts(), state=state)
        return replace(self, live=live)

    @property
    def ref(self) -> Ref:
        """Reference to the domain or server."""
        return Ref("domain", self.name, self.uuid)

    def ref_of(self, nic: Nic) -> Ref:
        """Reference to one of its NICs."""
        return Ref("nic", self.name, self.uuid, nic.mac, nic.index, nic.target_dev)


class Server(Domain, frozen=True, kw_only=True):
    """A server of a cloud, as the cloud describes it, when no definition of it was read."""

    uuid: str
    cloud: CloudServer

    @property
    def config(self) -> ServerConfig:
        """The configuration that Nova keeps of the server."""
        kept = self.declared.described_by
        if not isinstance(kept, ServerConfig):
            raise TypeError(f"{self.uuid} is a server, and described by a {self.declared.kind}")
        return kept

    @property
    def ref(self) -> Ref:
        """Reference to the server."""
        return Ref("server", self.name, self.uuid)


TEMPLATES = ("VirtualMachineInstanceReplicaSet", "VirtualMachinePool")
"""Kinds of KubeVirt that make several guests from one template."""


class ClusterDomain(Domain, frozen=True, kw_only=True):
    """A virtual machine of a cluster of which other objects were read, too."""

    guest: ClusterGuest

    @property
    def template_key(self) -> str:
        """Kind, namespace and name, the same for the template and all that it makes."""
        guest, manifest = self.guest, self.declared.manifest
        if guest.maker is not None:
            return f"{guest.maker.name} {guest.namespace}/{guest.maker.of}"
        if manifest is None or not self.is_template:
            return ""
        return f"{manifest.kind} {guest.namespace}/{guest.name}"
