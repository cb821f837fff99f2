"""``GET /v2.0/networks`` and ``GET /v2.0/ports``: the MTU and the provider attributes of networks,
and the ports of servers, kept in a small form until their server comes.

Neutron shows provider attributes only to admins, and leaves these fields out for everybody else
(Neutron 29.0.0, ``conf/policies/network.py`` ``get_network:provider:…``). A network with several
segments has them in ``segments`` (``plugins/ml2/managers.py``
``extend_network_with_provider_segments``). Of a port it shows a tenant what its policy allows:
``binding:vnic_type``, and no other ``binding:`` (``conf/policies/port.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.openstack import PortBinding, ProviderNetwork
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.listing import Collection, Listing

_PAGE = 1000
_OWNER = "compute:"
"""Prefix of ``device_owner`` of a port that Nova plugged, before the zone
(``network/neutron.py``). A subport of a trunk has ``trunk:subport``: its traffic comes through
the NIC of the trunk's parent."""
_NETWORK_FIELDS = (
    "id", "mtu", "provider:network_type", "provider:physical_network", "segments",
)  # fmt: skip
_PORT_FIELDS = (
    "id", "device_id", "device_owner", "mac_address", "network_id", "binding:vnic_type",
    "binding:vif_type", "binding:vif_details",
)  # fmt: skip


class RawSegment(msgspec.Struct):
    physical: str | None = msgspec.field(name="provider:physical_network", default=None)


class RawNetwork(msgspec.Struct):
    """One network in Neutron's answer. ``physical`` None: it has none; missing: not reported."""

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
    """One port in Neutron's answer."""

    id: str
    device_id: str | None = None
    device_owner: str | None = None
    mac: str | None = msgspec.field(name="mac_address", default=None)
    network: str | None = msgspec.field(name="network_id", default=None)
    vnic_type: str | None = msgspec.field(name="binding:vnic_type", default=None)
    vif_type: str | None = msgspec.field(name="binding:vif_type", default=None)
    details: RawDetails | None = msgspec.field(name="binding:vif_details", default=None)


class Bound(msgspec.Struct, frozen=True):
    """The binding of a port; ports with equal bindings share one record."""

    binding: PortBinding = PortBinding()
    mode: str | None = None
    """Mode in which libvirt opens a vhost-user socket: ``client`` or ``server``."""
    ovs: bool = False
    """The socket is Open vSwitch's."""


class Port(msgspec.Struct, frozen=True, gc=False):
    """One port of a server. ``id`` None: only its MAC is known."""

    id: str | None
    mac: str | None
    network: str = ""
    bound: Bound = Bound()


class Networks(Collection[RawNetwork]):
    """Networks by id: the MTU and the provider attributes of each, as far as they are reported."""

    def __init__(self) -> None:
        super().__init__()
        self.mtus: dict[str, int] = {}
        self.providers: dict[str, ProviderNetwork] = {}
        self._shared: dict[ProviderNetwork, ProviderNetwork] = {}

    def add(self, raw: RawNetwork) -> None:
        """Add a network."""
        if raw.mtu:
            self.mtus[raw.id] = raw.mtu
        if (provider := provider_network(raw)) is not None:
            self.providers[sys.intern(raw.id)] = self._shared.setdefault(provider, provider)


class Ports(Collection[RawPort]):
    """Ports by server. ``bindings`` True: Neutron reports how they are bound. ``networks`` are by
    id."""

    def __init__(self, networks: Mapping[str, ProviderNetwork] | None = None) -> None:
        super().__init__()
        self._networks = networks or {}
        self.bindings = False
        self._of: dict[str, list[Port]] = {}
        self._bounds: dict[Bound, Bound] = {}

    @property
    def tells(self) -> bool | None:
        """True if Neutron reports how ports are bound, False if no port has a binding; None if no
        binding was seen, but the list is incomplete."""
        return True if self.bindings else False if self.complete else None

    def take(self, server: str) -> list[Port]:
        """Return the ports of one server, in Neutron's order, and forget them."""
        return self._of.pop(server, [])

    def add(self, raw: RawPort) -> None:
        """Add a port, if it belongs to a server."""
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
    """All ports and networks that this user may see; networks are read first, because ports name
    them."""
    networks = Networks().read(client, NETWORKS)
    return Ports(networks.providers).read(client, PORTS), networks


def provider_network(raw: RawNetwork) -> ProviderNetwork | None:
    """The physical network and the type of a network, as Nova reads them (34.0.0,
    ``network/neutron.py`` ``_get_physnet_tunneled_info``); None if Neutron does not report
    them."""
    if raw.segments:
        physical = next((one.physical for one in raw.segments if one.physical), "")
        return ProviderNetwork(physical, segmented=True)
    if raw.physical is msgspec.UNSET:
        return None
    return ProviderNetwork(raw.physical or "", raw.kind or "")


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
