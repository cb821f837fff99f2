"""A VM bridges to a network of IPVLAN or macvlan, which cannot be bridged.

## What is wrong

The interface has the binding `bridge`, and its network is of the CNI type ipvlan or macvlan.

## Why it matters

KubeVirt's bridge binding gives the guest the MAC address of the pod's interface, and puts a bridge
in between. An IPVLAN or macvlan interface passes frames of its own address only, so the guest has
no network (KubeVirt user guide, *Interfaces and networks*; KubeVirt issues 5483 and 7001).

## Bad

```yaml
interfaces: [{name: lan, bridge: {}}]
networks: [{name: lan, multus: {networkName: lan}}]
# NetworkAttachmentDefinition lan: {"type": "macvlan", "master": "eth1"}
```

## Good

```yaml
# NetworkAttachmentDefinition lan: {"type": "bridge", "bridge": "br1"}
```

## Fix

Use a network of type `bridge`, or a localnet of OVN-Kubernetes, on the same adapter.

## Fix safety

The VM gets its new network at its next start. Its address may change.

## When it does not fire

* On networks that only pods use, on other bindings, and on interfaces that are being unplugged.
* Skipped when a network of the VM may not be listed, and no other is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.rule import Judge, Problem, Rule

_TYPES = ("ipvlan", "macvlan")


def applies(guest: ClusterGuest) -> bool:
    """A VM with a bridge to a secondary network."""
    return any(_bridges(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    for name, network in _bridges(guest):
        attached = guest.cluster.attachments_by_path.get(network)
        if attached is not None and attached.type in _TYPES:
            yield Problem(
                f"interface {name} bridges to {network}, whose type {attached.type} cannot be "
                "bridged",
                field=f"{name}/binding",
                fix=kube_needs.with_owner(
                    guest,
                    "Use a network of type bridge, or a localnet of OVN-Kubernetes, on the same "
                    "adapter, and restart the VM.",
                ),
            )


def _bridges(guest: ClusterGuest) -> Iterator[tuple[str, str]]:
    return ((nic.name, spec.network or "") for nic, spec in kube_needs.bridged(guest))


_NETWORKS = kube_needs.networks_read(_bridges, check)

RULE = Rule(
    name="kube-network-cannot-bridge",
    severity="error",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(_NETWORKS,), applies=applies, check=check),),
)
