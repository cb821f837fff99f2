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

* On virtio, masquerade, and networks with `ipam`; and when the network names no MTU.
* Skipped when a network of the VM may not be listed, and no other is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import OVN, Attachment, ClusterGuest, NicSpec
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.rule import Judge, Problem, Rule

_USUAL = "1500"
_DRIVER = "the guest may have no virtio driver; without one it loses its network"


def applies(guest: ClusterGuest) -> bool:
    """A VM with an emulated NIC on a bridge."""
    return any(_emulated(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    for name, spec in _emulated(guest):
        attached = guest.cluster.attachments_by_path.get(spec.network or "")
        mtu = None if attached is None else _mtu(attached)
        if mtu is not None and mtu != _USUAL:
            yield Problem(
                f"interface {name} is {spec.model} on a network of MTU {mtu[:8]} without IPAM: "
                "the guest does not learn the MTU",
                field=f"{name}/model",
                change=Change("model", spec.model, "virtio", safe=False, reason=_DRIVER)
                if guest.cluster.is_live
                else None,
                fix=kube_needs.with_owner(
                    guest, "Set model: virtio if the guest has the driver, or the MTU in the guest."
                ),
            )


def _emulated(guest: ClusterGuest) -> Iterator[tuple[str, NicSpec]]:
    for nic, spec in kube_needs.present(guest):
        bridged = spec.binding == "bridge" and not spec.is_plugin and "/" in (spec.network or "")
        if bridged and spec.model is not None and spec.model not in VIRTIO:
            yield nic.name, spec


def _mtu(attached: Attachment) -> str | None:
    """The MTU of a network without address management; None if it names none."""
    if any(each.has_ipam for each in attached.plugins) or attached.type == OVN:
        return None
    return next((mtu for each in attached.plugins if (mtu := each.settings.get("mtu"))), None)


_NETWORKS = kube_needs.networks_read(
    lambda guest: ((name, spec.network or "") for name, spec in _emulated(guest)), check
)

RULE = Rule(
    name="kube-mtu-not-told",
    severity="low",
    groups=("kubevirt", "cluster", "mtu"),
    judges=(Judge("guest", needs=(_NETWORKS,), applies=applies, check=check),),
)
