"""NetworkAttachmentDefinitions of one OVN-Kubernetes network differ in its settings.

## What is wrong

Several NetworkAttachmentDefinitions name the same network of OVN-Kubernetes (`name` in their
configuration), and differ in topology, subnets, MTU, excluded subnets or VLAN.

## Why it matters

OVN-Kubernetes has one network of that name in the cluster. It takes the settings of one of them,
and refuses the others or ignores what they say.

## Bad

```yaml
# demo/lan:  {"type": "ovn-k8s-cni-overlay", "name": "lan", "topology": "layer2", "mtu": 1400, …}
# other/lan: {"type": "ovn-k8s-cni-overlay", "name": "lan", "topology": "layer2", "mtu": 1500, …}
```

## Good

```yaml
# demo/lan:  {"type": "ovn-k8s-cni-overlay", "name": "lan", "topology": "layer2", "mtu": 1400, …}
# other/lan: {"type": "ovn-k8s-cni-overlay", "name": "lan", "topology": "layer2", "mtu": 1400, …}
```

## Fix

Give all of them the same settings, or different names, and recreate the pods on them.

## Fix safety

VMs that run keep the network that they have until they are started again or migrated.

## When it does not fire

* On networks of other CNI types, and on those without a name.
* Skipped when the networks may not be listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.kube_needs import NETWORKS, may_have_networks
from vnicaudit.model.cluster import OVN, Attachment, ClusterFacts
from vnicaudit.model.rule import Judge, Problem, Rule

_COMPARED = ("topology", "subnets", "mtu", "excludeSubnets", "vlanID")


def check(cluster: ClusterFacts) -> Iterator[Problem]:
    """One problem for each definition that differs from the first of its network."""
    first: dict[str, Attachment] = {}
    for each in sorted(cluster.attachments or (), key=lambda one: one.path):
        if each.type != OVN or not each.network:
            continue
        other = first.setdefault(each.network, each)
        names = [
            key
            for key in _COMPARED
            if each.plugins[0].settings.get(key) != other.plugins[0].settings.get(key)
        ]
        if names:
            yield Problem(
                f"network {each.path} is {each.network[:60]} of OVN-Kubernetes, as {other.path} "
                f"is, and has another {', '.join(names)}",
                field=f"network/{each.path}",
                fix="Give both the same settings, or different names, and recreate the pods on "
                "them.",
                related=(other.location,),
            )


RULE = Rule(
    name="kube-network-config-differs",
    severity="medium",
    groups=("kubevirt", "cluster"),
    judges=(Judge("cluster", needs=(NETWORKS,), applies=may_have_networks, check=check),),
)
