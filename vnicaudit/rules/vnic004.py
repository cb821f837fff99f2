"""VMware's paravirtual NIC (vmxnet3) on QEMU.

## What is wrong

vmxnet3 is fast on VMware, where the hypervisor supports it. QEMU emulates it in userspace: it has a
vnet header and therefore offloads, but never vhost.

## Why it matters

A guest imported from VMware usually keeps this model, and the name suggests that nothing needs
doing. Every packet goes through QEMU; with virtio it goes through the kernel. Virtio with vhost
reached 7.81 Gb/s in a measurement that did not include vmxnet3 (A. Scicchitano, SWITCH).

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

Install the virtio driver in the guest if it is missing, then change the model to virtio. Keep the
MAC address and the PCI address.

## Fix safety

As for VNIC001: safe when the guest is known to support virtio.

A boot ROM and `<mtu>` are treated as in VNIC001: virtio tells the guest its MTU.

## When it does not fire

* Reported as *low* when nothing shows that the guest has a virtio driver, as after an import from
  VMware: review it. Also when the link is down.
* In domains of other hypervisors (`type='vmware'`), where it is the right model.
* On s390x: see VNIC008.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import S390
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A vmxnet3 that is declared or runs, anywhere but on s390x."""
    return subject.model == "vmxnet3" and subject.arch not in S390


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, whose severity depends on whether the guest supports virtio."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem("vmxnet3 is emulated in QEMU: it has offloads, but no vhost")


RULE = Rule(
    name="vmxnet3-on-qemu",
    severity="medium",
    groups=("models",),
    forms=("definition", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
