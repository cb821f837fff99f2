"""Images and flavors of OpenStack, as far as they affect NICs.

Source of the names: Nova 34.0.0, ``objects/fields.py`` (VIFModel), ``objects/image_meta.py``,
``virt/libvirt/vif.py`` (SUPPORTED_VIF_MODELS) and ``api/validation/extra_specs/hw.py``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import S390, Location, NamedDescription, Readiness

VIF_MODELS = frozenset({
    "virtio", "ne2k_pci", "pcnet", "rtl8139", "e1000", "e1000e", "netfront", "spapr-vlan",
    "lan9118", "sriov", "vmxnet", "vmxnet3", "igb",
})  # fmt: skip
"""Values that Nova accepts as ``hw_vif_model``, for all its hypervisors."""

FOREIGN_VIF_MODELS = frozenset({"netfront", "vmxnet", "sriov", "lan9118"})
"""Those that Nova's libvirt driver refuses with KVM, but another driver may accept."""

_LEGACY_VIF_MODELS = {
    "virtuale1000": "e1000",
    "virtuale1000e": "e1000e",
    "virtualpcnet32": "pcnet",
    "virtualsriovethernetcard": "sriov",
    "virtualvmxnet": "vmxnet",
    "virtualvmxnet3": "vmxnet3",
}

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})

_LINUX = frozenset({
    "almalinux", "alpine", "arch", "centos", "cirros", "debian", "fedora", "fedora-coreos",
    "flatcar", "gentoo", "mandrake", "mandriva", "opensuse", "oracle", "rhel", "rocky", "sled",
    "sles", "ubuntu",
})  # fmt: skip
"""Values of ``os_distro`` for Linux that Glance's documentation lists, and others in use."""

_QEMU_TYPES = frozenset({"kvm", "qemu"})
_QEMU_FORMATS = {
    "raw": True,
    "qcow2": True,
    "vmdk": False,
    "vhd": False,
    "vhdx": False,
    "ova": False,
}
"""Disk format -> whether it is for QEMU (libvirt driver) or for another hypervisor's driver."""


class Property(msgspec.Struct, frozen=True):
    """One image property or flavor extra spec, and its place. ``certain`` False: the value is
    unknown until a template is rendered or a variable has its value."""

    name: str
    value: str
    location: Location
    certain: bool = True


class _WithProperties(NamedDescription, frozen=True):
    """An image or a flavor. ``complete`` False: it may have further properties (a command that only
    sets some, a list that is filled in)."""

    described_for = "nova"

    properties: tuple[Property, ...] = ()
    complete: bool = False

    def place(self, field: str | None) -> Location:
        """Where a property is set."""
        found = self.property(field or "")
        return self.location if found is None else found.location

    def property(self, name: str) -> Property | None:
        """The property, or extra spec, that is in effect: the last of several."""
        return next((found for found in reversed(self.properties) if found.name == name), None)

    def certain_value(self, name: str) -> str | None:
        """The value of a property that is set for certain."""
        found = self.property(name)
        return found.value if found is not None and found.certain else None


class Image(_WithProperties, frozen=True):
    """One image."""

    scope = "image"

    disk_format: str | None = None
    libosinfo_model: str | None = None
    """The emulated NIC that libosinfo lists first for its ``os_distro``, if it lists virtio for
    that system as well. None: there is no such NIC, or it is unknown."""
    servers: int | None = None
    """Number of visible servers that were created from it; None: not counted."""
    updated: str = ""
    """Time of its last change, as reported by Glance (UTC, ISO 8601)."""
    owner: str = ""
    """The id of its project."""
    owner_name: str = ""
    """The name of that project; empty: unknown."""
    nova: int | None = None
    """The newest release of Nova (its major number) that it may be for; None: unknown."""
    readiness: Readiness = "unknown"
    """Readiness for virtio of the system in it, in the words of
    :attr:`~vnicaudit.model.domain.DomainConfig.readiness` and by the same rules."""
    proven: bool = False
    """A server that was created from it, and is not Windows, has run with virtio."""

    @property
    def vif_model(self) -> str | None:
        """``hw_vif_model`` as Nova reads it: lower case, old names replaced."""
        value = self.certain_value("hw_vif_model")
        return None if value is None else normal_vif_model(value)

    @property
    def qemu(self) -> bool | None:
        """True if servers of this image run on QEMU; None if the image does not tell."""
        kind = self.certain_value("img_hv_type") or self.certain_value("hypervisor_type")
        if kind is not None:
            return kind.lower() in _QEMU_TYPES
        if any(found.name.startswith(("vmware_", "xenapi_")) for found in self.properties):
            return False
        return _QEMU_FORMATS.get(self.disk_format or "")

    @property
    def architecture(self) -> str | None:
        """The architecture of its servers: ``hw_architecture``, for which Nova accepts
        ``architecture`` (``objects/image_meta.py``), or the one to emulate
        (``_check_emulation_arch`` in ``virt/libvirt/driver.py``); in any case of letters."""
        names = ("hw_emulation_architecture", "hw_architecture", "architecture")
        found = next((text for name in names if (text := self.certain_value(name))), None)
        return None if found is None else found.lower()

    @property
    def on_z(self) -> bool:
        """True if the image's properties say s390x."""
        return self.architecture in S390

    @property
    def linux(self) -> bool:
        """True if the image's properties say that it contains Linux."""
        kind, system = self.certain_value("os_type") or "", self.certain_value("os_distro") or ""
        return kind.lower() == "linux" or _system_name(system) in _LINUX

    @property
    def windows(self) -> bool:
        """True if the image's properties say that it contains Windows, which has no virtio driver
        of its own."""
        system = (self.certain_value("os_distro") or "").lower()
        return (self.certain_value("os_type") or "").lower() == "windows" or system.startswith(
            ("win", "http://microsoft.com/")
        )

    @property
    def use(self) -> str:
        """How many servers were created from it, as the end of a message; empty if they were not
        counted."""
        if self.servers is None:
            return ""
        if self.servers == 1:
            return "; used by 1 server"
        return f"; used by {self.servers or 'no'} servers"


