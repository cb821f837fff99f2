"""A guest is not told the MTU of its network.

## What is wrong

An interface with an emulated model bridges to a network without address management, whose MTU is
not 1500.

## Why it matters

virtio tells the guest its MTU, and KubeVirt's DHCP server does, where the network has addresses. A
guest with neither keeps 1500 (KubeVirt's user guide, *Interfaces and networks*, table of MTUs): on
a smaller network its large frames are lost, on a larger one it sends small ones.

## Bad

```yaml
interfaces: [{name: lan, bridge: {}, model: e1000}]
# its network: {"type": "bridge", "bridge": "br1", "mtu": 9000}
```

## Good

```yaml
interfaces: [{name: lan, bridge: {}, model: virtio}]
```

## Fix

Set the model to virtio if the guest has the driver, or the MTU in the guest.

## Fix safety

A guest without a virtio driver loses the network.

## When it does not fire

* On virtio, masquerade, and networks with `ipam`; and when neither the network nor the pod of the
  running VM (`k8s.v1.cni.cncf.io/network-status`) tells the MTU.
* Skipped when a network of the VM may not be listed, and no other is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.to_virtio import MAY_LACK_DRIVER
from vnicaudit.model.cluster import OVN, Attachment, ClusterGuest, ClusterNic, NicSpec
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.rule import Judge, Problem, Rule

_USUAL = "1500"


def applies(guest: ClusterGuest) -> bool:
    """A VM with an emulated NIC on a bridge."""
    return any(_emulated(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    for nic, spec in _emulated(guest):
        attached = guest.cluster.attachments_by_path.get(spec.network or "")
        mtu = None if attached is None else _mtu(attached, nic.mtu)
        if mtu is not None and mtu != _USUAL:
            yield Problem(
                f"interface {nic.name} is {spec.model} on a network of MTU {mtu[:8]} without IPAM: "
                "the guest does not learn the MTU",
                field=f"{nic.name}/model",
                change=Change("model", spec.model, "virtio", safe=False, reason=MAY_LACK_DRIVER)
                if guest.cluster.is_live
                else None,
                fix=kube_needs.with_owner(
                    guest, "Set model: virtio if the guest has the driver, or the MTU in the guest."
                ),
            )


def _emulated(guest: ClusterGuest) -> Iterator[tuple[ClusterNic, NicSpec]]:
    for nic, spec in kube_needs.bridged(guest):
        if spec.model is not None and spec.model not in VIRTIO:
            yield nic, spec


def _mtu(attached: Attachment, in_pod: int | None) -> str | None:
    """The MTU of a network without address management: as the launcher's pod has it, or else as it
    is named; None if it is not known."""
    if any(each.has_ipam for each in attached.plugins) or attached.type == OVN:
        return None
    if in_pod is not None:
        return str(in_pod)
    return next((mtu for each in attached.plugins if (mtu := each.settings.get("mtu"))), None)


_NETWORKS = kube_needs.networks_read(
    lambda guest: ((nic.name, spec.network or "") for nic, spec in _emulated(guest)), check
)

RULE = Rule(
    name="kube-mtu-not-told",
    severity="low",
    groups=("kubevirt", "cluster", "mtu"),
    judges=(Judge("guest", needs=(_NETWORKS,), applies=applies, check=check),),
)
