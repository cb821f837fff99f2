"""A PCI or emulated NIC on s390x.

## What is wrong

Guests on IBM Z use virtio over the channel subsystem (`virtio-net-ccw`). QEMU's s390x binary has no
rtl8139, e1000, vmxnet3, ne2k_pci or pcnet at all: libvirt accepts them in a definition, and the
guest fails to start.

QEMU 10 does emulate e1000e and igb on zPCI, and usb-net on USB. Virtio with a PCI address becomes
virtio-net-pci on zPCI: it works, but it is not the platform's own transport. On a ccw address
libvirt refuses `<rom>` and `<acpi>`, which only PCI devices have.

## Why it matters

A definition copied from x86, or an image property such as `hw_vif_model=e1000` (Nova does not check
the architecture), creates a domain that cannot start: measured with QEMU 7.2 and 10.0. RHEL for IBM
Z supports no emulated PCI device in guests at all.

## Bad

In a guest of architecture s390x:

```xml domain.arch=s390x
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
```

On s390x, with an address on PCI:

```xml domain.arch=s390x
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x0'/>
</interface>
```

## Good

On s390x:

```xml domain.arch=s390x
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <address type='ccw' cssid='0xfe' ssid='0x0' devno='0x0001'/>
</interface>
```

## Fix

Change the model to virtio and remove the PCI address, `<rom>` and `<acpi>`. libvirt then assigns a
ccw address. Keep `<launchSecurity type='s390-pv'/>` and `iommu='on'` as they are.

## Fix safety

Safe for a model that does not start, because no guest has ever seen it. Safe for `<rom>` and
`<acpi>` on ccw. Unsafe when a working NIC loses its PCI address: the guest sees a different
device and renames the interface.

## When it does not fire

* On assigned devices (`type='hostdev'`, `<hostdev>`): RoCE Express is PCI on purpose.
* On virtio with a ccw address or without an address: libvirt chooses ccw. For virtio-transitional
  and virtio-non-transitional on ccw see VNIC007.
* At most *medium* when a running QEMU shows that the model does start.
* When no architecture is declared.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import QEMU_MODELS, USB, bus_of, first_with, lacks, model_of_driver
from vnicaudit.knowledge.to_virtio import how_sure
from vnicaudit.model.finding import S390, VIRTIO, Change, Severity
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_ADDRESS = "Its PCI address, ROM and ACPI settings must go too: libvirt then assigns a ccw address."
_RENAMED = "the guest sees a different device and may rename the interface"
_THESE = {1: "it", 2: "them"}
_REFUSED = "the domain cannot be defined as it is"
_BROKEN = "the domain does not start as it is"


def applies(subject: Subject) -> bool:
    """A NIC of an s390x guest that is not an assigned device and not plain virtio over ccw."""
    if subject.arch not in S390 or subject.nic.type == "hostdev":
        return False
    if subject.nic.actual_type == "hostdev":
        return False
    return subject.model in QEMU_MODELS


def check(subject: Subject) -> Iterator[Problem]:
    """One problem at most: impossible, emulated, or virtio on the wrong bus."""
    model = subject.model
    if model_of_driver(model) in VIRTIO:
        yield from _virtio(subject)
    elif subject.proven or not lacks(model, subject.arch, subject.host.qemu_version):
        bus = "USB" if bus_of(model) == USB else "zPCI"
        what = f"{model} on s390x is emulated on {bus}: guests there use virtio-net-ccw"
        yield _to_ccw(subject, what, "medium")
    else:
        yield _to_ccw(subject, _missing(subject), "error")


def _virtio(subject: Subject) -> Iterator[Problem]:
    """Problems of virtio on a PCI address, or on a ccw address with settings for PCI only."""
    left = _of_pci(subject)
    named = _tags_text(left)
    if subject.nic.address_type == "pci":
        too = f"{named} must go too: " if left else ""
        yield Problem(
            f"{subject.model} on a PCI address is virtio-net-pci on zPCI: s390x uses ccw",
            field="address_type",
            severity="medium",
            change=Change("address_type", "pci", None, safe=False, reason=_RENAMED),
            fix=f"{too}libvirt then assigns a ccw address.",
        )
    elif left and subject.running is None and subject.domain.form == "raw":
        yield Problem(
            f"libvirt refuses {named} on s390x: only PCI devices have {_THESE[len(left)]}, and "
            f"{subject.model} is on ccw",
            field=left[0],
            severity="error",
            change=Change(left[0], getattr(subject.nic, left[0]), None, safe=True, reason=_REFUSED),
            fix="The same for <acpi>." if len(left) > 1 else "",
        )


def _of_pci(subject: Subject) -> list[str]:
    """Settings that only PCI devices have, besides the address."""
    return [name for name in ("rom", "acpi") if getattr(subject.nic, name) is not None]


def _tags_text(names: list[str]) -> str:
    return " and ".join(f"<{name}>" for name in names)


def _left_over(subject: Subject) -> str:
    left = _tags_text(_of_pci(subject))
    return f"{left} must go too: libvirt refuses PCI settings on ccw." if left else ""


def _missing(subject: Subject) -> str:
    ending = "the domain does not start"
    if first_with(subject.model, subject.arch) is None:
        return f"{subject.model} does not exist on s390x: {ending}"
    assumed = " (assumed)" if subject.host.assumed else ""
    return f"QEMU {subject.host.qemu_version}{assumed} has no {subject.model} on s390x: {ending}"


def _to_ccw(subject: Subject, what: str, severity: Severity) -> Problem:
    safe = severity == "error"  # it never started, so no interface in the guest can be renamed
    reason = _BROKEN if safe else _RENAMED
    return Problem(
        what,
        field="model",
        severity=severity,
        confidence=how_sure(subject.domain),
        change=Change("model", subject.nic.model, "virtio", safe=safe, reason=reason),
        fix=_ADDRESS if subject.nic.address_type == "pci" else _left_over(subject),
    )


RULE = Rule(
    name="pci-nic-on-s390x",
    severity="error",
    groups=("models", "refused"),
    forms=("definition", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
