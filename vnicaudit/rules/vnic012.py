"""A modern-only virtio device in a guest whose driver supports only virtio 0.9.

## What is wrong

On a PCI Express port, virtio-net is a virtio 1.0 device (PCI id 1af4:1041). The guest's driver
binds only to the transitional device (1af4:1000). `virtio-non-transitional` is 1af4:1041 in any
slot.

## Why it matters

The guest has no network, although its driver is installed and the definition looks right. Measured
on a q35 machine with libvirt 9.0 and QEMU 7.2: the same NIC is 1af4:1000 behind a
pcie-to-pci-bridge, and 1af4:1041 on its own pcie-root-port. libvirt uses such a root port for a
virtio NIC without an address.

## Bad

In a guest whose driver supports only virtio 0.9:

```xml readiness=ready-transitional
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio-non-transitional'/>
</interface>
```

On q35, as well:

```xml readiness=ready-transitional domain.machine=pc-q35-9.2
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Good

On q35, for the same driver:

```xml readiness=ready-transitional domain.machine=pc-q35-9.2
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio-transitional'/>
</interface>
```

## Fix

On KubeVirt set `useVirtioTransitional: true`, which also changes the VM's other virtio devices.

Use `virtio-transitional` (libvirt 5.2) and remove the address, so that libvirt puts the NIC on
conventional PCI. Alternatively, use the machine type `pc`, or a conventional PCI slot.

## Fix safety

Safe if the NIC has no address yet. Otherwise unsafe: the address changes and, if the guest has a
driver after all, so does the interface name.

## When it does not fire

* Unless the guest's operating system is known to have only a virtio 0.9 driver.
* On VMs of KubeVirt with `useVirtioTransitional`; without it their virtio is of virtio 1.0 only.
* On conventional PCI (machine type `pc`, a pcie-to-pci-bridge), and on the root bus of q35, where
  QEMU keeps the device transitional.
* On s390x, on virtio-mmio, and with plain `virtio` on the `virt` machines of ARM and RISC-V.
* Skipped when the definition does not show the controller of the NIC's bus.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.systems import is_q35, modern_only_slot
from vnicaudit.model.finding import S390, Change
from vnicaudit.model.fix import SetInManifest
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_RENAMED = "the NIC needs a different address, and the interface may be renamed"
_FREE = "libvirt has not given it an address yet"


def applies(subject: Subject) -> bool:
    """A virtio NIC on PCI, in a guest with a virtio 0.9 driver."""
    domain = subject.domain
    if domain.readiness != "ready-transitional" or subject.arch in S390:
        return False
    if subject.nic.address_type not in (None, "pci") or subject.nic.type == "hostdev":
        return False
    if subject.model == "virtio-non-transitional":
        return True
    return subject.model == "virtio" and is_q35(domain)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem if the device is 1af4:1041."""
    if subject.model == "virtio" and not modern_only_slot(subject.nic, subject.domain):
        return
    free = subject.nic.address_type is None
    where = "" if subject.model == "virtio-non-transitional" else " on a PCI Express port"
    told = "is modern only (1af4:1041), and this guest's driver supports only virtio 0.9"
    if subject.domain.manifest is not None:
        yield Problem(
            f"{subject.model}{where} {told}",
            field="model",
            confidence="medium",
            fix=SetInManifest("useVirtioTransitional", "true"),
        )
        return
    yield Problem(
        f"{subject.model}{where} {told}",
        field="model",
        confidence="medium",
        change=Change(
            "model",
            subject.nic.model,
            "virtio-transitional",
            safe=free,
            reason=_FREE if free else _RENAMED,
        ),
        fix="" if free else "Its PCI address must go too: libvirt then assigns a conventional one.",
    )


RULE = Rule(
    name="modern-only-virtio",
    severity="medium",
    groups=("models",),
    forms=("definition", "manifest"),
    judges=(Judge("nic", needs=(facts.SLOT,), applies=applies, check=check),),
)
