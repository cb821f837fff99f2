"""A port is polled from another NUMA node.

## What is wrong

The adapter of a port, or the memory of its guest, is on one NUMA node, and PMDs of another node
poll its queues.

## Why it matters

Each packet is fetched over the link between the nodes. Open vSwitch does this only when the node of
the port has no PMD that is free, and logs a warning about reduced performance
(Documentation/topics/dpdk/pmd.rst).

## Bad

```console
$ ovs-vsctl get Interface dpdk0 status:numa_id
"1"
$ ovs-appctl dpif-netdev/pmd-rxq-show
pmd thread numa_id 0 core_id 1:
  port: dpdk0             queue-id:  0 (enabled)   pmd usage: 31 %
```

## Good

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show
pmd thread numa_id 1 core_id 21:
  port: dpdk0             queue-id:  0 (enabled)   pmd usage: 22 %
```

## Fix

Add CPUs of the node of the port to `pmd-cpu-mask`; or give the guest CPUs and memory of the node on
which the PMDs and the adapter are.

## Fix safety

Open vSwitch moves the queues at once; packets are lost for a moment.

## When it does not fire

* On hosts with one node.
* When the node of the port is unknown: a vhost port has one when its guest is connected.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.ovs_ports import more_on, node_of, polled_ports, pollers
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    ovs = subject.ovs
    for port in polled_ports(ovs):
        node = node_of(port)
        far: dict[int, int] = {
            pmd.core: pmd.node
            for pmd, _queue in pollers(ovs, port)
            if node is not None and pmd.node is not None and pmd.node != node
        }
        if far and node is not None:
            nodes = as_list(far.values())
            change, words = more_on(subject.facts, node)
            yield Problem(
                f"port {port.name} is on NUMA node {node}, and PMDs of node {nodes} poll it "
                f"(CPU {as_list(far)})",
                field=port.name,
                change=change,
                fix=words,
            )


RULE = Rule(
    name="pmd-across-numa",
    severity="medium",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(
            check, needs=(host_needs.OVS_PORTS, host_needs.OVS_PMDS), applies=host_needs.has_dpdk
        ),
    ),
)
