"""A receive queue of a port is polled by no PMD.

## What is wrong

A port of Open vSwitch's userspace datapath has a receive queue that no PMD polls: there is none, or
all are isolated for the queues that are pinned to them (`pmd-rxq-affinity`), or Open vSwitch could
not set the port up again and took it out of the datapath (seen when its memory pool was too small).

## Why it matters

What arrives in the queue stays there: connections that are hashed to it fail. Open vSwitch only
logs that the queue "will not be polled" (lib/dpif-netdev.c).

## Bad

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show
pmd thread numa_id 0 core_id 1:
  isolated : true
  port: dpdk0             queue-id:  0 (enabled)   pmd usage: 12 %
```

## Good

```console
$ ovs-appctl dpif-netdev/pmd-rxq-show
pmd thread numa_id 0 core_id 1:
  isolated : true
  port: dpdk0             queue-id:  0 (enabled)   pmd usage: 12 %
pmd thread numa_id 0 core_id 2:
  isolated : false
  port: dpdk0             queue-id:  1 (enabled)   pmd usage:  9 %
```

## Fix

Add a CPU to `pmd-cpu-mask`, or pin the queue too; or look into the log of ovs-vswitchd.

## Fix safety

Open vSwitch distributes the queues again at once.

## When it does not fire

* On a vhost port without a connected guest, and on a port with an error (VNIC126).
* While a PMD is free of pinning and polls the port: a port that shows fewer queues has fewer.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_settings import CHOOSE_PMDS
from vnicaudit.knowledge.ovs_ports import polled_ports, queues_of
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_MORE = f"Add a CPU for a PMD: {CHOOSE_PMDS}"
_LOG = "Look for the port in the log of ovs-vswitchd: memory that ran out, or a setting it refused"


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    ovs, pmds = subject.ovs, subject.ovs.pmds or ()
    is_free = any(not pmd.isolated for pmd in pmds)
    reason = "all PMDs are isolated for pinned queues" if pmds else "there is no PMD"
    for port in polled_ports(ovs):
        polled = {queue.queue for pmd in pmds for queue in pmd.queues if queue.port == port.name}
        missing = set(range(queues_of(port) or 0)) - polled
        if missing and not (is_free and polled):
            yield Problem(
                f"no PMD polls receive queue {as_list(missing)} of port {port.name}: "
                f"{'it is not in the datapath' if is_free else reason}",
                field=port.name,
                fix=_LOG if is_free else _MORE,
            )


RULE = Rule(
    name="rxq-unpolled",
    severity="error",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(
            check, needs=(host_needs.OVS_PORTS, host_needs.OVS_PMDS), applies=host_needs.has_dpdk
        ),
    ),
)
