"""``GET /v2.0/networks`` and ``GET /v2.0/ports``: what networks may send and are made of, and the
ports of servers, kept small until their server comes.

Neutron tells admins alone what networks are made of, and leaves these fields out for everybody else
(Neutron 29.0.0, ``conf/policies/network.py`` ``get_network:provider:…``). A network with several
segments has them in ``segments`` (``plugins/ml2/managers.py``
``extend_network_with_provider_segments``). Of a port it tells a tenant what its policy lets him
see: ``binding:vnic_type``, and no other ``binding:`` (``conf/policies/port.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.server import PortBinding, ProviderNetwork
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.listing import Collection, Listing

_PAGE = 1000
_OWNER = "compute:"
"""``device_owner`` of a port that Nova plugged, before the zone (``network/neutron.py``). A subport
of a trunk has ``trunk:subport``: its traffic comes through the NIC of the trunk's parent."""
_NETWORK_FIELDS = (
    "id", "mtu", "provider:network_type", "provider:physical_network", "segments",
)  # fmt: skip
_PORT_FIELDS = (
    "id", "device_id", "device_owner", "mac_address", "network_id", "binding:vnic_type",
    "binding:vif_type", "binding:vif_details",
)  # fmt: skip
_LONGEST = 64
"""Characters of a physical network (neutron-lib, ``PHYSICAL_NETWORK_MAX_LEN``)."""
_LONGEST_KIND = 32
"""Characters of a network's type (``NETWORK_TYPE_MAX_LEN``)."""


class RawSegment(msgspec.Struct):
    physical: str | None = msgspec.field(name="provider:physical_network", default=None)


class RawNetwork(msgspec.Struct):
    """One network as Neutron says it. ``physical`` None: it has none; left out: that is not
    told."""

    id: str
    mtu: int | None = None
    kind: str | None = msgspec.field(name="provider:network_type", default=None)
    physical: str | msgspec.UnsetType | None = msgspec.field(
        name="provider:physical_network", default=msgspec.UNSET
    )
    segments: list[RawSegment] | None = None


class RawDetails(msgspec.Struct):
    datapath_type: str | None = None
    ovs_hybrid_plug: bool | None = None
    vhostuser_mode: str | None = None
    vhostuser_ovs_plug: bool | None = None


class RawPort(msgspec.Struct):
    """One port as Neutron says it."""

    id: str
    device_id: str | None = None
    device_owner: str | None = None
    mac: str | None = msgspec.field(name="mac_address", default=None)
    network: str | None = msgspec.field(name="network_id", default=None)
    vnic_type: str | None = msgspec.field(name="binding:vnic_type", default=None)
    vif_type: str | None = msgspec.field(name="binding:vif_type", default=None)
    details: RawDetails | None = msgspec.field(name="binding:vif_details", default=None)


class Bound(msgspec.Struct, frozen=True):
    """How a port is bound; many are bound alike, and share one."""

    binding: PortBinding = PortBinding()
    mode: str | None = None
    """Of a vhost-user socket, as libvirt is to open it: ``client`` or ``server``."""
    ovs: bool = False
    """That socket is Open vSwitch's."""


class Port(msgspec.Struct, frozen=True, gc=False):
    """One port of a server. ``id`` None: only its MAC is known."""

    id: str | None
    mac: str | None
    network: str = ""
    bound: Bound = Bound()


class Networks(Collection[RawNetwork]):
    """Networks by their id: the MTU of each, and what each is made of, as far as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.mtus: dict[str, int] = {}
        self.providers: dict[str, ProviderNetwork] = {}
        self._shared: dict[ProviderNetwork, ProviderNetwork] = {}

    def add(self, raw: RawNetwork) -> None:
        """Keep what is told of one."""
        if raw.mtu:
            self.mtus[raw.id] = raw.mtu
        if (provider := provider_network(raw)) is not None:
            self.providers[sys.intern(raw.id)] = self._shared.setdefault(provider, provider)


class Ports(Collection[RawPort]):
    """Ports by their server. ``bindings`` True: Neutron tells how they are bound. ``networks`` are
    by their ids."""

    def __init__(self, networks: Mapping[str, ProviderNetwork] | None = None) -> None:
        super().__init__()
        self._networks = networks or {}
        self.bindings = False
        self._of: dict[str, list[Port]] = {}
        self._bounds: dict[Bound, Bound] = {}

    @property
    def tells(self) -> bool | None:
        """True where Neutron tells how ports are bound, False where no port has a binding; None
        where no binding was seen, but the list is incomplete."""
        return True if self.bindings else False if self.complete else None

    def take(self, server: str) -> list[Port]:
        """Hand out the ports of one server, in Neutron's order; they are not kept any longer."""
        return self._of.pop(server, [])

    def add(self, raw: RawPort) -> None:
        """Keep one, where it is a server's."""
        if not raw.device_id or not (raw.device_owner or "").startswith(_OWNER):
            return
        self.bindings = self.bindings or bool(raw.vif_type)
        bound = _bound(raw, self._networks.get(raw.network or ""))
        port = Port(
            raw.id,
            raw.mac.lower() if raw.mac else None,
            sys.intern(raw.network or ""),
            self._bounds.setdefault(bound, bound),
        )
        self._of.setdefault(raw.device_id, []).append(port)


NETWORKS = Listing(
    "network", "/networks", "networks", json_decoder(RawNetwork), _PAGE,
    tuple(("fields", field) for field in _NETWORK_FIELDS),
)  # fmt: skip
PORTS = Listing(
    "network", "/ports", "ports", json_decoder(RawPort), _PAGE,
    tuple(("fields", field) for field in _PORT_FIELDS),
)  # fmt: skip


def read_network(client: Client) -> tuple[Ports, Networks]:
    """All ports and networks that this user may see, the networks first: ports name them."""
    networks = Networks().read(client, NETWORKS)
    return Ports(networks.providers).read(client, PORTS), networks


def provider_network(raw: RawNetwork) -> ProviderNetwork | None:
    """The physical network and the kind behind a network, as Nova reads them (34.0.0,
    ``network/neutron.py`` ``_get_physnet_tunneled_info``); None where Neutron does not tell, or the
    name is too long to be one."""
    if raw.segments:
        physical = next((one.physical for one in raw.segments if one.physical), "")
        provider = ProviderNetwork(physical, segmented=True)
    elif raw.physical is msgspec.UNSET:
        return None
    else:
        provider = ProviderNetwork(raw.physical or "", (raw.kind or "")[:_LONGEST_KIND])
    return provider if len(provider.physical) <= _LONGEST else None


def _bound(raw: RawPort, network: ProviderNetwork | None) -> Bound:
    details = raw.details or RawDetails()
    return Bound(
        PortBinding(
            vnic_type=raw.vnic_type or "",
            vif_type=raw.vif_type or "",
            datapath=details.datapath_type or "",
            hybrid=details.ovs_hybrid_plug,
            network=network,
        ),
        details.vhostuser_mode,
        bool(details.vhostuser_ovs_plug),
    )