class Flavor(_WithProperties, frozen=True):
    """One flavor. ``vcpus`` None: unknown here. ``images`` are those that a server (described in
    the same file, or of the same cloud) boots with this flavor."""

    scope = "flavor"

    vcpus: int | None = None
    images: tuple[Image, ...] = ()
    servers: int | None = None
    """Number of visible servers that use it; None: not counted."""

    def contradicted(self, name: str) -> tuple[Image, ...]:
        """Images of the flavor that set a flag of :data:`FLAVOR_WORDS` to the opposite of its value
        here: Nova refuses a server with both (``FlavorImageConflict``)."""
        if (said := self.certain_value(FLAVOR_WORDS[name])) is None:
            return ()
        flags = ((image, image.certain_value(name)) for image in self.images)
        return tuple(
            image for image, flag in flags if flag is not None and as_flag(flag) != as_flag(said)
        )


def _system_name(os_distro: str) -> str:
    """The system of an ``os_distro`` without its version, which libosinfo's short ids include:
    ``debian12`` -> debian, ``sles15sp5`` -> sles."""
    name = os_distro.lower()
    version = next((place for place, letter in enumerate(name) if letter.isdigit()), len(name))
    return name[:version].removesuffix("-stream").rstrip("-")


def normal_vif_model(text: str) -> str:
    """A NIC model as Nova stores it: ``VirtualVmxnet3`` -> ``vmxnet3``."""
    lower = text.lower()
    return _LEGACY_VIF_MODELS.get(lower, lower)


def as_flag(text: str) -> bool:
    """A flag as Nova reads it: ``oslo_utils.strutils.bool_from_string``, for which everything that
    is not a word for yes means no."""
    return text.strip().lower() in _TRUE


# A server of OpenStack: Nova's record of it, besides the definition made from that record.
#
# Source of the names: Nova 34.0.0, ``api/openstack/compute/views/servers.py`` and its
# ``rest_api_version_history.rst``; ``objects/instance.py`` (``image_meta``, made of
# ``system_metadata`` ``image_*``).


PropertiesSource = Literal["api", "image", "unseen"]
"""How the properties that Nova keeps for a server are known. ``api``: Nova reports them
(microversion 2.98); ``image``: they are those of its image, which has not changed since the server
was created; ``unseen``: they are unknown."""

ImageState = Literal["there", "gone", "volume", "unseen"]
"""State of the image a server was created from. ``there``; ``gone``: it was deleted; ``volume``:
the server boots from a volume, and Nova names no image; ``unseen``: this user may not see it."""

MODEL = "hw_vif_model"
MULTIQUEUE = "hw_vif_multiqueue_enabled"
PACKED = "hw_virtio_packed_ring"
PROPERTY_OF = {"model": MODEL, "queues": MULTIQUEUE, "packed": PACKED}
"""Field of a NIC -> the property from which Nova derives it."""

MULTIQUEUE_VCPUS = 2
"""Number of vCPUs below which Nova ignores the multiqueue flag."""

FLAVOR_WORDS = {MULTIQUEUE: "hw:vif_multiqueue_enabled", PACKED: "hw:virtio_packed_ring"}
"""Flag of an image -> its name in flavors. One of the two is enough to switch it on; if both are
set and differ, Nova raises FlavorImageConflict (``virt/hardware.py``
``get_vif_multiqueue_constraint``, ``get_packed_virtqueue_constraint``)."""


class NovaVersions(msgspec.Struct, frozen=True):
    """Major versions of Nova that offer exactly this highest ``microversion``: ``oldest`` to
    ``newest``; None: older or newer than all that are known."""

    microversion: str
    oldest: int | None = None
    newest: int | None = None


class NodeFacts(msgspec.Struct, frozen=True):
    """Settings in nova.conf of a server's compute node, if it was read in the same run: ``values``
    are ``(option of [libvirt], value)``, with defaults filled in; ``file`` is its path."""

    file: str
    values: tuple[tuple[str, str], ...] = ()

    def value(self, option: str) -> str | None:
        """Value of one option of ``[libvirt]``; None if unknown."""
        return dict(self.values).get(option)


