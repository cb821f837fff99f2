"""An interface has a binding plugin that KubeVirt does not know.

## What is wrong

`binding.name` of an interface is not registered in `spec.configuration.network.binding` of the
KubeVirt object.

## Why it matters

virt-api refuses the VM when it is created. One that was created while the plugin was registered
does not start any more.

## Bad

```yaml
interfaces: [{name: default, binding: {name: l2bridge}}]
# KubeVirt: spec.configuration.network.binding is empty
```

## Good

```yaml
kind: KubeVirt
spec:
  configuration:
    network:
      binding:
        l2bridge: {domainAttachmentType: managedTap, migration: {}}
```

## Fix

Register the plugin in the KubeVirt object (or where HyperConverged has it), or use a binding of
KubeVirt's own.

## Fix safety

Another binding is another data path, and may be another address for the guest.

## When it does not fire

* On bindings of KubeVirt's own, and on interfaces that are being unplugged.
* Skipped when the KubeVirt object may not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.kube_owners import route
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.rule import Judge, Problem, Rule


def applies(guest: ClusterGuest) -> bool:
    """A VM with a binding plugin."""
    return any(_plugins(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    settings = guest.cluster.kubevirt
    if settings is None:
        return
    for name, plugin in _plugins(guest):
        if plugin not in settings.bindings:
            yield Problem(
                f"interface {name} has binding plugin {plugin[:60]}, which the KubeVirt object "
                "does not register",
                field=f"{name}/binding",
                fix="Register it in spec.configuration.network.binding of the KubeVirt object, or "
                f"use a binding of KubeVirt's own. {route(settings.owner)}".strip(),
            )


def _plugins(guest: ClusterGuest) -> Iterator[tuple[str, str]]:
    for nic, spec in kube_needs.present(guest):
        if spec.is_plugin and spec.binding:
            yield nic.name, spec.binding


RULE = Rule(
    name="kube-binding-not-registered",
    severity="error",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(kube_needs.KUBEVIRT_OF_VM,), applies=applies, check=check),),
)
