"""vDPA device missing, or its doorbell not mapped.

## What is wrong

Either this host does not have the ``/dev/vhost-vdpa-N`` that the NIC names, because the vDPA device
is gone or bound to another driver than ``vhost_vdpa``; or ``page_per_vq`` is not on.

## Why it matters

Without the device the guest does not start: ``Unable to open '/dev/vhost-vdpa-0' for vdpa device``
(measured with libvirt 9.0 and 11.3).

Without ``page_per_vq`` the queues share one page of doorbells. Only whole pages can be mapped into
the guest, so libvirt's documentation recommends ``page_per_vq`` for vDPA. Without the mapping every
notification goes through QEMU.

## Bad

`/dev/vhost-vdpa-0` does not exist on the host:

```xml host.vhost_paths=[[/dev/vhost-vdpa-0,false]]
<interface type='vdpa'>
  <source dev='/dev/vhost-vdpa-0'/>
  <model type='virtio'/>
  <driver page_per_vq='on'/>
</interface>
```

```xml
<interface type='vdpa'>
  <source dev='/dev/vhost-vdpa-0'/>
  <model type='virtio'/>
</interface>
```

## Good

It exists:

```xml host.vhost_paths=[[/dev/vhost-vdpa-0,true]]
<interface type='vdpa'>
  <source dev='/dev/vhost-vdpa-0'/>
  <model type='virtio'/>
  <driver page_per_vq='on'/>
</interface>
```

## Fix

Create the device (``vdpa dev add``) and bind it to ``vhost_vdpa``; set ``page_per_vq='on'``.

## Fix safety

``page_per_vq`` is unsafe: it changes the layout of the PCI device, and a guest cannot be migrated
to, or restored into, another layout.

## When it does not fire

* The device is checked only on the hypervisor itself, and not for a guest that is running with it.
* ``page_per_vq`` is reported as *low*, with low confidence, because a software device has no
  doorbell to map. It is reported only if it can be set: not on s390x (no PCI), not with libvirt
  before 7.9, and only in definitions that libvirt itself owns (Nova, for one, writes no
  ``<driver>`` for vDPA).
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import S390, VIRTIO, Change
from vnicaudit.model.host import Version
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_PAGE_PER_VQ = Version(7, 9)
_LAYOUT = (
    "the layout of the PCI device changes: earlier saved states and migrations no longer match"
)


def applies(subject: Subject) -> bool:
    """A vDPA NIC defined by libvirt."""
    return subject.nic.type == "vdpa"


def check(subject: Subject) -> Iterator[Problem]:
    """One problem: a missing device, or else a doorbell that cannot be mapped."""
    if _missing(subject):
        yield Problem(
            f"{subject.nic.device} does not exist on this host: the guest does not start here"
            + _elsewhere(subject),
            field="device",
            fix="Create the vDPA device (vdpa dev add) and bind it to vhost_vdpa.",
        )
    elif _can_set_page_per_vq(subject):
        written = subject.nic.page_per_vq
        yield Problem(
            f"page_per_vq is {'not set' if written is None else 'off'}: the doorbells of a vDPA "
            "device cannot be mapped into the guest, so each notification goes through QEMU",
            field=None if written is None else "page_per_vq",
            severity="low",
            confidence="low",
            change=Change("page_per_vq", written, "on", safe=False, reason=_LAYOUT),
        )


def _missing(subject: Subject) -> bool:
    if subject.running is not None or (subject.state is not None and subject.state.active):
        return False
    return dict(subject.host.vhost_paths).get(subject.nic.device or "") is False


def _elsewhere(subject: Subject) -> str:
    """Devices on the bus that are bound to another driver."""
    others = [
        f"{device} is bound to {driver or 'no driver'}"
        for device, driver in subject.host.vdpa_drivers
        if driver != "vhost_vdpa"
    ]
    return f" ({', '.join(others)})" if others else ""


def _can_set_page_per_vq(subject: Subject) -> bool:
    nic, version = subject.nic, subject.host.libvirt_version
    if nic.origin != "interface" or subject.domain.owner != "libvirt":
        return False
    if nic.page_per_vq == "on" or subject.model not in VIRTIO:
        return False
    if version is not None and version < _PAGE_PER_VQ:
        return False
    return subject.arch not in S390 and nic.address_type in (None, "pci")


RULE = Rule(
    name="vdpa-device",
    severity="error",
    groups=("backends", "refused"),
    judges=(Judge("nic", applies=applies, check=check),),
)
