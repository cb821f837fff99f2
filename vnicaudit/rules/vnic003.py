"""Emulated Intel e1000e or igb.

## What is wrong

The NIC is an Intel 82574L (e1000e) or 82576 (igb), emulated by QEMU. libvirt gives its tap a vnet
header, so checksum and segmentation offloads reach the host; but the packet path is QEMU's
emulation of the chip, without vhost.

## Why it matters

The vnet header makes it far better than e1000, whose 248 Mb/s against virtio's 7.81 Gb/s
(A. Scicchitano, SWITCH) do not apply here; hence *medium*. What is missing is what vhost gives:
without it each packet goes through QEMU. Often nobody chose it: virt-install takes
e1000e on q35 for systems it does not know, and Nova takes it for images whose `os_distro` is a
libosinfo id (387 systems that could drive virtio get an emulated NIC that way, osinfo-db
20250619).

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

Change the model to virtio; keep the MAC address and the address.

## Fix safety

As for VNIC001. e1000e and igb are on PCI Express: a guest whose driver knows virtio 0.9 only
needs `virtio-transitional` at another address, and that change is unsafe.

## When it does not fire

* Where nothing says that the guest has a virtio driver, or the guest is known to have none, the
  finding is *low*; so it is where the link is down.
* igb is sometimes chosen to test SR-IOV inside a guest, which no definition tells: confidence is
  medium. Suppress it there, with that reason.
* On s390x VNIC008 speaks instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import E1000E
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.guest_words import S390
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """An e1000e or igb that is declared or runs, anywhere but on s390x."""
    return subject.model in E1000E and subject.arch not in S390


def check(subject: Subject) -> Iterator[Problem]:
    """One problem; igb may be meant, to test SR-IOV."""
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
    judges=(NicJudge(applies=applies, check=check),),
)
