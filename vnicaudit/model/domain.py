"""One domain (virtual machine) as a description declares it."""

from __future__ import annotations

import msgspec

from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import ServerConfig, ServerRef
from vnicaudit.model.version import Version

REWRITTEN_BY = {"nova": "Nova", "kubevirt": "KubeVirt", "ovirt": "oVirt"}
"""Owners that write the definition anew for each start, and what they are called: libvirt's
persistent one does not say what that will be."""


class DomainConfig(msgspec.Struct, frozen=True, cache_hash=True):
    """What a description sets for the whole domain, as far as it bears on its NICs."""

    type: str = "qemu"
    """``<domain type=…>``: kvm, qemu, test, xen, …"""
    arch: str | None = None
    machine: str | None = None
    vcpus: int | None = None
    """vCPUs at boot (``<vcpu current=…>`` or, without it, the maximum)."""
    vcpus_max: int | None = None
    owner: str = "libvirt"
    """Who regenerates this definition: libvirt (a user or a script), nova, kubevirt, ovirt, …"""
    form: str = "raw"
    """``raw`` (written by hand or a tool, defaults not filled in), ``dump`` (written by libvirt:
    what it dropped is gone), ``live`` (the running definition), ``qemu`` (a command line),
    ``manifest`` (KubeVirt's, from which a definition will be made), ``server`` (OpenStack's, from
    which Nova makes one) or ``terraform`` (a ``libvirt_domain``, which its provider hands to
    libvirt one to one: as ``raw``, but not XML)."""
    os_id: str | None = None
    """libosinfo id in the metadata, e.g. ``http://ubuntu.com/ubuntu/22.04``."""
    readiness: str = "unknown"
    """Can this guest drive virtio? ready, likely-ready (a virtio disk, and nothing tells that the
    system is not Windows), ready-transitional, needs-driver, unknown or not-supported. See
    :mod:`vnicaudit.platforms.domain_xml.readiness`."""
    shared_memory: bool | None = None
    """Guest memory is shared with another process, as vhost-user needs."""
    encrypted: bool = False
    """Its memory is hidden from the host (``<launchSecurity>``: SEV, TDX, Secure Execution): a
    virtio device may need ``iommu='on'`` to reach it."""
    session: bool | None = None
    """Belongs to an unprivileged session daemon (``qemu:///session``). None: it cannot be told (a
    file that may be anybody's, a command line without libvirt's paths)."""
    pcie_ports: tuple[int, ...] | None = None
    """Indexes of the PCI Express port controllers (the ``bus`` of a device behind one). Read only
    where the guest is ready-transitional: nothing else depends on it."""
    nics: int = 0
    """How many NICs the domain has, assigned devices included."""
    unseen: tuple[str, ...] = ()
    """What a template of domain XML decides of it: ``machine``, ``vcpus``…; ``inserted``: it puts
    in something that may be NICs; ``together``: which of its NICs there are at once."""
    manifest: Manifest | None = None
    """What only a KubeVirt manifest says; None for every other form."""
    server: ServerConfig | None = None
    """What Nova keeps of the server; also of a libvirt domain that is one, where its cloud was read
    in the same run. None: it is none, or its cloud was not read."""

    @property
    def as_written(self) -> bool:
        """Nobody has filled in defaults yet: what is not there is libvirt's to choose."""
        return self.form in ("raw", "terraform")


class DomainState(msgspec.Struct, frozen=True):
    """What only a live libvirt knows of a domain. None: not asked, or no answer."""

    active: bool | None = None
    persistent: bool | None = None
    managed_save: bool | None = None
    snapshots: int | None = None
    memory_snapshots: int | None = None
    agent: bool | None = None
    """A guest agent holds its channel open, as the live definition says."""
    guest_os: str | None = None
    """``guest-get-osinfo`` id and version, e.g. ``debian 12``, as the agent says."""
    guest_kernel: str | None = None


class StagedNic(msgspec.Struct, frozen=True):
    """A running NIC whose persistent definition differs, or that the persistent one has not."""

    mac: str | None
    fields: tuple[tuple[str, str, str], ...] = ()
    """``(field, running, persistent)``, as text."""
    later: NicConfig | None = None
    """What the persistent definition sets; None where it has no such NIC."""
    gone: bool = False
    """The persistent definition has no such NIC: it was removed there, or plugged in live only."""


class Domain(msgspec.Struct, frozen=True):
    """One domain with its NICs."""

    name: str
    declared: DomainConfig
    location: Location
    nics: tuple[Nic, ...] = ()
    uuid: str | None = None
    mark: str = ""
    """What tells a QEMU without UUID apart from others in the same file: its name, or its place
    among them. Part of fingerprints, so never a line number or a process id."""
    cloud: ServerRef | None = None
    """Which server of OpenStack it is, where its cloud was read."""
    preference_file: str | None = None
    """Of a KubeVirt manifest: the file of the preference it refers to, where it is another."""
    unjudged: str = ""
    """What would be needed to judge it at all; empty: it can be."""
    template: str = ""
    """Of domain XML that is to be filled in, or a command line that a shell makes more of: the
    first placeholder; empty: it is as it will be."""
    state: DomainState | None = None
    staged: tuple[StagedNic, ...] = ()
    coming: tuple[str, ...] = ()
    """MACs of NICs that only the persistent definition has."""
    joined: bool = False
    """Its QEMU was read as well: a NIC without ``running`` is not on QEMU's command line."""
    suppressions: tuple[str, ...] = ()
    """Raw JSON of ``<vnicaudit:suppress>`` entries in the domain's own metadata."""
    unread: tuple[ReadError, ...] = ()
    """What of it cannot be read, while the rest can: arguments in ``<qemu:commandline>``."""
    qemu_version: Version | None = None
    """Of the QEMU that runs it, where known."""
    libvirt_version: Version | None = None
    """Of the libvirt that started it, where known."""
