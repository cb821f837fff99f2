"""A CPU of a PMD, or its sibling, is used for something else too.

## What is wrong

A CPU in `pmd-cpu-mask`, or the other thread of its core, is also in DPDK's lcore mask or in Nova's
sets of CPUs, or a vCPU is pinned to it. Or kubelet may give a PMD's CPU to pods.

## Why it matters

A PMD polls without end and needs its core whole: whoever is scheduled there takes packets from it,
and gets little himself. hotsos warns of masks that overlap (`dpdk_config`, 57b256c).

## Bad

```console
$ ovs-vsctl get Open_vSwitch . other_config
{dpdk-init="true", dpdk-lcore-mask="0x10", pmd-cpu-mask="0x30"}
```

## Good

```console
$ ovs-vsctl get Open_vSwitch . other_config
{dpdk-init="true", dpdk-lcore-mask="0x1", pmd-cpu-mask="0x30"}
```

## Fix

Take the CPUs out of the other set, or out of the mask.

## Fix safety

A new mask moves queues at once. One is proposed where each of these cores has a free one in its
place, isolated and on its node, and no queue is bound to its PMD. Nova and the kubelet read their
sets when they start, and guests must be moved away from a CPU before.

## When it does not fire

* When the sibling of a PMD's CPU is left idle, and for vCPUs that are not pinned.
* On CPUs that kubelet reserves (`reservedSystemCPUs`), which it keeps from pods. On others it is
  only a question (*info*), as Open vSwitch may run in a pod that has them for itself.
* Interrupts on these CPUs are VNIC143.
* Skipped when neither the mask nor the PMDs are known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.ovs_ports import change_without, cpus_of_pmds, for_pods, uses_of_cpus
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_BY_HAND = "Give PMDs whole cores of their own: take these CPUs out of one of the two"


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each other use."""
    facts = subject.facts
    cpus = cpus_of_pmds(facts.ovs)
    if not cpus:
        return
    siblings = {cpu for core in facts.cpus.cores or () if cpus & set(core) for cpu in core} - cpus
    uses = tuple(uses_of_cpus(facts))
    used = set[int]().union(*(others for _name, others in uses))
    change = change_without(facts, (cpus | siblings) & used)
    for name, others in uses:
        for how, shared in (
            ("belongs to", cpus & others),
            ("shares its core with", siblings & others),
        ):
            if shared:
                yield Problem(
                    f"CPU {as_list(shared)} {how} a PMD, and is also {name}",
                    field=f"{as_list(shared)} {name}",
                    change=change,
                    fix="" if change else _BY_HAND,
                )
    if shared := cpus & for_pods(facts):
        yield Problem(
            f"CPU {as_list(shared)} belongs to a PMD, and kubelet may give it to pods: is it that "
            "of Open vSwitch's own pod?",
            severity="info",
            field="pods",
            fix="If not, keep it: reservedSystemCPUs of kubelet, or ovsDpdk of an OpenShift "
            "PerformanceProfile",
        )


_CPUS_OF_PMDS = host_needs.host_fact(
    lambda facts: facts.ovs.pmds is not None or facts.ovs.other_config is not None,
    "Open vSwitch's configuration or its PMDs (as root)",
)

RULE = Rule(
    name="pmd-cpu-shared",
    severity="high",
    groups=("host", "ovs", "cpus"),
    judges=(host_needs.visited_host(check, needs=(_CPUS_OF_PMDS,), applies=host_needs.has_dpdk),),
)
