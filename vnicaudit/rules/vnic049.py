"""Open vSwitch with DPDK chooses the CPUs of its PMDs itself.

## What is wrong

DPDK is on (`dpdk-init`), and `pmd-cpu-mask` is not set. Open vSwitch then makes one polling thread
(PMD) on each NUMA node, on a CPU that it chooses (ovs-vswitchd.conf.db(5)).

## Why it matters

One thread polls all ports of its node, and a port with several queues needs two at least
(Documentation/topics/dpdk/vhost-user.rst). It uses its CPU whole, and nobody keeps guests, services
or interrupts away from a CPU that nobody chose.

## Bad

```console
$ ovs-vsctl get Open_vSwitch . other_config
{dpdk-init="true", dpdk-lcore-mask="0x1"}
```

## Good

```console
$ ovs-vsctl get Open_vSwitch . other_config
{dpdk-init="true", dpdk-lcore-mask="0x1", pmd-cpu-mask="0x600006"}
```

## Fix

Choose CPUs on each node that has ports, with their siblings, outside of those of guests and of the
system, and set the mask.

## Fix safety

Open vSwitch moves its queues to the new threads at once; packets are lost for a moment.

## When it does not fire

* Without DPDK, or when no port is polled by PMDs.
* Skipped when the configuration could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_settings import CHOOSE_PMDS
from vnicaudit.knowledge.ovs_ports import change_of_mask, node_of, polled_ports
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem if there is no mask."""
    ovs = subject.ovs
    if not ovs.dpdk or (ovs.other_config or {}).get("pmd-cpu-mask"):
        return
    if ovs.ports is not None and not any(polled_ports(ovs)):
        return
    nodes = {node_of(port) for port in polled_ports(ovs)}
    change = change_of_mask(subject.facts, {node for node in nodes if node is not None})
    yield Problem(
        "DPDK is on without a pmd-cpu-mask: Open vSwitch polls with one thread for each NUMA node, "
        "on a CPU of its own choice",
        confidence="medium" if ovs.ports is None else "high",
        change=change,
        fix=""
        if change
        else f"Choose CPUs for PMDs on each node with ports: {CHOOSE_PMDS} "
        "(vnicaudit host mask CPUS prints the mask)",
    )


RULE = Rule(
    name="dpdk-without-pmd-mask",
    severity="medium",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_CONFIG,), applies=host_needs.has_dpdk),
    ),
)
