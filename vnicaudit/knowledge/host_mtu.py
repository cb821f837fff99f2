"""Links on the way of a guest's frames that are too narrow for its MTU.

Source: a bridge drops a frame that is larger than the MTU of the port by which it leaves
(net/bridge/br_forward.c of Linux, ``br_dev_queue_push_xmit``), Open vSwitch as well
(net/openvswitch/vport.c, ``ovs_vport_send``); a bridge's own MTU is that of the host's packets.
Which of its ports a frame takes on Open vSwitch depends on its flows: there a port is too narrow if
all others are as well.
"""

from __future__ import annotations

from vnicaudit.knowledge.host_links import is_on_ovs, leads_out, way_of
from vnicaudit.knowledge.host_tunnels import ovs_tunnels, ovs_uplinks
from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, NicOnHost


def too_narrow_for(
    facts: HostFacts, link: HostLink, guests: tuple[HostGuest, ...]
) -> dict[str, int]:  # fmt: skip
    """Guest -> MTU of its NIC, for those whose frames of that size cannot take this link."""
    mtu = link.mtu
    if mtu is None or link.kind in ("bridge", "openvswitch"):
        return {}
    return {
        guest.name: nic.mtu
        for guest in guests
        for nic in guest.nics
        if nic.mtu is not None and nic.mtu > mtu and _takes(facts, link, nic, nic.mtu)
    }


def _takes(facts: HostFacts, link: HostLink, nic: NicOnHost, size: int) -> bool:
    """True if frames of a NIC must take this link, and no other rule judges it."""
    tap = facts.link(nic.device)
    if tap is None or link.name not in way_of(facts, nic.device, through_tunnels=False):
        return False
    is_way_out = link is not tap and leads_out(link)
    if nic.is_path_judged and (link is tap or (is_way_out and link.master == tap.master)):
        return False
    if link is tap or not is_on_ovs(facts, link):
        return True
    wide = (other for other in ovs_uplinks(facts) if (other.mtu or size) >= size)
    return not any(True for _each in wide) and not any(True for _each in ovs_tunnels(facts))
