"""Emulated Intel e1000.

## What is wrong

The NIC is an Intel PRO/1000 (82540EM and its kin), emulated by QEMU. libvirt opens its tap
without a vnet header, so neither checksums nor segmentation are offloaded to the host, and there
is no vhost: QEMU emulates every frame.

## Why it matters

248 Mb/s on e1000 against 7.81 Gb/s on virtio with vhost, same cloud, one TCP stream, 10 s.
Source: A. Scicchitano, SWITCH, "Improving network performance within the cloud". It looks like a
gigabit card to the guest, which is why it is rarely suspected.

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

Change the model to virtio; keep the MAC address and, on PCI machines, the address.

## Fix safety

As for VNIC001: safe where the guest is known to drive virtio, unsafe on Windows until NetKVM from
virtio-win is installed (boot once with a second, virtio NIC; a static address stays with the old
adapter and must be set again), unsafe where nothing is known of the guest.

## When it does not fire

* Where nothing says that the guest has a virtio driver, or the guest is known to have none (an
  appliance, say), the finding is *low*: review it.
* A NIC whose link is down is reported as *low*.
* On s390x VNIC008 speaks instead: e1000 does not exist there.
* e1000e and igb are VNIC003: they do have offloads.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import E1000
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.guest_words import S390
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """An e1000 that is declared or runs, anywhere but on s390x."""
    return subject.model in E1000 and subject.arch not in S390


def check(subject: Subject) -> Iterator[Problem]:
    """One problem; how severe it is depends on whether the guest can do better."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem(f"{subject.model} is emulated frame by frame: no offload, no vhost")


RULE = Rule(
    name="emulated-e1000",
    severity="high",
    groups=("models",),
    forms=("definition", "server"),
    judges=(NicJudge(applies=applies, check=check),),
)
