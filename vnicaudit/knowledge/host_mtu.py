"""Links on the way of a guest's frames that are too narrow for its MTU.

Source: a bridge drops a frame that is larger than the MTU of the port by which it leaves
(net/bridge/br_forward.c of Linux, ``br_dev_queue_push_xmit``), Open vSwitch as well
(net/openvswitch/vport.c, ``ovs_vport_send``); a bridge's own MTU is that of the host's packets.
Which of its ports a frame takes on Open vSwitch depends on its flows: there a port is too narrow if
all others are as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.knowledge.host_links import Ways, is_on_ovs, leads_out
from vnicaudit.knowledge.host_tunnels import ovs_tunnels, ovs_uplinks
from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, NicOnHost

_ANY = 1 << 32
"""An MTU for frames of any size."""


def too_narrow_for(
    facts: HostFacts, link: HostLink, guests: Iterable[HostGuest]
) -> dict[str, int]:  # fmt: skip
    """Guest -> MTU of its NIC, for those of the guests behind a link whose frames of that size
    cannot take it."""
    mtu = link.mtu
    if mtu is None or link.kind in ("bridge", "openvswitch"):
        return {}
    larger = [
        (guest.name, nic, nic.mtu)
        for guest in guests
        for nic in guest.nics
        if nic.mtu is not None and nic.mtu > mtu and not _is_judged(facts, link, nic)
    ]
    own = {name: size for name, nic, size in larger if nic.device == link.name}
    if own or not larger:
        return own
    ways, most = Ways(facts), _widest_beside(facts, link)
    return {
        name: size
        for name, nic, size in larger
        if link.name in ways.of(nic.device, through_tunnels=False) and (most is None or most < size)
    }


def _is_judged(facts: HostFacts, link: HostLink, nic: NicOnHost) -> bool:
    """True if this link is judged with the NIC itself."""
    tap = facts.link(nic.device) if nic.is_path_judged else None
    return tap is not None and (
        link.name == tap.name or (leads_out(link) and link.master == tap.master)
    )


def _widest_beside(facts: HostFacts, link: HostLink) -> int | None:
    """The largest MTU with which frames may leave Open vSwitch instead of by this link of it;
    None: it is no port there."""
    if not is_on_ovs(facts, link):
        return None
    if any(True for _each in ovs_tunnels(facts)):
        return _ANY
    return max((other.mtu or _ANY for other in ovs_uplinks(facts)), default=0)
