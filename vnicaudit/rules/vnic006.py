"""No model is declared, and libvirt's default is an emulated NIC.

## What is wrong

The definition has no `<model>`. On x86 and POWER libvirt then takes the first of rtl8139, e1000 and
virtio that the QEMU binary has. With upstream QEMU, Debian and Ubuntu that is rtl8139, on `pc` and
`q35` alike (measured with libvirt 9.0).

## Why it matters

One missing line costs a factor of 59: 132 Mb/s on rtl8139, 7.81 Gb/s on virtio. This was the very
cause of the slow network in that measurement (A. Scicchitano, SWITCH).

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
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

Add `<model type='virtio'/>`, also in the template that the definition comes from.

## Fix safety

As for VNIC001: safe when the guest is known to support virtio.

A boot ROM and `<mtu>` are treated as in VNIC001: virtio tells the guest its MTU.

## When it does not fire

* On XML that libvirt wrote: libvirt fills in the default when a domain is defined, and VNIC001 or
  VNIC002 judge the result.
* When the default is virtio: on s390x, on the `virt` machines of ARM, RISC-V and LoongArch, and for
  the interface types vdpa and vhostuser.
* On other architectures and on assigned devices.
* Skipped when the architecture is unknown. If the definition does not name it, it follows from an
  emulator named `qemu-system-…`, or from a machine type that only one architecture has (`q35`,
  `pseries`, `s390-ccw-virtio`): a host of another architecture refuses the definition.
* Reported as *low*, like an explicit rtl8139, when nothing shows that the guest has a virtio
  driver, when it is known to have none, or when the link is down.
* Confidence is medium: RHEL's QEMU may lack the emulated models, and the default is virtio then.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import PPC64, VIRTIO, X86
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """Hand-written XML without a model, where the default is, or may be, emulated."""
    nic = subject.nic
    if nic.model is not None or subject.running is not None or nic.type == "hostdev":
        return False
    if not subject.domain.as_written or nic.origin != "interface":
        return False
    if subject.effective.model.state == "unknown":
        return True
    return subject.arch in X86 | PPC64 and subject.model not in VIRTIO and subject.model != ""


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming the model that results."""
    found = to_virtio(subject, RULE.severity)
    where = f"{subject.arch} {subject.domain.machine or ''}".strip()
    yield found.problem(
        f"no model is declared; on {where} libvirt makes it {subject.model}",
        field=None,
        confidence="medium",
    )


RULE = Rule(
    name="model-missing",
    severity="high",
    groups=("models",),
    judges=(Judge("nic", needs=(facts.MODEL,), applies=applies, check=check),),
)
