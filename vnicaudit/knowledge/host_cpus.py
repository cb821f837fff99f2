"""Which CPUs of a host serve whom, by what is in effect: the node of an adapter, CPUs that the
scheduler leaves alone, those of polling threads, and those that guests have for themselves.

Sources: Documentation/admin-guide/kernel-parameters.txt of Linux (``isolcpus=[flags,]list``,
``nohz_full``); ovs-vswitchd.conf.db(5) (``pmd-cpu-mask``); configuration of Nova
(``[compute] cpu_dedicated_set``). A device whose ``numa_node`` is -1 has no node
(Documentation/ABI/testing/sysfs-bus-pci): every CPU is as near.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vnicaudit.knowledge.cpu_lists import from_list, from_mask
from vnicaudit.model.host_facts import Cpus, CpuShare, HostFacts, HostLink, Interrupt

CpuSet = frozenset[int]
NO_CPUS: CpuSet = frozenset()

_ISOLCPUS_FLAGS = frozenset({"domain", "managed_irq", "nohz"})
_PROFILE = "performance-profile"


def online(facts: HostFacts) -> CpuSet | None:
    """CPUs that are online; None: unknown."""
    return None if facts.cpus.online is None else frozenset(facts.cpus.online)


def near(facts: HostFacts, link: HostLink) -> CpuSet | None:
    """CPUs of the node that a link's device is on: all of them where the host has one node, or the
    device none; None: unknown."""
    here = online(facts)
    nodes = facts.cpus.nodes
    if here is None or link.node == -1 or (nodes is not None and len(nodes) == 1):
        return here
    if nodes is None or link.node not in nodes:
        return None
    return frozenset(nodes[link.node]) & here


def isolcpus(line: dict[str, str] | None) -> tuple[frozenset[str], Cpus | None]:
    """The flags of ``isolcpus=``, ``domain`` if it has none, and its CPUs. Flags stand before the
    list; unknown ones are skipped (``housekeeping_isolcpus_setup``, kernel/sched/isolation.c)."""
    text = (line or {}).get("isolcpus", "")
    listed = re.sub(r"\A(?:[A-Za-z][A-Za-z_]*(?:,|\Z))+", "", text)
    flags = _ISOLCPUS_FLAGS.intersection(text.removesuffix(listed).split(","))
    return flags or frozenset({"domain"}), from_list(listed)


def isolated(facts: HostFacts) -> CpuSet:
    """CPUs that the kernel was told to keep free, whether of the scheduler's balancing, of managed
    interrupts or of ticks; empty where nothing tells of any."""
    cpus = facts.cpus
    return frozenset((
        *(cpus.isolated or ()),
        *(cpus.nohz_full or ()),
        *(isolcpus(cpus.command_line)[1] or ()),
    ))  # fmt: skip


def polled(facts: HostFacts) -> CpuSet:
    """CPUs of Open vSwitch's polling threads (PMD): those that run, else those that its mask
    names."""
    ovs = facts.ovs
    if ovs.pmds is not None:
        return frozenset(pmd.core for pmd in ovs.pmds)
    mask = (ovs.other_config or {}).get("pmd-cpu-mask", "") if ovs.dpdk else ""
    return frozenset(from_mask(mask) or ())


def pinned(facts: HostFacts) -> CpuSet:
    """CPUs that a vCPU is pinned to: it may run there and nowhere else. A vCPU that may run on
    several is confined, not pinned, and on a host with one CPU nothing is."""
    if facts.cpus.online is not None and len(facts.cpus.online) == 1:
        return NO_CPUS
    return frozenset(
        thread.cpus[0]
        for process in facts.processes or ()
        for thread in process.threads
        if thread.role == "vcpu" and thread.cpus is not None and len(thread.cpus) == 1
    )


def dedicated(facts: HostFacts) -> CpuSet:
    """CPUs kept for pinned vCPUs: by Nova's configuration, or because one is pinned there."""
    return pinned(facts) | frozenset(facts.cpus.nova_dedicated or ())


def housekeeping(facts: HostFacts) -> CpuSet | None:
    """CPUs that are left for the host's own work, such as interrupts; None: unknown."""
    here = online(facts)
    return None if here is None else here - isolated(facts) - polled(facts) - dedicated(facts)


def not_for_packets(facts: HostFacts, cpus: Iterable[int]) -> dict[str, CpuSet]:
    """Those among some CPUs that are to handle no packets of the host, by the reason."""
    named = frozenset(cpus)
    found = {
        "isolated": named & isolated(facts),
        "polling threads": named & polled(facts),
        "pinned vCPUs": named & dedicated(facts),
        "offline": named - (online(facts) or named),
    }
    return {why: those for why, those in found.items() if those}


def is_profiles_mask(facts: HostFacts, cpus: Cpus) -> bool:
    """True for a mask of RPS that the host's profile sets: the kernel's default for new devices
    (``rps_default_mask``), or the reserved CPUs of an OpenShift PerformanceProfile, which sets them
    on adapters as well (node-tuning-operator, 99-netdev-physical-rps.rules)."""
    masks = [(facts.sysctls or {}).get("net.core.rps_default_mask", "")]
    if any(owner.name == _PROFILE for owner in facts.owners):
        masks.append((facts.cpus.command_line or {}).get("tuned.non_isolcpus", ""))
    here = online(facts)
    wanted = frozenset(cpus)
    for mask in masks:
        found = frozenset(from_mask(mask) or ())
        if found and wanted == (found if here is None else found & here):
            return True
    return False


def interrupts_of(facts: HostFacts, link: HostLink) -> tuple[Interrupt, ...]:
    """The interrupts of a link's device."""
    return tuple(each for each in facts.cpus.interrupts or () if each.link == link.name)


def serves_on(interrupt: Interrupt) -> CpuSet:
    """CPUs on which an interrupt is served: the effective one, else the only one that it is
    allowed; empty: unknown."""
    allowed = interrupt.allowed or ()
    return frozenset(interrupt.effective or (allowed if len(allowed) == 1 else ()))


def median(numbers: Sequence[float]) -> float:
    """The one in the middle; of two, their mean."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-middle - 1]) / 2


def loads(facts: HostFacts) -> dict[int, CpuShare]:
    """How each CPU spent the window, without those of polling threads, which are never idle."""
    left_out = polled(facts)
    return {cpu: share for cpu, share in (facts.cpus.share or {}).items() if cpu not in left_out}
