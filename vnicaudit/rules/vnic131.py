"""A CPU of a PMD, or its sibling, is used for something else too.

## What is wrong

A CPU in `pmd-cpu-mask`, or the other thread of its core, is also in DPDK's lcore mask, in Nova's or
the kubelet's sets of CPUs, or a vCPU is pinned to it.

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

A new mask moves queues at once. Nova and the kubelet read their sets when they start, and guests
must be moved away from a CPU before.

## When it does not fire

* When the sibling of a PMD's CPU is left idle, and for vCPUs that are not pinned.
* Interrupts on these CPUs are VNIC143.
* Skipped when neither the mask nor the PMDs are known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list, from_mask
from vnicaudit.model.host_facts import HostFacts, Ovs
from vnicaudit.model.rule import Fact, HostSubject, Judge, Problem, Rule


def check(subject: HostSubject) -> Iterator[Problem]:
    """One problem for each other use."""
    facts = subject.facts
    cpus = _pmd_cpus(facts.ovs) if facts is not None and facts.ovs is not None else set()
    if facts is None or not cpus:
        return
    siblings = {cpu for core in facts.cpus.cores or () if cpus & set(core) for cpu in core} - cpus
    for name, others in _uses(facts):
        for how, shared in (
            ("belongs to", cpus & others),
            ("shares its core with", siblings & others),
        ):
            if shared:
                yield Problem(
                    f"CPU {as_list(shared)} {how} a PMD, and is also {name}",
                    field=f"{as_list(shared)} {name}",
                    fix="Give PMDs whole cores of their own: take these CPUs out of one of the two",
                )


def _pmd_cpus(ovs: Ovs) -> set[int]:
    """CPUs of PMDs that run, and of the mask."""
    mask = from_mask((ovs.other_config or {}).get("pmd-cpu-mask", "")) or ()
    return {pmd.core for pmd in ovs.pmds or ()} or set(mask)


def _uses(facts: HostFacts) -> Iterator[tuple[str, set[int]]]:
    """Other uses of CPUs: in words, and the CPUs."""
    cpus, config = facts.cpus, (facts.ovs and facts.ovs.other_config) or {}
    yield "in dpdk-lcore-mask", set(from_mask(config.get("dpdk-lcore-mask", "")) or ())
    yield "in Nova's cpu_dedicated_set", set(cpus.nova_dedicated or ())
    yield "in Nova's cpu_shared_set", set(cpus.nova_shared or ())
    yield "reserved for the kubelet's system", set(cpus.kubelet_reserved or ())
    online = set(cpus.online or ())
    for process in facts.processes or ():
        threads = (set(each.cpus or ()) for each in process.threads if each.role == "vcpu")
        pinned = set[int]().union(*(each for each in threads if each < online))
        yield f"that of a vCPU of {process.guest or process.pid}", pinned


def _is_known(subject: HostSubject) -> bool:
    ovs = subject.ovs
    return ovs is not None and (ovs.pmds is not None or ovs.other_config is not None)


RULE = Rule(
    name="pmd-cpu-shared",
    severity="high",
    groups=("host", "ovs", "cpus"),
    judges=(
        Judge(
            "host",
            needs=(Fact(_is_known, "Open vSwitch's configuration or its PMDs (as root)", True),),
            applies=host_needs.has_dpdk,
            check=check,
        ),
    ),
)
