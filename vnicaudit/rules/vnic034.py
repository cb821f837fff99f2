"""tx_queue_size above 256 on a backend limited to 256: ignored by old QEMU, refused by new.

## What is wrong

`tx_queue_size` is 512 or 1024 on a backend whose transmit ring has at most 256 descriptors. That is
every backend except vhost-user and vDPA (`virtio_net_max_tx_queue_size` in QEMU).

## Why it matters

QEMU up to 8.0 silently reduces it to 256 (measured with 7.2.22). Later QEMU refuses to start
(measured with 10.0.13): `Invalid tx_queue_size (= 1024), must be a power of 2 between 256 and 256`.
After a host upgrade or a migration, a definition that worked for years no longer starts.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver tx_queue_size='1024'/>
</interface>
```

## Good

```xml
<interface type='vhostuser'>
  <source type='unix' path='/run/vhost/vhu0' mode='server'/>
  <model type='virtio'/>
  <driver tx_queue_size='1024'/>
</interface>
```

## Fix

Remove `tx_queue_size`.

## Fix safety

Safe: wherever the domain starts, the ring already has 256 descriptors.

## When it does not fire

* On vhost-user and vDPA, which do support 1024.
* On assigned devices.
* With medium confidence on a libvirt network: it is usually a tap or a macvtap, but it may hand out
  assigned devices.
* On sizes that QEMU refuses on every backend: see VNIC035. When libvirt does not read the
  attribute: see VNIC010.
* Reported as *error* with QEMU 8.1 or later, known or assumed: the domain does not start. QEMU 8.1
  to 9 were not measured, so confidence is medium there.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import (
    DEFAULT_RING,
    OWN_PATH,
    RING_SIZES,
    STRICT_TX_QEMU,
    as_ring,
    ring_behind,
)
from vnicaudit.model.finding import VIRTIO, Change, Confidence, Severity
from vnicaudit.model.fix import BehindSetting, RemoveBehind
from vnicaudit.model.host import Version
from vnicaudit.model.nic import Behind
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_MEASURED = Version(10, 0)


def applies(subject: Subject) -> bool:
    """A large transmit ring that libvirt passes to QEMU, on a backend that does not support it."""
    if subject.backend in OWN_PATH:
        return False
    if not subject.tuned and _ring_override(subject) is None:
        return False
    size = _size(subject)
    return size in RING_SIZES and size != DEFAULT_RING


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, which depends on the QEMU version, if one is known or assumed."""
    size, behind = _size(subject), _ring_override(subject)
    version = subject.host.qemu_version
    confidence: Confidence = "high" if subject.backend else "medium"
    severity: Severity = RULE.severity
    if version is None:
        effect = "QEMU before 8.1 ignores it, later QEMU does not start"
    elif version < STRICT_TX_QEMU:
        effect = f"QEMU {_version_text(subject)} ignores it, and does not start from 8.1 on"
    else:
        effect = f"with QEMU {_version_text(subject)} this domain does not start"
        severity = "error"
        confidence = confidence if version >= _MEASURED else "medium"
    by = "" if behind is None else f" by {behind.by}"
    reason = "the ring has 256 descriptors anyway, wherever the domain starts"
    unset = Change("tx_queue_size", str(size), None, safe=True, reason=reason)
    yield Problem(
        f"tx_queue_size={size}{by} on type='{subject.backend or subject.nic.type}', which has 256 "
        f"at most: {effect}",
        field="tx_queue_size",
        severity=severity,
        confidence=confidence,
        change=None if behind else unset,
        fix="" if behind is None else RemoveBehind((BehindSetting(behind.name, behind.by),)),
    )


def _ring_override(subject: Subject) -> Behind | None:
    """The property that sets the ring behind libvirt's settings."""
    nic = subject.nic
    if nic.origin != "interface" or subject.model not in VIRTIO:
        return None
    return ring_behind(nic, "tx_queue_size", declared=subject.tuned and bool(nic.tx_queue_size))


def _size(subject: Subject) -> int | None:
    behind = _ring_override(subject)
    return subject.nic.tx_queue_size if behind is None else as_ring(behind.text)


def _version_text(subject: Subject) -> str:
    assumed = " (assumed)" if subject.host.assumed else ""
    return f"{subject.host.qemu_version}{assumed}"


RULE = Rule(
    name="tx-ring-too-large",
    severity="high",
    groups=("rings",),
    judges=(Judge("nic", applies=applies, check=check),),
)
