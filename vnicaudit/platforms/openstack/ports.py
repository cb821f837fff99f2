"""``GET /v2.0/ports``: the ports of servers, kept small until their server comes.

What Neutron tells a tenant of a port is what its policy lets him see: ``binding:vnic_type``, and no
other ``binding:`` (Neutron 29.0.0, ``conf/policies/port.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import PortBinding, ProviderNetwork
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.pages import Listing, pages, read_error

_PAGE = 1000
_OWNER = "compute:"
"""``device_owner`` of a port that Nova plugged, before the zone (``network/neutron.py``). A subport
of a trunk has ``trunk:subport``: its traffic comes through the NIC of the trunk's parent."""
_FIELDS = (
    "id", "device_id", "device_owner", "mac_address", "network_id", "binding:vnic_type",
    "binding:vif_type", "binding:vif_details",
)  # fmt: skip
_LISTING = Listing(
    "network", "/ports", "ports", _PAGE, tuple(("fields", field) for field in _FIELDS)
)


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


class Ports:
    """Ports by their server. ``complete`` False: not all are here, ``errors`` say why.
    ``bindings`` True: Neutron tells how they are bound. ``networks`` are by their ids."""

    def __init__(self, networks: Mapping[str, ProviderNetwork] | None = None) -> None:
        self._networks = networks or {}
        self.complete = False
        self.bindings = False
        self.errors: list[ReadError] = []
        self._of: dict[str, list[Port]] = {}
        self._bounds: dict[Bound, Bound] = {}

    @property
    def tells(self) -> bool | None:
        """Whether Neutron tells how ports are bound; None: what was read of them has none that is,
        and not all were read."""
        return True if self.bindings else False if self.complete else None

    def take(self, server: str) -> list[Port]:
        """Those of one server, in Neutron's order; not kept any longer."""
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


def read_ports(calls: Calls, networks: Mapping[str, ProviderNetwork]) -> Ports:
    """All ports this user may see. Where Neutron fails half-way they are those it gave by then."""
    found = Ports(networks)
    try:
        for page in pages(calls, _LISTING, json_decoder(RawPort)):
            found.errors += page.errors
            for raw in page.items:
                found.add(raw)
        found.complete = not found.errors
    except TargetError as error:
        found.errors.append(read_error(error))
    return found


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
