"""A VM runs in software emulation, on a node that has KVM.

## What is wrong

The instance has the condition `SoftwareEmulation` (KubeVirt 1.9), and its node offers
`devices.kubevirt.io/kvm`.

## Why it matters

QEMU then translates every instruction of the guest: it is slower by an order of magnitude, and its
NICs have no vhost-net.

## Bad

```yaml
status:
  nodeName: worker1   # allocatable: devices.kubevirt.io/kvm: 1k
  conditions: [{type: SoftwareEmulation, status: "True"}]
```

## Good

```yaml
status:
  nodeName: worker1
  conditions: []
```

## Fix

Switch `useEmulation` off in the KubeVirt object (VNIC200), and restart the VM.

## Fix safety

The guest sees a different CPU after the restart.

## When it does not fire

* When the VM's architecture is not its node's: only emulation runs it there.
* When its node has no KVM, and while the VM is being deleted.
* Skipped when the nodes may not be listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import KVM, ClusterGuest
from vnicaudit.model.rule import Judge, Problem, Rule


def applies(guest: ClusterGuest) -> bool:
    """A running VM that says that it is emulated."""
    condition = guest.condition("SoftwareEmulation")
    return kube_needs.is_running(guest) and condition is not None and condition.on is True


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for the VM."""
    arch = None if guest.has is None else guest.has.arch
    for node in guest.cluster.nodes or ():
        foreign = arch is not None and node.arch is not None and arch != node.arch
        if node.name == guest.node and node.offers(KVM) and not foreign:
            settings = guest.cluster.kubevirt
            is_off = settings is not None and not settings.emulation
            off = "Switch useEmulation off in the KubeVirt object. "
            restart = kube_needs.restart(guest, "in a window" if is_off else "then")
            yield Problem(
                f"it runs in software emulation on {node.name}, which offers KVM",
                fix=restart if is_off else f"{off}{restart}",
            )


RULE = Rule(
    name="kube-software-emulation",
    severity="high",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(kube_needs.NODES_OF_VM,), applies=applies, check=check),),
)
