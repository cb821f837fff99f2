"""A server's ports -> its NICs, as Nova's libvirt driver writes them.

Source: Nova 34.0.0, ``virt/libvirt/vif.py`` (``get_base_config``, ``get_config``),
``virt/libvirt/designer.py``, ``network/os_vif_util.py`` and ``network/model.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.model.location import Location
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic, NicConfig, is_multicast
from vnicaudit.platforms.openstack.ports import Bound, Port

ASSIGNED = frozenset({
    "direct", "direct-physical", "accelerator-direct", "accelerator-direct-physical",
    "remote-managed",
})  # fmt: skip
"""``VNIC_TYPES_DIRECT_PASSTHROUGH`` but for vdpa."""
BARE_METAL = frozenset({"baremetal", "smart-nic"})
"""Of servers that Ironic runs."""

_BY_VNIC_TYPE = {"vdpa": "vdpa", "virtio-forwarder": "vhostuser", "macvtap": "direct"}
_BY_VIF_TYPE = {
    "bridge": "bridge",
    "vhostuser": "vhostuser",
    "macvtap": "direct",
    "802.1qbg": "direct",
    "tap": "ethernet",
    "midonet": "ethernet",
    "iovisor": "ethernet",
    "vrouter": "ethernet",
    "ivs": "ethernet",
    "hostdev_physical": "hostdev",
    "ib_hostdev": "hostdev",
}
_BY_OVS = frozenset({"ovs", "agilio_ovs"})
_DEVICES = frozenset({"hostdev_physical", "ib_hostdev"})
"""``<hostdev>`` and no ``<interface>``."""
_WITH_MTU = frozenset({"bridge", "ethernet"})
"""Nova writes ``<mtu>`` for these alone (``virt/libvirt/config.py``)."""


class AllNics(NamedTuple):
    """What Nova knows of all NICs of a server. ``model``: kept ``hw_vif_model``; None: not known.
    ``queues``: with multiqueue, how many; ``packed``: packed rings. ``taps``: os-vif makes the tap
    of Open vSwitch, as since 23.0."""

    model: str | None = None
    queues: int | None = None
    packed: bool = False
    taps: bool = True


def nics_of(
    server: str, ports: Iterable[Port], all_nics: AllNics, mtus: Mapping[str, int], target: str
) -> tuple[Nic, ...]:
    """The NICs of a server in the order of its ports."""
    return tuple(
        _nic(index, server, port, all_nics, mtus.get(port.network), target)
        for index, port in enumerate(ports)
    )


def in_order(ports: list[Port], macs: list[str], *, complete: bool) -> list[Port]:
    """Ports in the order of Nova's addresses, then those without one. ``complete`` False: not all
    ports were read, so that an address whose MAC no port has is a NIC as well."""
    places = {mac: place for place, mac in enumerate(macs)}
    found = list(ports)
    if not complete:
        known = {port.mac for port in ports}
        found += [Port(None, mac) for mac in macs if mac not in known]
    return sorted(found, key=lambda port: places.get(port.mac or "", len(places)))


def _nic(
    index: int, server: str, port: Port, all_nics: AllNics, mtu: int | None, target: str
) -> Nic:
    kind = "addresses" if port.id is None else "ports"
    return Nic(
        index,
        replace(_config(port.bound, all_nics, mtu), multicast=is_multicast(port.mac)),
        Location(target, xpath=f"servers/{server}/{kind}/{port.id or port.mac}"),
        mac=port.mac,
        source=port.id,
    )


def _config(bound: Bound, all_nics: AllNics, mtu: int | None) -> NicConfig:
    """Beside its type only what Nova writes for that type."""
    kind = _type(bound, taps=all_nics.taps)
    model = _model(bound, kind, all_nics.model)
    socket = kind == "vhostuser"
    return NicConfig(
        type=kind or "network",
        origin="hostdev" if kind == "hostdev" and _device(bound) else "interface",
        actual_type=kind,
        model=model,
        source_mode=(bound.mode or "server") if socket and bound.binding.vif_type else None,
        queues=all_nics.queues if model in VIRTIO else None,
        packed="on" if all_nics.packed and kind != "hostdev" else None,
        mtu=mtu if kind in _WITH_MTU else None,
        ovs_socket=socket and bound.ovs,
    )


def _type(bound: Bound, *, taps: bool) -> str | None:
    """``<interface type=…>``; None where Neutron does not say enough."""
    vnic, vif = bound.binding.vnic_type, bound.binding.vif_type
    if vnic in ASSIGNED:
        return "hostdev"
    if vnic in _BY_VNIC_TYPE:
        return _BY_VNIC_TYPE[vnic]
    if vif in _BY_OVS:
        return "ethernet" if taps and not bound.binding.hybrid else "bridge"
    return _BY_VIF_TYPE.get(vif)


def _model(bound: Bound, kind: str | None, kept: str | None) -> str | None:
    """Nova writes none for what is passed through, vDPA among it, and virtio for the macvtap of
    Neutron's agent whatever else is said (``set_vif_host_backend_direct_config``)."""
    if kind in ("hostdev", "vdpa"):
        return None
    return "virtio" if bound.binding.vif_type == "macvtap" else kept


def _device(bound: Bound) -> bool:
    return bound.binding.vif_type in _DEVICES or bound.binding.vnic_type.endswith("-physical")
