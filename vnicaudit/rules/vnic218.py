"""Several pods ask for one device of a node.

## What is wrong

A NetworkAttachmentDefinition of type `host-device` moves one network device of the node into the
pod. With `--pods`, all pods were read: two on one node ask for the same device, or more pods ask
for it than there are nodes.

## Why it matters

The first pod on a node gets the device, and the others stay in ContainerCreating: the scheduler
knows nothing of it ("Only one instance per node"). A VM that is migrated to such a node hangs in
the same way.

## Bad

```yaml
kind: NetworkAttachmentDefinition
metadata: {name: fast, namespace: demo}
spec:
  config: '{"cniVersion": "0.3.1", "name": "fast", "type": "host-device", "device": "eth1"}'
---
kind: Deployment   # of three replicas on two nodes
spec:
  replicas: 3
  template: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: fast}}}
```

## Good

```yaml
spec: {replicas: 2}   # with anti-affinity, on two nodes that have the device
```

## Fix

Give each pod on a node a device of its own, with a NetworkAttachmentDefinition each; or share the
device: SR-IOV, or for pods ipvlan in mode l2.

## Fix safety

No change is proposed.

## When it does not fire

* On different devices, by `device`, `hwaddr`, `kernelpath` or `pciBusID`, and on networks with a
  resource, whose devices the scheduler counts.
* On pods that have ended or are being deleted.
* Skipped without `--pods`, and when the pods may not be listed. Without the nodes only pods on one
  node are compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import Attachment, ClusterFacts, ClusterPod
from vnicaudit.model.rule import Judge, Problem, Rule

_DEVICE = ("device", "hwaddr", "kernelpath", "pciBusID")
_NAMED = 3
_FIX = (
    "Give each pod on a node a device of its own, or share the device: SR-IOV, or for pods ipvlan "
    "in mode l2."
)
_PODS = kube_needs.cluster_fact(
    lambda cluster: cluster.pods is not None, "all pods (--pods)", "pods"
)


def applies(cluster: ClusterFacts) -> bool:
    """A cluster with networks that hand a device of the node to a pod."""
    return any(_devices(cluster))


def check(cluster: ClusterFacts) -> Iterator[Problem]:
    """One problem for each device that too many pods ask for."""
    networks: dict[str, list[Attachment]] = {}
    for device, attachment in _devices(cluster):
        networks.setdefault(device, []).append(attachment)
    for device, of_device in networks.items():
        paths = {each.path for each in of_device}
        asking = [pod for pod in cluster.pods or () for network in pod.networks if network in paths]
        if why := _too_many(asking, cluster):
            first = of_device[0]
            text = f"network {first.path}: {why} ask for its device {device[:80]}"
            yield Problem(text, field=f"network/{first.path}", fix=_FIX)


def _devices(cluster: ClusterFacts) -> Iterator[tuple[str, Attachment]]:
    """Each device, and a network that hands it to a pod."""
    for each in cluster.attachments or ():
        if each.type == "host-device" and not each.resource:
            settings = each.plugins[0].settings
            found = next((key for key in _DEVICE if settings.get(key)), None)
            if found is not None:
                yield settings[found], each


def _too_many(asking: list[ClusterPod], cluster: ClusterFacts) -> str:
    """The pods of a node that is asked twice, or of more pods than nodes; empty: neither."""
    by_node: dict[str, list[str]] = {}
    for pod in asking:
        by_node.setdefault(pod.node, []).append(f"{pod.namespace}/{pod.name}")
    for node, pods in sorted(by_node.items()):
        if node and len(pods) > 1:
            more = f" and {len(pods) - _NAMED} more" if len(pods) > _NAMED else ""
            return f"pods on node {node[:80]} ({', '.join(pods[:_NAMED])}{more})"
    if cluster.nodes and len(asking) > len(cluster.nodes):
        return f"{len(asking)} pods, more than there are nodes ({len(cluster.nodes)}),"
    return ""


RULE = Rule(
    name="kube-host-device-shared",
    severity="error",
    groups=("kubevirt", "cluster"),
    judges=(Judge("cluster", needs=(_PODS,), applies=applies, check=check),),
)
