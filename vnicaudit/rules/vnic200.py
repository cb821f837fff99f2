"""KubeVirt may emulate CPUs in software, and so gives no VM vhost-net.

## What is wrong

`useEmulation` is on in the KubeVirt object, though nodes offer KVM.

## Why it matters

With `useEmulation` KubeVirt does not ask for the node's vhost-net (`RequiresVirtioNetDevice` in
`pkg/network/vmispec/devices.go`: a virtio interface *and not* emulation). Every frame of every
virtio NIC then passes QEMU's own threads. A VM that gets a node without KVM runs in software, and
nothing says so before KubeVirt 1.9.

## Bad

```yaml
kind: KubeVirt
spec:
  configuration:
    developerConfiguration:
      useEmulation: true
```

## Good

```yaml
kind: KubeVirt
spec:
  configuration:
    developerConfiguration: {}
```

## Fix

Remove `useEmulation`, in HyperConverged if that owns the KubeVirt object, and restart the VMs.

## Fix safety

VMs are then placed on nodes with KVM and vhost-net only, and wait if there are none.

## When it does not fire

* When no schedulable node offers KVM: emulation is the point of such a lab.
* Skipped when the KubeVirt object or the nodes may not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.kube_needs import KUBEVIRT, NODES, patch_kubevirt
from vnicaudit.knowledge.kube_owners import route
from vnicaudit.model.cluster import KVM, VHOST_NET, ClusterFacts, ClusterNode
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule

_EVERYWHERE = "every node that takes VMs offers KVM and vhost-net"
_LOAD = "Load the module vhost_net on {} first, or VMs with virtio will not start there."
_WAIT = "VMs wait if no node with KVM and vhost-net has room for them"
_REMOVE = '{"op":"remove","path":"/spec/configuration/developerConfiguration/useEmulation"}'


def applies(cluster: ClusterFacts) -> bool:
    """Emulation is allowed, or that is unknown; not of manifests, which have no nodes."""
    return cluster.nodes != () and (cluster.kubevirt is None or cluster.kubevirt.emulation)


def check(cluster: ClusterFacts) -> Iterator[Problem]:
    """One problem, if a node has KVM."""
    settings, nodes = cluster.kubevirt, cluster.nodes or ()
    having = [each.name for each in nodes if each.schedulable and each.offers(KVM)]
    if settings is None or not having:
        return
    remove = f"Remove it: {patch_kubevirt(cluster, settings, _REMOVE)}."
    lack = [one.name for one in nodes if one.name in having and not one.offers(VHOST_NET)]
    load = f"{_LOAD.format(lack[0])} " if lack else ""
    more = len(having) - 1
    offers = f"{having[0]} and {more} more offer" if more else f"{having[0]} offers"
    yield Problem(
        f"useEmulation is on, so no virtio NIC gets vhost-net, though {offers} KVM",
        change=_removal(nodes) if cluster.is_live else None,
        fix=f"{load}{route(settings.owner) or remove} Then restart the VMs.",
    )


def _removal(nodes: tuple[ClusterNode, ...]) -> Change:
    taking = [each for each in nodes if each.schedulable and not each.cordoned]
    safe = all(each.offers(KVM) and each.offers(VHOST_NET) for each in taking)
    return Change("useEmulation", "true", None, safe=safe, reason=_EVERYWHERE if safe else _WAIT)


RULE = Rule(
    name="kube-vhost-off",
    severity="high",
    groups=("kubevirt", "cluster"),
    judges=(Judge("cluster", needs=(KUBEVIRT, NODES), applies=applies, check=check),),
)
