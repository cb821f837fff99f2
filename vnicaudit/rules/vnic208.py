"""A NetworkAttachmentDefinition whose CNI configuration cannot work.

## What is wrong

`spec.config` is not JSON, has no `type`, an empty list of plugins, or settings that OVN-Kubernetes
refuses: another `netAttachDefName` than its own namespace and name, a topology that it does not
have, or a localnet without any name.

## Why it matters

The API server stores any text, so `kubectl apply` reports success. No pod on this network starts.

## Bad

```yaml
metadata: {name: vlan10, namespace: demo}
spec:
  config: |
    {"type": "ovn-k8s-cni-overlay", "name": "vlan10", "topology": "localnet",
     "netAttachDefName": "default/vlan10"}
```

## Good

```yaml
metadata: {name: vlan10, namespace: demo}
spec:
  config: |
    {"type": "ovn-k8s-cni-overlay", "name": "vlan10", "topology": "localnet",
     "netAttachDefName": "demo/vlan10"}
```

## Fix

Correct the configuration. Pods read it when they start.

## Fix safety

VMs that run keep the network that they have until they are started again or migrated.

## When it does not fire

* On a network without a configuration: Multus reads a file of the node then.
* On `netAttachDefName` of a network without a topology: that is OVN-Kubernetes' default network,
  with a device for hardware offload.
* On settings of other CNI plugins, which only they know.
* Only *medium* for `cnv-bridge` and `cnv-tuning`, OpenShift Virtualization's older names of
  `bridge` and `tuning`.
* Skipped when the networks may not be listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.kube_changes import OLD_TYPES, corrected
from vnicaudit.knowledge.kube_needs import NETWORKS, may_have_networks
from vnicaudit.knowledge.kube_owners import route
from vnicaudit.model.cluster import OVN, Attachment, ClusterFacts
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule

_TOPOLOGIES = ("layer2", "layer3", "localnet")
_LATER = "pods read it when they start; those that run keep their network until then"


def check(cluster: ClusterFacts) -> Iterator[Problem]:
    """One problem for each network."""
    for each in cluster.attachments or ():
        if each.is_empty or not each.is_certain:
            continue
        fault = next(_faults(each), "")
        old = next((one.type for one in each.plugins if one.type in OLD_TYPES), None)
        if fault:
            yield Problem(
                f"network {each.path}: its configuration {fault}",
                field=f"network/{each.path}",
                change=_correction(each) if cluster.is_live else None,
                fix=f"Correct spec.config. {route(each.owner)}".strip(),
            )
        elif old is not None:
            yield Problem(
                f"network {each.path}: {old} is OpenShift Virtualization's older name of "
                f"{OLD_TYPES[old]}",
                field=f"network/{each.path}",
                severity="medium",
                change=_correction(each) if cluster.is_live else None,
                fix=f"Use type {OLD_TYPES[old]}. {route(each.owner)}".strip(),
            )


def _correction(network: Attachment) -> Change | None:
    """The change to what was meant, if that leaves nothing wrong."""
    meant = corrected(network)
    if meant is None or any(_faults(meant)) or any(one.type in OLD_TYPES for one in meant.plugins):
        return None
    return Change(f"{network.path}/config", "as it is", "corrected", safe=True, reason=_LATER)


def _faults(each: Attachment) -> Iterator[str]:
    if each.fault:
        yield each.fault
        return
    if not each.plugins:
        yield "has no plugins"
    if any(one.type is None for one in each.plugins):
        yield "has no type"
    for one in each.plugins:
        if one.type == OVN:
            yield from _ovn_faults(each, one.settings)


def _ovn_faults(each: Attachment, settings: dict[str, str]) -> Iterator[str]:
    named, topology = settings.get("netAttachDefName", ""), settings.get("topology", "")
    # without a topology it is the default network of all pods, which runs without that name
    if topology and each.namespace and named != each.path:
        yield f"has netAttachDefName {named[:80] or 'not set'}, and must have {each.path}"
    if topology and topology not in _TOPOLOGIES:
        yield f"has topology {topology[:40]}, and OVN-Kubernetes has {', '.join(_TOPOLOGIES)}"
    named = settings.get("physicalNetworkName", "") or each.network
    if topology == "localnet" and "subnets" in settings and not named:
        yield "is a localnet without physicalNetworkName or name"


RULE = Rule(
    name="kube-network-invalid",
    severity="error",
    groups=("kubevirt", "cluster"),
    judges=(Judge("cluster", needs=(NETWORKS,), applies=may_have_networks, check=check),),
)
