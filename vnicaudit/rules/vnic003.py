"""Emulated Intel e1000e or igb.

## What is wrong

QEMU emulates an Intel 82574L (e1000e) or 82576 (igb). libvirt gives its tap a vnet header, so
checksum and segmentation offloads reach the host. But QEMU still emulates the chip for every
packet, without vhost.

## Why it matters

Thanks to the vnet header this NIC is far better than e1000. The 248 Mb/s of e1000 against 7.81 Gb/s
of virtio (A. Scicchitano, SWITCH) do not apply here, so the severity is only *medium*. What is
missing is vhost: without it every packet goes through QEMU.

Often nobody chose this model. virt-install picks e1000e on q35 for operating systems it does not
know. Nova picks it for images whose `os_distro` is a libosinfo id: 387 systems that support virtio
get an emulated NIC that way (osinfo-db 20250619).

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000e'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Change the model to virtio. Keep the MAC address and the PCI address.

## Fix safety

As for VNIC001. e1000e and igb sit on PCI Express: a guest whose driver supports only virtio 0.9
needs `virtio-transitional` at another address, and that change is unsafe.

`<mtu>` wakes up: e1000e and igb do not tell the guest its MTU, and virtio does. Above 1500 the
change is unsafe (see VNIC001).

## When it does not fire

* Reported as *low* when nothing shows that the guest has a virtio driver, when it is known to have
  none, or when the link is down.
* With medium confidence on igb: some people choose it to test SR-IOV inside a guest, which the
  definition does not show. Suppress the finding there and give that reason.
* On s390x: see VNIC008.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import E1000E
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import S390
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """An e1000e or igb that is declared or runs, anywhere but on s390x."""
    return subject.model in E1000E and subject.arch not in S390


def check(subject: Subject) -> Iterator[Problem]:
    """One problem; igb may be intended, to test SR-IOV."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem(
        f"{subject.model} is emulated by QEMU: it has offloads, but no vhost",
        confidence="medium" if subject.model == "igb" else None,
    )


RULE = Rule(
    name="emulated-e1000e",
    severity="medium",
    groups=("models",),
    forms=("definition", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
