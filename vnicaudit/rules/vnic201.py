"""A node for VMs offers KVM, and no vhost-net.

## What is wrong

virt-handler runs on the node and offers `devices.kubevirt.io/kvm`, but not
`devices.kubevirt.io/vhost-net`.

## Why it matters

A VM with a virtio NIC asks for vhost-net (`pkg/virt-controller/services/renderresources.go`), so
none can be placed there: its pod stays Pending if no other node has room, and a live migration to
the node is refused.

## Bad

```console
$ kubectl get node worker1 -o jsonpath='{.status.allocatable}'
{"devices.kubevirt.io/kvm":"1k","devices.kubevirt.io/vhost-net":"0"}
```

## Good

```console
$ kubectl get node worker1 -o jsonpath='{.status.allocatable}'
{"devices.kubevirt.io/kvm":"1k","devices.kubevirt.io/vhost-net":"1k"}
```

## Fix

Load `vhost_net` on the node, and at each boot: a file in `/etc/modules-load.d`, on OpenShift by a
MachineConfig.

## Fix safety

Loading the module changes nothing for what runs. A MachineConfig reboots the nodes of its pool.

## When it does not fire

* On cordoned nodes, and on those where virt-handler does not run or offers no KVM.
* When `useEmulation` is on: no VM asks for vhost-net then (VNIC200).
* Skipped when the KubeVirt object or the nodes may not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.kube_needs import KUBEVIRT, NODES
from vnicaudit.model.cluster import KVM, VHOST_NET, ClusterFacts
from vnicaudit.model.rule import Judge, Problem, Rule


def applies(cluster: ClusterFacts) -> bool:
    """Emulation is not allowed, or that is unknown; not of manifests, which have no nodes."""
    return cluster.nodes != () and (cluster.kubevirt is None or not cluster.kubevirt.emulation)


def check(cluster: ClusterFacts) -> Iterator[Problem]:
    """One problem for each node."""
    for node in cluster.nodes or ():
        usable = node.schedulable and not node.cordoned
        if usable and node.offers(KVM) and node.offers(VHOST_NET) == 0:
            yield Problem(
                f"node {node.name} offers KVM and no vhost-net: no VM with a virtio NIC can be "
                "placed there",
                field=f"node/{node.name}",
                fix="Load vhost_net there, and at each boot: a file in /etc/modules-load.d with "
                "that line, on OpenShift by a MachineConfig.",
            )


RULE = Rule(
    name="kube-node-without-vhost-net",
    severity="high",
    groups=("kubevirt", "cluster"),
    judges=(Judge("cluster", needs=(KUBEVIRT, NODES), applies=applies, check=check),),
)
