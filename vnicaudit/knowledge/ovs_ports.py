"""Ports of Open vSwitch's userspace datapath, and the threads (PMDs) that poll them.

Sources: netdev_dpdk_get_status, netdev_dpdk_vhost_user_get_status, netdev_dpdk_vhost_construct of
lib/netdev-dpdk.c, lib/dpif-netdev.c, Documentation/topics/dpdk/{pmd,vhost-user}.rst of Open vSwitch
(d6a632a).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.host_facts import HostGuest, Ovs, OvsPort, Pmd
from vnicaudit.model.rule import VisitedHost

VHOST_SERVER = "dpdkvhostuser"
VHOST_CLIENT = "dpdkvhostuserclient"
_VHOST = frozenset({VHOST_SERVER, VHOST_CLIENT})
_POLLED = frozenset({"dpdk", "afxdp", "dummy-pmd", *_VHOST})
"""Types of ports that PMDs poll. The main thread polls the others."""
_VDUSE = "/dev/vduse/"

SEGMENTATION_EVENTS = frozenset({
    "netdev_soft_seg_good",
    "dp_packet_gso",
    "dp_packet_partial_gso",
})  # fmt: skip
"""Events of ``coverage/show`` in which a segment was cut in software: since 3.3.0 (commit 8b5fe2d),
renamed for 4.0."""


def polled_ports(ovs: Ovs) -> Iterator[OvsPort]:
    """The ports that PMDs poll, without those that failed (VNIC126)."""
    for port in ovs.ports or ():
        if port.type in _POLLED and not port.error:
            yield port


def is_vhost(port: OvsPort) -> bool:
    """True for a port to a guest: vhost-user or VDUSE."""
    return port.type in _VHOST


def is_connected(port: OvsPort) -> bool:
    """True for a vhost port whose guest's driver has taken it."""
    return is_vhost(port) and port.status.get("status") == "connected"


def number(text: str | None) -> int | None:
    """A count in a map of the database."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def node_of(port: OvsPort) -> int | None:
    """The NUMA node of a port's device, or of its guest's memory; None: unknown."""
    for text in (port.status.get("numa_id"), port.status.get("numa"), port.options.get("numa_id")):
        if (node := number(text)) is not None:
            return node
    return None


def queues_of(port: OvsPort) -> int | None:
    """Receive queues that a port has now; None: unknown. A vhost port has those of its guest."""
    if is_vhost(port):
        vrings = number(port.status.get("num_of_vrings")) if is_connected(port) else None
        return None if vrings is None else vrings // 2
    asked = number(port.status.get("n_rxq")) or number(port.options.get("n_rxq"))
    most = number(port.status.get("max_rx_queues"))
    return asked if asked is None or most is None else min(asked, most)


def pollers(ovs: Ovs, port: OvsPort) -> Iterator[tuple[Pmd, int]]:
    """The PMDs that poll a port, each with the number of one of its enabled queues."""
    for pmd in ovs.pmds or ():
        for queue in pmd.queues:
            if queue.port == port.name and queue.enabled:
                yield pmd, queue.queue


def vduse_name(port: OvsPort) -> str | None:
    """The name of its VDUSE device; None: it has none."""
    path = port.options.get("vhost-server-path", "")
    return path[len(_VDUSE) :] if path.startswith(_VDUSE) else None


def guests_of(port: OvsPort, subject: VisitedHost) -> Iterator[HostGuest]:
    """The running guests that name a vhost port's socket, or the vDPA device made from it."""
    path = port.options.get("vhost-server-path", "")
    name = vduse_name(port)
    devices = subject.facts.vdpa or ()
    nodes = {device.path for device in devices if device.name == name and device.path}
    for guest in subject.guests:
        sockets = {nic.socket for nic in guest.nics if nic.socket}
        ends = {socket.rpartition("/")[2] for socket in sockets}
        is_named = port.name in ends if port.type == VHOST_SERVER else path in sockets
        if guest.running and (is_named or sockets & nodes):
            yield guest


def pmds_on(ovs: Ovs, node: int) -> tuple[Pmd, ...]:
    """The PMDs of a node."""
    return tuple(pmd for pmd in ovs.pmds or () if pmd.node == node)


def is_on(value: str | None) -> bool:
    """True for a switch of ``other_config`` that is on."""
    return (value or "").lower() == "true"
