"""A NIC was added to a running VM and waits for a migration that cannot happen.

## What is wrong

The instance has an interface that its domain does not have, and the VM cannot be migrated while it
runs, or the cluster's rollout strategy is Stage.

## Why it matters

KubeVirt plugs a NIC in by a live migration: the new launcher's pod has the network, the old one has
not (`pkg/network/migration/evaluator.go`). Until then the guest does not see it.

## Bad

```yaml
spec: {domain: {devices: {interfaces: [{name: default}, {name: db}]}}}
status:
  interfaces: [{name: default, infoSource: domain}]
  conditions: [{type: LiveMigratable, status: "False", reason: DisksNotLiveMigratable}]
```

## Good

```yaml
status:
  interfaces: [{name: default, infoSource: domain}, {name: db, infoSource: "domain, multus-status"}]
```

## Fix

Remove what blocks the migration (the reason of the condition says what), or restart the VM.

## Fix safety

A restart interrupts the VM; plan a window.

## When it does not fire

* When the VM can be migrated and the strategy is LiveUpdate: the migration is on its way.
* Within the first minute of an instance, while a migration is required and possible, and on NICs
  that are being unplugged.
* Skipped in files, which do not show how old the instance was when it was read, and when the
  KubeVirt object may not be read and its strategy decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import ClusterGuest, Condition
from vnicaudit.model.rule import Judge, Problem, Rule

_MINUTE = 60
_AGE = kube_needs.guest_fact(
    lambda guest: guest.age is not None,
    "the age of the instance, from the cluster itself (kube:CONTEXT)",
)
_STRATEGY = kube_needs.guest_fact(
    lambda guest: _blocked(guest) is not None or kube_needs.rollout(guest.cluster) is not None,
    "vmRolloutStrategy, or the version whose default counts, in the KubeVirt object",
    kube_needs.KUBEVIRTS,
)


def applies(guest: ClusterGuest) -> bool:
    """A running VM with an interface that its domain lacks."""
    return kube_needs.is_running(guest) and any(_waiting(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    blocked = _blocked(guest)
    if (guest.age or 0) < _MINUTE:
        return
    if blocked is not None:
        why = f"the VM cannot be migrated ({blocked.reason[:60] or 'LiveMigratable is False'})"
        fix = "Remove what blocks the migration. Or else: "
    elif kube_needs.rollout(guest.cluster) == "Stage":
        why, fix = "the rollout strategy is Stage", ""
    else:
        return
    for name in _waiting(guest):
        yield Problem(
            f"interface {name} waits for a migration, and {why}",
            field=f"{name}/",
            fix=f"{fix}{kube_needs.restart(guest, 'in a window')}",
        )


def _waiting(guest: ClusterGuest) -> Iterator[str]:
    """The interfaces of the instance that its domain does not have."""
    for nic in guest.nics:
        if nic.has is None or nic.has.state == "absent" or nic.has.network == "pod":
            continue
        sources = frozenset[str]() if nic.status is None else nic.status.sources
        if nic.status is None or ("multus-status" in sources and "domain" not in sources):
            yield nic.name


def _blocked(guest: ClusterGuest) -> Condition | None:
    """The condition that the VM cannot be migrated."""
    condition = guest.condition("LiveMigratable")
    return condition if condition is not None and condition.on is False else None


RULE = Rule(
    name="kube-nic-waits-for-migration",
    severity="medium",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(_AGE, _STRATEGY), applies=applies, check=check),),
)
