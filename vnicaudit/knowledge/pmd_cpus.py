"""CPUs of Open vSwitch's polling threads (PMDs): who else has them, and which are free for more.

Sources: ovs-vswitchd.conf.db(5) (``pmd-cpu-mask``); Documentation/topics/dpdk/pmd.rst of Open
vSwitch: a PMD uses its CPU whole, so its sibling is left idle or polls too. Kubelet keeps CPUs that
it reserves from pods: the Node Tuning Operator of OpenShift adds those of polling threads to them
(enhancements/node-tuning/dedicated-cpus-for-dpdk-vswitch.md of openshift/enhancements, 9110adb0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.knowledge.cpu_lists import as_mask, from_mask
from vnicaudit.knowledge.host_setting_values import change_of
from vnicaudit.knowledge.host_settings import CHOOSE_PMDS, HostSetting
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import HostFacts, Ovs

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
