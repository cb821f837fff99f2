"""A port with several receive queues is polled by one PMD.

## What is wrong

Open vSwitch has a port with two or more receive queues, and on the NUMA node of the port there is
only one PMD that may poll them.

## Why it matters

The queues take turns on one CPU: more of them give no more packets. Open vSwitch asks for two PMDs
at least where a port has several queues (Documentation/topics/dpdk/vhost-user.rst).

## Bad

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show | grep -e thread -e vhu0
pmd thread numa_id 0 core_id 1:
  port: vhu0              queue-id:  0 (enabled)   pmd usage: 45 %
  port: vhu0              queue-id:  1 (enabled)   pmd usage: 44 %
```

## Good

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show | grep -e thread -e vhu0
pmd thread numa_id 0 core_id 1:
  port: vhu0              queue-id:  0 (enabled)   pmd usage: 45 %
pmd thread numa_id 0 core_id 2:
  port: vhu0              queue-id:  1 (enabled)   pmd usage: 44 %
```

## Fix

Add a CPU of that node to `pmd-cpu-mask`.

## Fix safety

Open vSwitch distributes the queues again at once; packets are lost for a moment.

## When it does not fire

* For queues that the guest has disabled; it has as many as its driver uses.
* When the node of the port is unknown, or has no PMD at all (see VNIC130).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.ovs_ports import more_on, node_of, pmds_on, polled_ports, pollers
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    ovs = subject.ovs
    for port in polled_ports(ovs):
        node, polling = node_of(port), tuple(pollers(ovs, port))
        if node is None or len(polling) < 2:
            continue
        cores = {pmd.core for pmd in pmds_on(ovs, node) if not pmd.isolated}
        cores |= {pmd.core for pmd, _queue in polling if pmd.node == node}
        if len(cores) == 1:
            change, words = more_on(subject.facts, node)
            yield Problem(
                f"port {port.name} has {len(polling)} receive queues on NUMA node {node}, "
                f"where only one PMD may poll them (CPU {cores.pop()})",
                field=port.name,
                change=change,
                fix=words,
            )


RULE = Rule(
    name="pmd-fewer-than-queues",
    severity="medium",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(
            check, needs=(host_needs.OVS_PORTS, host_needs.OVS_PMDS), applies=host_needs.has_dpdk
        ),
    ),
)
