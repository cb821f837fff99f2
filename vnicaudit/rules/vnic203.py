"""A NIC was added to a running VM and waits for a migration that cannot happen.

## What is wrong

The instance has an interface that its domain does not have, and the VM cannot be migrated while it
runs, or nothing migrates it: the cluster's rollout strategy is Stage, KubeVirt is older than 1.6,
or its controller has let a pending migration wait for more than a minute.

## Why it matters

KubeVirt plugs a NIC in by a live migration: the new launcher's pod has the network, the old one has
not. From 1.6 on KubeVirt asks for that migration itself, 15 s after it saw the interface
(`pkg/network/migration/evaluator.go`); before, somebody has to. Until then the guest does not see
it.

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

Remove what blocks the migration (the reason of the condition says what), migrate the VM
(`virtctl migrate`), or restart it.

## Fix safety

A restart interrupts the VM; plan a window. A migration does not, but moves its memory.

## When it does not fire

* From KubeVirt 1.6 on, when the VM can be migrated and the strategy is LiveUpdate: the migration is
  on its way. Only where the condition MigrationRequired has been False (`AutoMigrationPending`) for
  more than a minute, nobody starts it.
* Within the first minute of an instance, while it is migrated, and on NICs that are being
  unplugged.
* Skipped in files, which do not show how old the instance was when it was read, and when the
  KubeVirt object may not be read and its strategy decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.kubevirt_versions import AUTO_MIGRATION, is_at_least
from vnicaudit.model.cluster import ClusterGuest, Condition
from vnicaudit.model.rule import Judge, Problem, Rule

_MINUTE = 60
"""KubeVirt itself waits for 15 s, and looks again 10 s later (DynamicNetworkControllerGracePeriod
in pkg/network/migration/evaluator.go, pendingMigrationReEvalPeriod in watch/vmi/lifecycle.go)."""
_LOOK = "If that stays, see what virt-controller logs."
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
    if (guest.age or 0) < _MINUTE or guest.migrating:
        return
    why, fix = _reason(guest)
    for name in _waiting(guest) if why else ():
        yield Problem(
            f"interface {name} waits for a migration, and {why}", field=f"{name}/", fix=fix
        )


def _reason(guest: ClusterGuest) -> tuple[str, str]:
    """Why no migration comes, and what to do; both empty: it is on its way."""
    restart, blocked = kube_needs.restart(guest, "in a window"), _blocked(guest)
    if blocked is not None:
        reason = blocked.reason[:60] or "LiveMigratable is False"
        fix = f"Remove what blocks the migration. Or else: {restart}"
        return f"the VM cannot be migrated ({reason})", fix
    if kube_needs.rollout(guest.cluster) == "Stage":
        return "the rollout strategy is Stage", restart
    migrate = f"Migrate it: virtctl migrate {kube_needs.machine(guest)}."
    if is_at_least(guest.cluster.version, AUTO_MIGRATION) is False:
        return "KubeVirt migrates by itself from 1.6 on only", migrate
    pending = guest.condition("MigrationRequired")
    if pending is not None and pending.on is False and (pending.age or 0) > _MINUTE:
        return f"KubeVirt has let it wait for {pending.age} s", f"{migrate} {_LOOK}"
    return "", ""


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
