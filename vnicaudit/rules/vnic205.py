"""A VM runs with another NIC than the specification of its instance gives.

## What is wrong

With `--exec`, the launcher of the VM was asked for its domain (`virsh dumpxml` in the container
compute) and the arguments of its QEMU. A NIC there has another model or driver than the
specification of the instance gives, or more queues.

## Why it matters

The specification of the instance is what everybody reads. Whoever judges the VM by it judges a NIC
that is not there, and a restart may bring back another one.

## Bad

```console
$ kubectl get vmi web -o jsonpath='{.spec.domain.devices.interfaces[0].model}'
virtio
$ kubectl exec virt-launcher-web-x7k2p -c compute -- virsh dumpxml demo_web | grep 'model type'
      <model type='e1000e'/>
```

## Good

```console
$ kubectl exec virt-launcher-web-x7k2p -c compute -- virsh dumpxml demo_web | grep 'model type'
      <model type='virtio-non-transitional'/>
```

## Fix

Find what rewrites the domain: a hook or a patched virt-launcher. No object of the cluster that was
read says that there is one.

## Fix safety

No change is proposed.

## When it does not fire

* Without `--exec`; skipped for VMs of which the launcher could not be asked, with the reason.
* When a hook sidecar or a Plugin rewrites the domain: VNIC216 tells the same differences.
* On vhost, where the domain is not KVM's or the cluster allows emulation (VNIC200), and on bindings
  without a tap device (SR-IOV, passt, plugins).
* On fewer queues than vCPUs: VNIC204.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.rule import Fact, Judge, Problem, Rule

_FIX = "Find what rewrites the domain: a hook that no object of the cluster names."
_READ = Fact[ClusterGuest](
    lambda guest: guest.launcher_told,
    "the domain in its launcher",
    reason=lambda guest: f"the domain in its launcher ({guest.launched and guest.launched.unread})",
)


def applies(guest: ClusterGuest) -> bool:
    """A running VM whose launcher was to be asked, and that no known hook rewrites."""
    asked = guest.launched is not None and kube_needs.is_running(guest)
    return asked and not guest.rewriter


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface that differs."""
    for name, differences in kube_needs.launched_differences(guest):
        text = f"interface {name} runs with {differences}"
        yield Problem(text, field=f"{name}/model", fix=_FIX)


RULE = Rule(
    name="kube-domain-differs",
    severity="high",
    groups=("kubevirt", "cluster", "drift"),
    judges=(Judge("guest", needs=(_READ,), applies=applies, check=check),),
)
