"""Devices of a compute node for a server's port on vDPA: ``[pci] device_spec`` of its nova.conf,
compared with the port's network.

Sources: :mod:`vnicaudit.knowledge.pci_offers`; Nova 34.0.0, ``network/neutron.py``
``_get_physnet_tunneled_info`` (with several segments, none of which has a physical network, Nova
gives up).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from vnicaudit.base.shell import word
from vnicaudit.knowledge.pci_offers import PciOffer, offers
from vnicaudit.knowledge.pci_spec import refusal_reasons
from vnicaudit.model.server import NodeFacts, ProviderNetwork, ServerConfig


class Prerequisite(NamedTuple):
    """One prerequisite. If it is ``unknown``, its ``text`` says what would show it."""

    verdict: Literal["ok", "missing", "unknown"]
    text: str


_SHOWN = 3
"""Maximum number of networks named in a message."""
_LONGEST = 64
"""Maximum number of characters shown of a name that a user entered; no physical network has a
longer one."""
_SPEC = "[pci] device_spec"


def device_listed(config: ServerConfig, network: ProviderNetwork | None, host: str) -> Prerequisite:
    """The prerequisite that nova.conf lets Nova give a device of the node to the port."""
    if network is not None and network.segmented and not network.physical:
        return Prerequisite(
            "missing",
            "a physical network: no segment of the port's network has one, and Nova refuses a "
            "port on such a network",
        )
    node = config.node
    if node is None:
        return Prerequisite(
            "unknown",
            f"whether {_SPEC} of {host} names the virtual function behind a vDPA device: give its "
            "nova.conf together with the cloud",
        )
    if node.devices is None:
        return Prerequisite(
            "unknown",
            f"whether {_SPEC} names the virtual function behind a vDPA device: in {node.file} a "
            "template or another option decides, or it is too long to be judged",
        )
    return _device_prerequisite(config, node, network, host)


def device_free(
    network: ProviderNetwork | None, port: str | None, host: str, openstack: str
) -> Prerequisite:
    """The prerequisite that a device is free, which only the node shows. ``openstack``: the
    client's command for this cloud."""
    there = f"whether a vDPA device is free on {host}, made on a virtual function of a card"
    if network is not None:
        on = (
            f"on {network.physical}"
            if network.physical
            else "that carries networks without a physical one"
        )
        return Prerequisite("unknown", f"{there} {on} (Nova makes none): vdpa dev show there")
    return Prerequisite(
        "unknown",
        f"{there} on this network (Nova makes none): vdpa dev show there, and {openstack} port "
        f"show -c network_id {word(port or 'PORT')}, then {openstack} network show -c "
        "provider:network_type -c provider:physical_network",
    )


def _device_prerequisite(
    config: ServerConfig, node: NodeFacts, network: ProviderNetwork | None, host: str
) -> Prerequisite:
    if not node.devices:
        text = f"{_SPEC}: {node.file} does not set it, so Nova assigns no device of {host}"
        return Prerequisite("missing", text)
    release = (config.nova.oldest if config.nova else None) or 0
    for entry in node.devices:
        for reason in refusal_reasons(entry.value, release):
            text = f"{_SPEC} with which nova-compute starts: {entry.place}: {reason}"
            return Prerequisite("missing", text)
    found = list(offers(node.devices))
    reached = [one for one in found if not one.behind]
    if not found:
        return Prerequisite(
            "missing",
            f"{_SPEC} for such a port: of what {node.file} lists nothing has a physical_network "
            'that is text or null, and no remote_managed but "false" (as text)',
        )
    if not reached:
        return _behind_another("such a port", found[0])
    return _network_unknown(reached, node.file) if network is None else _for_network(found, network)


def _behind_another(what: str, offer: PciOffer) -> Prerequisite:
    return Prerequisite(
        "missing",
        f"{_SPEC} for {what}: no device comes to {offer.place}, since Nova takes the first entry "
        f"that a device matches, and {offer.behind} matches all of its devices",
    )


def _network_unknown(reached: list[PciOffer], file: str) -> Prerequisite:
    """The prerequisite ``unknown`` for a port whose physical network is not known."""
    if all(one.network is None for one in reached):
        return Prerequisite(
            "unknown",
            f"whether the port's network is without a physical one: none of {_SPEC} in {file} has "
            f"physical_network, so its devices are for such networks only ({reached[0].place})",
        )
    return Prerequisite(
        "unknown",
        f"whether the port's network is one of those that {_SPEC} gives devices for: "
        f"{_networks_text(reached)}; only an administrator can see it (provider:physical_network)",
    )


def _for_network(found: list[PciOffer], network: ProviderNetwork) -> Prerequisite:
    """The prerequisite for a port with this network: Nova asks for a device on its physical
    network, or for one without a physical network if it has none."""
    kind = f" ({network.kind})" if network.kind else ""
    name = network.physical or "networks without a physical one"
    matching = [one for one in found if one.is_for(network.physical)]
    for one in matching:
        if not one.behind:
            why = "where the port's network is" if network.physical else f"as the port's is{kind}"
            text = f"{_SPEC} gives devices to ports on {name}, {why} ({one.place})"
            return Prerequisite("ok", text)
    if matching:
        return _behind_another(name, matching[0])
    others = _networks_text(one for one in found if not one.behind)
    if network.physical:
        text = f"{_SPEC} for {name}, where the port's network is: none of the entries is for {name}"
        return Prerequisite("missing", f"{text}, but for {others}")
    return Prerequisite(
        "missing",
        f"{_SPEC} for {name}, as the port's is{kind}: Nova gives it a device of an entry without "
        f"physical_network, or with null, and all are for {others}",
    )


def _networks_text(found: Iterable[PciOffer]) -> str:
    """Each network, with the place of its first entry."""
    places: dict[str | None, str] = {}
    for one in found:
        places.setdefault(one.network, one.place)
    without = places.pop(None, None)
    named = [f"{name[:_LONGEST]} ({place})" for name, place in places.items() if name is not None]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    text = ", ".join(named[:_SHOWN]) + more
    tunnels = "" if without is None else f"networks without a physical one ({without})"
    return f"{text}, and {tunnels}" if text and tunnels else text or tunnels
