"""A running VM has fewer queues than vCPUs, though multiqueue is on.

## What is wrong

The VM's instance asks for multiqueue, and its status reports fewer queues on a virtio NIC than it
has vCPUs.

## Why it matters

KubeVirt gives a NIC one queue pair for each vCPU that the VM starts with, at most 256
(`MultiQueueMaxQueues`). vCPUs that are plugged in later get none: they share the queues that are
there.

## Bad

```yaml
status:
  currentCPUTopology: {sockets: 8, cores: 1, threads: 1}
  interfaces: [{name: default, queueCount: 2}]
```

## Good

```yaml
status:
  currentCPUTopology: {sockets: 8, cores: 1, threads: 1}
  interfaces: [{name: default, queueCount: 8}]
```

## Fix

Restart the VM: queues are set when it starts.

## Fix safety

A restart interrupts the VM; plan a window.

## When it does not fire

* With one vCPU, on other models than virtio, and on SR-IOV, passt and binding plugins, which make
  their device themselves.
* When `queueCount` is 0 or missing: only the guest agent reports the NIC then, which does not know
  its queues.
* On halted VMs, and while one is being deleted. Skipped when the instance does not say how many
  vCPUs it has.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.backends import queue_pairs
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.kubevirt import MAX_QUEUES
from vnicaudit.model.rule import Judge, Problem, Rule

VCPUS = kube_needs.guest_fact(
    lambda guest: kube_needs.topology(guest) is not None,
    "the vCPUs of the instance (status.currentCPUTopology)",
)


def applies(guest: ClusterGuest) -> bool:
    """A running VM with multiqueue and a virtio NIC whose queues are reported."""
    has = guest.has
    return (
        kube_needs.is_running(guest)
        and has is not None
        and bool(has.multiqueue)
        and any(_queues(guest))
    )


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each NIC."""
    vcpus = kube_needs.topology(guest)
    count = 1 if vcpus is None else vcpus.count
    for name, queues in _queues(guest):
        if queues < min(count, MAX_QUEUES):
            yield Problem(
                f"multiqueue is on, and interface {name} has {queue_pairs(queues)} for {count} "
                "vCPUs: queues are set at the start",
                field=f"{name}/multiqueue",
                fix=kube_needs.restart(guest),
            )


def _queues(guest: ClusterGuest) -> Iterator[tuple[str, int]]:
    """Each virtio NIC that the instance has, with its queues, where they are reported."""
    for nic in guest.nics:
        queues = None if nic.status is None else nic.status.queues
        if nic.has is not None and queues and kube_needs.is_virtio(nic.has):
            yield nic.name, queues


RULE = Rule(
    name="kube-fewer-queues-than-vcpus",
    severity="medium",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(VCPUS,), applies=applies, check=check),),
)