class Aggregate(msgspec.Struct, frozen=True):
    """Hosts that an operator grouped (a host aggregate of Nova). ``zone`` is its availability zone,
    empty if it has none; ``metadata`` are its further properties."""

    name: str
    zone: str = ""
    metadata: tuple[tuple[str, str], ...] = ()


class ProviderNetwork(msgspec.Struct, frozen=True):
    """Provider attributes of a Neutron network, as Nova reads them (``network/neutron.py``
    ``_get_physnet_tunneled_info``). ``physical`` is the physical network; with several segments
    that of the first one that has any. Empty: it has none (a tunnel)."""

    physical: str = ""
    kind: str = ""
    """``vlan``, ``flat``, ``vxlan``, ``geneve``…; empty if it has several segments."""
    segmented: bool = False
    """It has several segments. If none of them has a physical network, Nova refuses its ports."""


class PortBinding(msgspec.Struct, frozen=True):
    """How Neutron binds the port of a NIC; ``""`` and None: not reported (only admins see it), so
    unknown."""

    vnic_type: str = ""
    vif_type: str = ""
    datapath: str = ""
    """``vif_details`` ``datapath_type``: ``system`` or ``netdev`` (Open vSwitch with DPDK)."""
    hybrid: bool | None = None
    """``ovs_hybrid_plug``: a Linux bridge stands between."""
    network: ProviderNetwork | None = None
    """Provider attributes of the port's network."""


class ServerConfig(msgspec.Struct, frozen=True, tag="server"):
    """Record of a server, as far as it affects its NICs. No identity: two servers with equal
    records get one verdict."""

    status: str = ""
    """``ACTIVE``, ``SHUTOFF``, ``SHELVED_OFFLOADED``…"""
    stored_properties: tuple[tuple[str, str], ...] = ()
    """The image properties that Nova keeps for the server since its creation, sorted;
    ``properties_source`` says how they are known, or that they are unknown."""
    properties_source: PropertiesSource = "unseen"
    image: Image | None = None
    """Its image as it is in Glance now."""
    image_state: ImageState = "unseen"
    flavor: Flavor | None = None
    """Its flavor as Nova keeps it for the server: later changes of the flavor do not affect it."""
    nova: NovaVersions | None = None
    bindings: tuple[PortBinding, ...] = ()
    """The bindings of its NICs, in their order."""
    node: NodeFacts | None = None
    """None: no nova.conf of its host was read."""

    @property
    def vif_model(self) -> str | None:
        """``hw_vif_model`` as Nova reads it; None: none is stored, or it is unknown."""
        kept = self.property(MODEL)
        return None if kept is None else normal_vif_model(kept)

    def flag(self, name: str) -> bool | None:
        """A flag of :data:`FLAVOR_WORDS` as Nova keeps it; None: not set, or unknown."""
        kept = self.property(name)
        return None if kept is None else as_flag(kept)

    def flavor_flag(self, name: str) -> bool | None:
        """A flag of :data:`FLAVOR_WORDS` as the server's flavor has it; None: not set, or
        unknown."""
        said = None if self.flavor is None else self.flavor.certain_value(FLAVOR_WORDS[name])
        return None if said is None else as_flag(said)

    def clash(self, name: str, vcpus: int | None) -> bool:
        """True if server and flavor set this flag to different values. Nova reads the multiqueue
        flag only from two vCPUs on."""
        if name == MULTIQUEUE and (vcpus is None or vcpus < MULTIQUEUE_VCPUS):
            return False
        kept, said = self.flag(name), self.flavor_flag(name)
        return kept is not None and said is not None and kept != said

    def asks_for(self, name: str) -> bool:
        """True if the server's properties or its flavor are known to switch this flag on."""
        return bool(self.flag(name) or self.flavor_flag(name))

    def property(self, name: str) -> str | None:
        """One of the properties that Nova keeps; None: it is not set, or none are known."""
        return dict(self.stored_properties).get(name)


class CloudServer(msgspec.Struct, frozen=True):
    """Identity and place of a server. None: unknown (only admins can see it)."""

    id: str
    name: str
    project: str = ""
    host: str | None = None
    """The name that nova-compute has for its compute node (``OS-EXT-SRV-ATTR:host``)."""
    instance_name: str | None = None
    """Its name in libvirt."""
    zone: str = ""
    created: str = ""
    vm_state: str = ""
    task_state: str | None = None
    power_state: int | None = None
    locked: bool | None = None
    locked_reason: str = ""
    """The reason given when it was locked (microversion 2.73)."""
    volumes: int = 0
    """Number of attached volumes."""
    groups: tuple[str, ...] = ()
    """Ids of the server groups it is a member of, as far as they were read."""
    project_name: str = ""
    """Empty: unknown."""
    aggregates: tuple[Aggregate, ...] = ()
    """The aggregates of its host, as far as they were read."""
    target: str = ""
    """The cloud by the name that the user gave, ``openstack:NAME``."""
    image: str = ""
    """The id of the image that it was created from; empty: none (a volume), or unknown."""
    unjoined: str = ""
    """The reason why no nova.conf that was read matches its host; empty otherwise."""
