"""Ports of Open vSwitch's userspace datapath, the threads (PMDs) that poll them, and the CPUs of
these: who else has them, and which are free for more.

Sources: netdev_dpdk_get_status, netdev_dpdk_vhost_user_get_status, netdev_dpdk_vhost_construct of
lib/netdev-dpdk.c, lib/dpif-netdev.c, Documentation/topics/dpdk/{pmd,vhost-user}.rst of Open vSwitch
(d6a632a): a PMD uses its CPU whole, so its sibling is left idle or polls too;
ovs-vswitchd.conf.db(5) (``pmd-cpu-mask``). Kubelet keeps CPUs that it reserves from pods: the Node
Tuning Operator of OpenShift adds those of polling threads to them
(enhancements/node-tuning/dedicated-cpus-for-dpdk-vswitch.md of openshift/enhancements, 9110adb0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.knowledge.cpu_lists import as_mask, from_mask
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import CHOOSE_PMDS, HostSetting
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import HostFacts, HostGuest, Ovs, OvsPort, Pmd
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
    node = (subject.facts.vdpa or {}).get(vduse_name(port) or "")
    for guest in subject.guests:
        sockets = {nic.socket for nic in guest.nics if nic.socket}
        ends = {socket.rpartition("/")[2] for socket in sockets}
        is_named = port.name in ends if port.type == VHOST_SERVER else path in sockets
        if guest.running and (is_named or node in sockets):
            yield guest


def pmds_on(ovs: Ovs, node: int) -> tuple[Pmd, ...]:
    """The PMDs of a node."""
    return tuple(pmd for pmd in ovs.pmds or () if pmd.node == node)


def is_on(value: str | None) -> bool:
    """True for a switch of ``other_config`` that is on."""
    return (value or "").lower() == "true"


# Their CPUs.


MASK = HostSetting("ovs", name="pmd-cpu-mask")
_MOVES = (
    "queues move to other threads at once, with a loss of packets, and nothing else may run there"
)


def cpus_of_pmds(ovs: Ovs) -> set[int]:
    """CPUs of PMDs that run, else those of the mask."""
    mask = from_mask((ovs.other_config or {}).get(MASK.name, "")) or ()
    return {pmd.core for pmd in ovs.pmds or ()} or set(mask)


def uses_of_cpus(facts: HostFacts) -> Iterator[tuple[str, set[int]]]:
    """Uses of CPUs beside PMDs: in words, and the CPUs."""
    cpus, config = facts.cpus, facts.ovs.other_config or {}
    yield "in dpdk-lcore-mask", set(from_mask(config.get("dpdk-lcore-mask", "")) or ())
    yield "in Nova's cpu_dedicated_set", set(cpus.nova_dedicated or ())
    yield "in Nova's cpu_shared_set", set(cpus.nova_shared or ())
    online = set(cpus.online or ())
    for process in facts.processes or ():
        threads = (set(each.cpus or ()) for each in process.threads if each.role == "vcpu")
        pinned = set[int]().union(*(each for each in threads if each < online))
        yield f"that of a vCPU of {process.guest or process.pid}", pinned


def for_pods(facts: HostFacts) -> set[int]:
    """CPUs that kubelet may give to pods; empty without it."""
    kept = facts.cpus.kubelet_reserved
    return set() if kept is None else set(facts.cpus.online or ()) - set(kept)


def change_of_mask(facts: HostFacts, nodes: Iterable[int]) -> Change | None:
    """The change of the mask that adds, on each of these nodes, one core that the scheduler leaves
    alone and that nobody has; None: one of them has none, or not everything is known."""
    if facts.ovs.other_config is None:
        return None
    wanted = set(from_mask(facts.ovs.other_config.get(MASK.name, "")) or ())
    cores = [_free_core(facts, wanted, node) for node in sorted(set(nodes))]
    if not cores or not all(cores):
        return None
    return change_of(facts, MASK, f"0x{as_mask(wanted.union(*cores))}", _MOVES, safe=False)


def more_on(facts: HostFacts, node: int) -> tuple[Change | None, str]:
    """The change of the mask that adds a core of this node, or the words that ask for one."""
    change = change_of_mask(facts, [node])
    return change, "" if change else f"Add a CPU of node {node} to the mask: {CHOOSE_PMDS}"


def change_without(facts: HostFacts, shared: set[int]) -> Change | None:
    """The change of the mask that has, in place of each core with one of the shared CPUs, another
    one of its node; None: one node has none that is free, queues are bound to one of these PMDs
    (``pmd-rxq-affinity``), or not everything is known."""
    ovs, cores = facts.ovs, facts.cpus.cores or ()
    if ovs.pmds is None or ovs.other_config is None:
        return None
    mask = set(from_mask(ovs.other_config.get(MASK.name, "")) or ())
    left = [set(core) for core in cores if mask.intersection(core) and shared.intersection(core)]
    gone = set[int]().union(*left) & mask
    if not {pmd.core for pmd in ovs.pmds} <= mask or not shared <= set[int]().union(*left):
        return None
    if any(pmd.isolated and pmd.core in gone for pmd in ovs.pmds):
        return None
    wanted, nodes = set(mask), facts.cpus.nodes or {}
    for core in left:
        node = next((node for node, cpus in nodes.items() if core.issubset(cpus)), -1)
        free = _free_core(facts, wanted, node)
        if not free:
            return None
        wanted |= free
    return change_of(facts, MASK, f"0x{as_mask(wanted - gone)}", _MOVES, safe=False)


def _free_core(facts: HostFacts, wanted: set[int], node: int) -> set[int]:
    cpus = facts.cpus
    used = wanted.union(for_pods(facts), *(each for _words, each in uses_of_cpus(facts)))
    free = set((cpus.nodes or {}).get(node, ())) & set(cpus.isolated or ()) & set(cpus.online or ())
    whole = (set(core) for core in cpus.cores or () if free.issuperset(core))
    return next((core for core in whole if not core & used), set())
