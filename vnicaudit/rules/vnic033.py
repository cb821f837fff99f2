"""A receive ring of 256 descriptors behind a poll-mode switch or device (vhost-user, vDPA).

## What is wrong

The NIC's receive ring has 256 descriptors, QEMU's default, and a poll-mode switch or a device feeds
it (OVS-DPDK, VPP, VDUSE, vDPA hardware). Whenever the guest's vCPU is descheduled for a moment, the
ring fills up and the switch drops packets.

## Why it matters

At more than a million packets per second, 256 slots overflow within a single preemption of the vCPU
(Nova specification for Rocky). The advice for OpenStack with OVS-DPDK is 1024. In KubeVirt, a fixed
size of 256 showed up as drops on the VDUSE port (J. Meng, M. Coquelin, Red Hat, "Beam me through
the datapath").

## Bad

```xml
<interface type='vhostuser'>
  <source type='unix' path='/run/vhost/vhu0' mode='server'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<interface type='vhostuser'>
  <source type='unix' path='/run/vhost/vhu0' mode='server'/>
  <model type='virtio'/>
  <driver rx_queue_size='1024'/>
</interface>
```

## Fix

Set `rx_queue_size='1024'` (libvirt 2.3, QEMU 2.7). In Nova, set `[libvirt] rx_queue_size` in
nova.conf.

## Fix safety

Safe on vhost-user. Unsafe on vDPA: the device must support rings of that size.

## When it does not fire

* On taps: the tap device's own queue absorbs what the ring cannot hold. Only a drop count would be
  evidence, and this rule has none.
* In KubeVirt, which has no field for ring sizes, and on Nova's vDPA ports, for which Nova writes
  none.
* In guests with virtio 0.9 drivers, and on a NIC with a boot order, unless the guest is known to
  have current virtio drivers: old iPXE and old drivers cannot handle a ring above 256.
* Reported as *low* on vDPA: the known drops were seen with VDUSE.
* On passt, and when libvirt does not read the attribute (VNIC010).
* When the link is down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.rule import Judge, Problem, RuleSettings, Subject, adjustable_rule, setting

_WANTED = "1024"
_MEASURED = 256
"""The ring size whose overflow was measured."""
_BEHIND = {"vhostuser": "a vhost-user switch", "vdpa": "a vDPA device"}
_SAFE = "the ring takes a little guest memory, and the driver reads its size"
_UNSAFE = "the vDPA device must support rings of that size"


class RingLimits(RuleSettings, frozen=True):
    """The smallest acceptable ring."""

    minimum: Annotated[
        Literal[512, 1024],
        setting("Report receive rings with fewer descriptors than this: 512 or 1024."),
    ] = 512


def applies(subject: Subject) -> bool:
    """A virtio NIC behind a poll-mode switch or a device, whose ring can be set."""
    nic, domain = subject.nic, subject.domain
    if subject.backend not in _BEHIND or subject.model not in VIRTIO:
        return False
    if nic.backend_type == "passt" or nic.link_state == "down":
        return False
    if nic.boot_order is not None and domain.readiness != "ready":
        return False  # an old iPXE or a virtio 0.9 guest may boot from it
    if domain.owner == "kubevirt" or domain.readiness == "ready-transitional":
        return False
    return not (domain.owner == "nova" and subject.backend == "vdpa")


def check(subject: Subject, limits: RingLimits) -> Iterator[Problem]:
    """One problem if the effective ring is smaller than the minimum."""
    size = subject.effective.rx_queue_size.effective
    if size is None or not _MEASURED <= size < limits.minimum or not subject.tuned:
        return
    if any(one.name == "rx_queue_size" for one in subject.nic.behind):
        return  # <qemu:override> sets it, and wins over <driver>
    old = subject.nic.rx_queue_size
    safe = subject.backend == "vhostuser"
    yield Problem(
        f"a receive ring of {size} behind {_BEHIND[subject.backend or '']}: "
        f"{_reason(size, limits)}",
        field="rx_queue_size",
        severity=None if safe else "low",
        confidence="medium" if safe else "low",
        change=Change(
            "rx_queue_size",
            None if old is None else str(old),
            _WANTED,
            safe=safe,
            reason=_SAFE if safe else _UNSAFE,
        ),
    )


def _reason(size: int, limits: RingLimits) -> str:
    """The reason. For a ring larger than the measured one it is only the setting."""
    if size == _MEASURED:
        return "bursts overflow it"
    return f"the settings want {limits.minimum} at least"


RULE = adjustable_rule(
    RingLimits,
    lambda limits: Judge(
        "nic",
        applies=applies,
        check=lambda subject: check(subject, limits),
    ),
    name="small-rx-ring",
    severity="medium",
    groups=("rings",),
)
