"""A NIC keeps a VM from being migrated while it runs.

## What is wrong

The VM is on the pod network by the binding `bridge`, or by a binding plugin without `migration`; or
its instance says `InterfaceNotLiveMigratable`.

## Why it matters

KubeVirt does not migrate such a VM (`VerifyVMIMigratable` in `pkg/network/vmispec/interface.go`).
With `evictionStrategy: LiveMigrate` it blocks the drain of its node.

## Bad

```yaml
evictionStrategy: LiveMigrate
domain: {devices: {interfaces: [{name: default, bridge: {}}]}}
networks: [{name: default, pod: {}}]
```

## Good

```yaml
evictionStrategy: LiveMigrate
domain: {devices: {interfaces: [{name: default, masquerade: {}}]}}
networks: [{name: default, pod: {}}]
```

## Fix

Use masquerade, or a plugin that migrates. If the pod network keeps its addresses over a migration,
the annotation `kubevirt.io/allow-pod-bridge-network-live-migration` allows it.

## Fix safety

Never safe: with another binding the guest has another address.

## When it does not fire

* With that annotation, and on VMs that are not meant to migrate (`evictionStrategy: None`).
* On a plugin that is not registered (VNIC211).
* On SR-IOV, which migrates by being unplugged, and on secondary networks.
* Only *low* unless the VM or the cluster says LiveMigrate.
* Skipped when the KubeVirt object may not be read, and a plugin or the cluster's strategy decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.finding import Severity
from vnicaudit.model.rule import Judge, Problem, Rule

_REASON = "InterfaceNotLiveMigratable"
_FIX = (
    "Use masquerade, or a plugin with migration, if the guest may have another address; or annotate"
    " its template with kubevirt.io/allow-pod-bridge-network-live-migration if the pod network "
    "keeps addresses over a migration. Then restart the VM."
)

_STRATEGY = kube_needs.guest_fact(
    lambda guest: (
        guest.cluster.kubevirt is not None
        or (_own_strategy(guest) is not None and not any(one[2] for one in _primary(guest)))
    ),
    "the KubeVirt object, for its plugins and evictionStrategy",
    kube_needs.KUBEVIRTS,
)


def applies(guest: ClusterGuest) -> bool:
    """A VM on the pod network by a bridge or a plugin, or one that says why it does not migrate."""
    own = _own_strategy(guest)
    return own != "None" and not guest.deleting and (bool(_primary(guest)) or _is_refused(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for the VM's interface on the pod network, or for the VM."""
    settings = guest.cluster.kubevirt
    strategy = _own_strategy(guest) or (None if settings is None else settings.eviction)
    if strategy == "None":
        return
    severity: Severity = "medium" if (strategy or "").startswith("LiveMigrate") else "low"
    migrates = {} if settings is None else settings.bindings
    for name, binding, is_plugin in _primary(guest):
        if is_plugin and binding not in migrates:
            return  # it does not start: VNIC211
        if not is_plugin or not migrates[binding]:
            plugin = "plugin " if is_plugin else ""
            yield Problem(
                f"interface {name} is on the pod network by {plugin}{binding}: the VM cannot be "
                "migrated while it runs",
                field=f"{name}/binding",
                severity=severity,
                fix=kube_needs.with_owner(guest, _FIX),
            )
            return
    if _is_refused(guest):
        yield Problem(
            f"its instance says {_REASON}: the VM cannot be migrated while it runs",
            severity=severity,
            fix=kube_needs.with_owner(guest, _FIX),
        )


def _primary(guest: ClusterGuest) -> list[tuple[str, str, bool]]:
    """The interface on the pod network, with its binding, if that may not migrate."""
    return [
        (nic.name, spec.binding, spec.is_plugin)
        for nic, spec in kube_needs.present(guest)
        if spec.network == "pod"
        and spec.binding
        and (spec.is_plugin or (spec.binding == "bridge" and not guest.bridge_may_migrate))
    ]


def _is_refused(guest: ClusterGuest) -> bool:
    condition = guest.condition("LiveMigratable")
    return condition is not None and condition.on is False and condition.reason == _REASON


def _own_strategy(guest: ClusterGuest) -> str | None:
    settings = guest.has or guest.template
    return None if settings is None else settings.eviction


RULE = Rule(
    name="kube-binding-blocks-migration",
    severity="medium",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(_STRATEGY,), applies=applies, check=check),),
)
