"""Emulated Intel e1000.

## What is wrong

QEMU emulates an Intel PRO/1000 (82540EM or a relative). libvirt opens its tap without a vnet
header, so neither checksums nor segmentation are offloaded to the host. There is no vhost either:
QEMU handles every frame itself.

## Why it matters

e1000 reached 248 Mb/s where virtio with vhost reached 7.81 Gb/s, in the same cloud with one TCP
stream for 10 s. Source: A. Scicchitano, SWITCH, "Improving network performance within the cloud".
The guest sees a gigabit card, so few people suspect it.

## Bad

```xml
<interface type='network'>
  <source network='default'/>
  <model type='e1000'/>
</interface>
```

## Good

```xml
<interface type='network'>
  <source network='default'/>
  <model type='virtio'/>
</interface>
```

## Fix

Change the model to virtio. Keep the MAC address and, on PCI machines, the PCI address.

## Fix safety

As for VNIC001: safe when the guest is known to support virtio, unsafe when nothing is known about
the guest, and unsafe on Windows until NetKVM from virtio-win is installed. To install it, boot once
with a second, virtio NIC. A static IP address stays with the old adapter and must be set again.

A boot ROM and `<mtu>` are treated as in VNIC001: virtio tells the guest its MTU.

Some keep e1000 on purpose: for an appliance whose vendor supports nothing else (suppress the
finding, with the vendor's name and a date), or for a bond in the guest. 802.3ad and balance-tlb ask
each interface for its speed (Linux, Documentation/networking/bonding.rst), which virtio_net reports
as *Unknown*. Cure that instead: `ethtool -s IFACE speed 10000 duplex full` in the guest (Linux 4.6,
commit 16032be56c1f), or `speed=10000,duplex=full` of QEMU's device (Linux 4.16, commit
faa9b39f0e9d), for which libvirt has `<qemu:override>` only.

## When it does not fire

* Reported as *low* when nothing shows that the guest has a virtio driver, or when it is known to
  have none (an appliance, for example): review it.
* Reported as *low* when the NIC's link is down.
* On s390x, where e1000 does not exist: see VNIC008.
* On e1000e and igb, which do have offloads: see VNIC003.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import E1000
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import S390
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """An e1000 that is declared or runs, anywhere but on s390x."""
    return subject.model in E1000 and subject.arch not in S390


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, whose severity depends on whether the guest supports virtio."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem(f"{subject.model} is emulated frame by frame: no offload, no vhost")


RULE = Rule(
    name="emulated-e1000",
    severity="high",
    groups=("models",),
    forms=("definition", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
