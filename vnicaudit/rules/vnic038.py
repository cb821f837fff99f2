"""Packed rings are requested where the data path lacks them, or where they prevent live migration.

## What is wrong

`packed='on'` is set on a NIC whose packets go through the kernel's vhost-net, or on a vDPA NIC. The
packed layout is negotiated: with vhost-net it is used only if the kernel's vhost offers
RING_PACKED. On vDPA it rules out QEMU's shadow virtqueue, which live migration depends on.

## Why it matters

On vhost-net the setting probably has no effect, but it must still match on both sides of a
migration. On vDPA it makes migration impossible (`vhost_svq_valid_features` in QEMU 10: RING_PACKED
is not among the accepted features).

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

Unsafe in one respect: the guest sees the ring layout. A guest running with `packed='on'` cannot be
migrated to a host where its definition lacks it. The layout changes with a power cycle.

## When it does not fire

* On vhost-user, and when QEMU itself carries the packets (no vhost): both support packed rings.
* Confidence is low instead of medium when it is unknown whether vhost is in use: a definition alone
  does not show it.
* On NICs that are not virtio: see VNIC011.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.nic import UNKNOWN
from vnicaudit.model.openstack import PACKED
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_REASON = "migration compares the ring layout: change it with a power cycle"

_FIX_FLAVOR = (
    "Its flavor requests them (hw:virtio_packed_ring): resize the server to one that does not. Do "
    "not switch them off in its image properties: Nova would refuse to start it "
    "(FlavorImageConflict)."
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
    return f"packed rings are requested, but the kernel's vhost-net{carries} may not offer them"


def _vhost_unknown(subject: Subject) -> bool:
    return subject.effective.vhost.state == UNKNOWN


RULE = Rule(
    name="packed-ring-pointless",
    severity="low",
    groups=("rings",),
    judges=(Judge("nic", applies=applies, check=check),),
)
