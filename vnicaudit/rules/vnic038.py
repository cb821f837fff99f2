"""Packed rings are asked for where the data path has none, or where they stand in the way.

## What is wrong

`packed='on'` is set on a NIC whose packets the kernel's vhost-net carries, or on a vDPA NIC. The
packed layout is negotiated: with vhost-net it is in force only if the kernel's vhost offers
RING_PACKED. On vDPA it rules out QEMU's shadow virtqueue, which live migration is built on.

## Why it matters

On vhost-net the setting promises something it likely does not do, and it still is part of what
must be equal on both sides of a migration. On vDPA it costs the ability to migrate
(`vhost_svq_valid_features` in QEMU 10: RING_PACKED is not among the accepted features).

## Bad

```xml
<interface type='vdpa'>
  <source dev='/dev/vhost-vdpa-0'/>
  <model type='virtio'/>
  <driver packed='on'/>
</interface>
```

## Good

```xml
<interface type='vhostuser'>
  <source type='unix' path='/run/vhost/vhu0' mode='server'/>
  <model type='virtio'/>
  <driver packed='on'/>
</interface>
```

## Fix

Remove `packed='on'`.

## Fix safety

Unsafe in one respect: the ring layout is guest-visible, so a guest that runs with `packed='on'`
cannot be migrated to a host where its definition is without. It changes with a power cycle.

## When it does not fire

* On vhost-user, and where QEMU itself carries the packets (no vhost): both have packed rings.
* Where it is not known whether vhost is in force (a definition alone does not tell), confidence
  is low instead of medium.
* On NICs that are not virtio: VNIC011.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.effective import UNKNOWN
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import VIRTIO
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.server import PACKED
from vnicaudit.model.subject import Subject

_REASON = "the layout is part of what migration compares: plan it with a power cycle"

_FIX_FLAVOR = (
    "Its flavor asks for them (hw:virtio_packed_ring): resize the server to one that does not. "
    "Switched off in its image properties as well, Nova refuses to start it (FlavorImageConflict)."
)


def applies(subject: Subject) -> bool:
    """Packed rings on a virtio NIC that is not vhost-user."""
    if subject.nic.packed != "on" or subject.model not in VIRTIO:
        return False
    return subject.backend != "vhostuser" and subject.effective.vhost.effective is not False


def check(subject: Subject) -> Iterator[Problem]:
    """One problem: why packed does not help here."""
    server = subject.domain.server
    by_flavor = server is not None and server.flavor_flag(PACKED)
    yield Problem(
        _message(subject),
        field="packed",
        confidence="low" if _vhost_unknown(subject) else "medium",
        change=None if by_flavor else Change("packed", "on", None, safe=False, reason=_REASON),
        fix=_FIX_FLAVOR if by_flavor else "",
    )


def _message(subject: Subject) -> str:
    if subject.backend == "vdpa":
        return "packed rings on vDPA rule out the shadow virtqueue: no live migration"
    carries = ", if it carries the packets," if _vhost_unknown(subject) else ""
    return f"packed rings are asked for, and the kernel's vhost-net{carries} may not offer them"


def _vhost_unknown(subject: Subject) -> bool:
    return subject.effective.vhost.state == UNKNOWN


RULE = Rule(
    name="packed-ring-pointless",
    severity="low",
    groups=("rings",),
    judges=(NicJudge(applies=applies, check=check),),
)
