"""vmxnet3, VMware's paravirtual NIC, on QEMU.

## What is wrong

vmxnet3 is fast on VMware, where the hypervisor drives it. On QEMU it is emulated in userspace:
it has a vnet header and thus offloads, but never vhost.

## Why it matters

It is what an imported VMware guest is left with, and its name suggests that nothing needs doing.
Every packet goes through QEMU, where virtio's goes through the kernel (7.81 Gb/s in the
measurement of A. Scicchitano, SWITCH; vmxnet3 was not part of it).

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='vmxnet3'/>
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

Install the virtio driver in the guest if it lacks it, then change the model to virtio; keep the
MAC address and the address.

## Fix safety

As for VNIC001: safe where the guest is known to drive virtio.

## When it does not fire

* A domain just imported from VMware, of which nothing says that it has a virtio driver: *low*,
  review it. So it is where the link is down.
* In domains that are not QEMU's (`type='vmware'`): there it is the right model.
* On s390x VNIC008 speaks instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.guest_words import S390
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """A vmxnet3 that is declared or runs, anywhere but on s390x."""
    return subject.model == "vmxnet3" and subject.arch not in S390


def check(subject: Subject) -> Iterator[Problem]:
    """One problem; how severe it is depends on whether the guest can do better."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem("vmxnet3 is emulated in QEMU: it has offloads, but no vhost")


RULE = Rule(
    name="vmxnet3-on-qemu",
    severity="medium",
    groups=("models",),
    forms=("definition", "server"),
    judges=(NicJudge(applies=applies, check=check),),
)
