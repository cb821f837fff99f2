"""libvirt networks: the type that an interface of ``type='network'`` gets.

Source: libvirt 11.3 ``virDomainNetResolveActualType`` (src/conf) and ``networkAllocatePort``
(src/network/bridge_driver.c). A portgroup changes virtual port, VLAN and bandwidth, never the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Network
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.platforms.domain_xml.documents import documents

_DIRECT = frozenset({"private", "vepa", "passthrough"})


def network_of(text: str) -> Network:
    """The network that a ``<network>`` document defines. Raises TargetError if it is not XML."""
    root = next(documents(text.encode(), "network")).root
    forward = root.find("forward")
    bridge = root.find("bridge")
    mode = None if forward is None else forward.get("mode", "nat")
    has_bridge = bridge is not None and bridge.get("name") is not None
    return Network(
        name=(root.findtext("name") or "").strip(),
        actual_type=actual_type(mode, has_bridge=has_bridge),
    )


def actual_type(forward: str | None, *, has_bridge: bool) -> str:
    """``bridge``, ``direct`` or ``hostdev``, by forward mode (None: isolated).

    nat, route, open and isolated networks have a bridge of libvirt's own. ``bridge`` is a bridge of
    the host if one is named, and macvtap otherwise.
    """
    if forward == "hostdev":
        return "hostdev"
    if forward in _DIRECT or (forward == "bridge" and not has_bridge):
        return "direct"
    return "bridge"


def resolve_networks(domain: Domain, networks: Mapping[str, Network]) -> Domain:
    """The domain with ``actual_type`` filled in for its NICs on known networks (by name); the
    others are unchanged."""
    if not any(_unresolved(nic) for nic in domain.nics):
        return domain
    nics = tuple(_resolve(nic, networks) for nic in domain.nics)
    return msgspec.structs.replace(domain, nics=nics)


def _unresolved(nic: Nic) -> bool:
    return nic.declared.type == "network" and nic.declared.actual_type is None


def _resolve(nic: Nic, networks: Mapping[str, Network]) -> Nic:
    network = networks.get(nic.source or "") if _unresolved(nic) else None
    if network is None:
        return nic
    return msgspec.structs.replace(nic, declared=_resolved(nic.declared, network.actual_type))


@lru_cache(maxsize=1024)  # NICs with equal settings share one record
def _resolved(declared: NicConfig, actual_type: str) -> NicConfig:
    return msgspec.structs.replace(declared, actual_type=actual_type)
