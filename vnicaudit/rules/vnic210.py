"""An SR-IOV interface whose network names no device, or one that no node has enough of.

## What is wrong

The network of an interface with the binding `sriov` has no annotation
`k8s.v1.cni.cncf.io/resourceName`, or no node offers that resource, or all nodes together offer
fewer than the running VMs ask for.

## Why it matters

KubeVirt asks for the device by that annotation. Without it the launcher gets none; without a node
that offers it the VM stays unscheduled.

## Bad

```yaml
kind: NetworkAttachmentDefinition
metadata: {name: vf-net}
spec: {config: '{"type": "sriov"}'}
```

## Good

```yaml
kind: NetworkAttachmentDefinition
metadata:
  name: vf-net
  annotations: {k8s.v1.cni.cncf.io/resourceName: openshift.io/vfs}
spec: {config: '{"type": "sriov"}'}
```

## Fix

Create the network by an SriovNetwork, which writes the annotation; or add virtual functions in the
SriovNetworkNodePolicy.

## Fix safety

A change of an SriovNetworkNodePolicy drains and may reboot nodes.

## When it does not fire

* On interfaces whose device comes from a ResourceClaim (KubeVirt 1.9).
* When the network does not exist: VNIC207.
* *Medium* when there are devices, but fewer than are asked for.
* Skipped when the nodes or a network of the VM may not be listed, a file holds only some of them,
  or a node does not say what it offers.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import SRIOV_RESOURCE, Attachment, ClusterFacts, ClusterGuest
from vnicaudit.model.rule import Judge, Problem, Rule

_ALL_NODES = kube_needs.guest_fact(
    lambda guest: guest.cluster.has_all("nodes") or not any(_resources(guest)),
    "all nodes, from the cluster itself",
    "nodes",
)


_OFFERS = kube_needs.guest_fact(
    lambda guest: (
        guest.cluster.offered is not None
        or not any(_resources(guest))
        or any(True for _problem in check(guest))
    ),
    "what each node offers (status.allocatable)",
)


def applies(guest: ClusterGuest) -> bool:
    """A VM with an SR-IOV interface on a network of its own."""
    return any(_assigned(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    for name, network in _assigned(guest):
        attached = guest.cluster.attachments_by_path.get(network)
        if attached is None:
            continue
        if not attached.resource:
            yield Problem(
                f"interface {name} is SR-IOV, and its network {network} has no annotation "
                f"{SRIOV_RESOURCE}: the VM gets no device",
                field=f"{name}/network",
                fix="Create the network by an SriovNetwork, which writes the annotation.",
            )
        else:
            yield from _offer(name, attached, guest.cluster)


def _offer(name: str, attached: Attachment, cluster: ClusterFacts) -> Iterator[Problem]:
    """The problem that the nodes offer no device, or too few; nothing if some do not say."""
    if cluster.offered is None:
        return
    total = cluster.offered.get(attached.resource, 0)
    running = cluster.requests.get(attached.resource, 0)
    needs = f"interface {name} needs {attached.resource}"
    few = f"{needs}: the nodes offer {total}, and running VMs ask for {running}"
    if not total or total < running:
        yield Problem(
            few if total else f"{needs}, which no node offers: the VM cannot be placed",
            field=f"{name}/network",
            severity="medium" if total else None,
            fix="Add virtual functions of that resourceName in an SriovNetworkNodePolicy.",
        )


def _assigned(guest: ClusterGuest) -> Iterator[tuple[str, str]]:
    for nic, spec in kube_needs.present(guest):
        if spec.binding == "sriov" and not spec.claim and "/" in (spec.network or ""):
            yield nic.name, spec.network or ""


def _resources(guest: ClusterGuest) -> Iterator[str]:
    """The resources that its networks name."""
    for _name, network in _assigned(guest):
        attached = guest.cluster.attachments_by_path.get(network)
        if attached is not None and attached.resource:
            yield attached.resource


_NETWORKS = kube_needs.networks_read(_assigned, check)

RULE = Rule(
    name="kube-sriov-no-resource",
    severity="error",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(_NETWORKS, _ALL_NODES, _OFFERS), applies=applies, check=check),),
)
