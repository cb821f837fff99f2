"""A server of OpenStack: Nova's record of it, besides the definition made from that record.

Source of the names: Nova 34.0.0, ``api/openstack/compute/views/servers.py`` and its
``rest_api_version_history.rst``; ``objects/instance.py`` (``image_meta``, made of
``system_metadata`` ``image_*``).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.nova import PciEntry
from vnicaudit.model.openstack import Flavor, Image, as_flag, normal_vif_model

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
    are ``(option of [libvirt], value)``, with defaults filled in; ``file`` is its path. ``devices``
    are all of ``[pci] device_spec``; None if they are unknown."""

    file: str
    values: tuple[tuple[str, str], ...] = ()
    devices: tuple[PciEntry, ...] | None = None

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
