"""On this release of KubeVirt, multiqueue makes a change of vCPUs wait for a restart.

## What is wrong

The VM has multiqueue, and its vCPUs are meant to be changed while it runs.

## Why it matters

KubeVirt 1.3.0, 1.3.1, 1.4.0, 1.5.0 and 1.5.1 refuse to plug vCPUs into a VM with
`networkInterfaceMultiqueue` ("Changes to CPU sockets require a restart when
NetworkInterfaceMultiQueue is enabled", `pkg/virt-controller/watch/vm`): queues are set at the
start. 1.4.1, 1.5.2 and 1.6.0 do it, and leave the queues as they are.

## Bad

```yaml
cpu: {sockets: 2, maxSockets: 8}
devices: {networkInterfaceMultiqueue: true}
```

## Good

```yaml
cpu: {sockets: 8}
devices: {networkInterfaceMultiqueue: true}
```

## Fix

Weigh it: update KubeVirt, start the VM with the vCPUs that it needs, or do without multiqueue.

## Fix safety

Without multiqueue all packets of a NIC are handled by one vCPU.

## When it does not fire

* On every other release.
* When the strategy is Stage and the VM sets no `maxSockets` above its sockets: nobody plugs vCPUs.
* Skipped when the KubeVirt object may not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.kubevirt_versions import multiqueue_blocks_cpu_hotplug
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.rule import Judge, Problem, Rule


def applies(guest: ClusterGuest) -> bool:
    """A VM with multiqueue."""
    settings = guest.has or guest.template
    return not guest.deleting and settings is not None and bool(settings.multiqueue)


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for the VM."""
    version, settings = guest.cluster.version, guest.has or guest.template
    if settings is None or not multiqueue_blocks_cpu_hotplug(version):
        return
    sockets = 1 if settings.cpu is None else settings.cpu.sockets
    may_grow = (settings.max_sockets or 0) > sockets
    if may_grow or kube_needs.rollout(guest.cluster) == "LiveUpdate":
        yield Problem(
            f"KubeVirt {version} plugs no vCPUs into a VM with multiqueue: a change of them waits "
            "for a restart",
            field="multiqueue",
            fix="Update KubeVirt, start the VM with the vCPUs that it needs, or do without "
            "multiqueue.",
        )


RULE = Rule(
    name="kube-multiqueue-blocks-cpu-hotplug",
    severity="low",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(kube_needs.VERSION_OF_VM,), applies=applies, check=check),),
)
