"""No model is declared, and libvirt's default is an emulated NIC.

## What is wrong

The definition has no `<model>`. On x86 and POWER libvirt then takes the first of rtl8139, e1000
and virtio that the QEMU binary has: rtl8139 in QEMU as released, in Debian and in Ubuntu; on `pc`
and on `q35` alike (measured with libvirt 9.0).

## Why it matters

One missing line costs a factor of 59: 132 Mb/s on rtl8139, 7.81 Gb/s on virtio (A. Scicchitano,
SWITCH, where the cause was exactly this).

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

Add `<model type='virtio'/>`, in the template the definition comes from as well.

## Fix safety

As for VNIC001: safe where the guest is known to drive virtio.

## When it does not fire

* In XML that libvirt wrote: it fills in the default when a domain is defined, and VNIC001 or
  VNIC002 judge what it filled in.
* Where the default is virtio: s390x, the `virt` machines of ARM, RISC-V and LoongArch, and the
  interface types vdpa and vhostuser.
* On other architectures and on assigned devices. Where the definition names no architecture, an
  emulator named `qemu-system-…`, or a machine that one architecture alone has (`q35`, `pseries`,
  `s390-ccw-virtio`), tells it: libvirt refuses the definition on a host of another one. Otherwise
  the rule is skipped.
* Where nothing says that the guest has a virtio driver, or it is known to have none, or its link
  is down, the finding is *low*, as that of a written rtl8139 is.
* Confidence is medium: RHEL's QEMU may lack the emulated models, which leaves virtio.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.guest_words import PPC64, X86
from vnicaudit.model.nic import VIRTIO
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


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
    """One problem: what the missing line becomes."""
    found = to_virtio(subject, RULE.severity)
    where = f"{subject.arch} {subject.domain.machine or ''}".strip()
    yield found.problem(
        f"no model is declared: on {where} libvirt makes it {subject.model}",
        field=None,
        confidence="medium",
    )


RULE = Rule(
    name="model-missing",
    severity="high",
    groups=("models",),
    judges=(NicJudge(needs=(facts.MODEL,), applies=applies, check=check),),
)
