"""libvirt refuses the definition, or does not start it, because of a value in `<interface>`.

## What is wrong

One of these is in the definition:

* a value that libvirt does not accept (`<driver name='foo'/>`, `iommu='maybe'`, `<link
  state='off'/>`, a VLAN tag above 4095);
* a multicast or malformed MAC address;
* an interface without something that its type requires (`<source>`);
* a setting that libvirt accepts only on other types, models or buses: `<mtu>` on `type='user'`,
  `<port isolated='yes'/>` on `type='ethernet'`, `<backend tap>` on `type='user'`, `<vlan>` on
  macvtap, `ats` and `page_per_vq` on s390x channels, `iommu='on'` on a virtio NIC that also speaks
  virtio 0.9, `<teaming type='persistent'/>` on the default rtl8139, `<rom>` off PCI;
* something that another device has as well: a PCI or channel address, a boot order, an alias, an
  ACPI index, a device on the host; or a boot order beside `<boot dev>` in `<os>`;
* an address that the machine does not have: another PCI domain than 0, slot 0 of a PCI bridge, slot
  1 of a PCI Express port, slot 0x1f of q35's root bus, any PCI address on `microvm`; USB
  without a controller for it;
* a value outside its range: an MTU of a tap outside 68 to 65521, an ACPI index above 16383, a name
  of more than 15 bytes in `<target dev>`.

## Why it matters

`virsh define` fails, and so does every program that passes the definition to libvirt: `Invalid
value for attribute 'name' in element 'driver': 'foo'`, `Attempted double use of PCI Address
0000:00:09.0`. The domain is missing, or stays as it was before.

Or the definition is accepted, even with validation, and the domain does not start: `vlan tag not
supported for this connection type`, `Property 'virtio-net-ccw.ats' not found`, `Cannot set
interface MTU`. A guest that was edited while running is lost when it is next powered off. Newer
libvirt refuses some of these definitions at once.

Measured value by value with libvirt 9.0 and QEMU 7.2, and compared with the schema of libvirt 11.3;
values that are new in 11.3 count as valid.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='foo'/>
</interface>
```

```xml
<interface type='user'>
  <model type='virtio'/>
  <mtu size='9000'/>
</interface>
```

On s390x:

```xml domain.arch=s390x
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver page_per_vq='on'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost'/>
  <mtu size='9000'/>
</interface>
```

## Fix

Correct the value, or remove it. Of two devices with one address, remove one of the addresses:
libvirt then chooses one.

## Fix safety

Removing blanks around a model's name is safe. Otherwise no change is proposed, because the intended
value is unknown.

## When it does not fire

* On running NICs. What libvirt wrote it also accepted: there, only what prevents the start counts.
* On settings that libvirt does not read: `<driver name= txmode= rss= …>` and `<driver><host>`
  without a declared virtio model; a second child element of the same name.
* On queues (VNIC031), ring sizes (VNIC035), virtio options on other models (VNIC011), models of
  `type='vdpa'` and `type='vhostuser'` (VNIC007), and `<rom>` and `<acpi>` on s390x (VNIC008).
* On `<vlan>` of a Linux bridge, unless libvirt is known to be before 11.0.
* On PCI slots of machines other than `pc`, `q35`, s390x and riscv64 `virt`, and on q35 of a bus
  without a controller that a device other than a NIC uses as well.
* On passt, which needs a libvirt later than 9.0.
* On placeholders that a template fills in, and on what two devices of a template share. A word in
  capitals counts as one if its name says so (`MACADDR`, `VLAN_ID`), or if the domain has
  other placeholders (`<name>GUESTNAME</name>`). `iommu='MAYBE'` alone is a wrong value.
* With medium confidence when libvirt is known or assumed to be later than 11.3: it may accept more.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import QEMU_MODELS, normal_model
from vnicaudit.knowledge.refused_nics import refused_parts
from vnicaudit.model.finding import S390, VIRTIO, Change, Confidence
from vnicaudit.model.host import Version
from vnicaudit.model.nic import MODEL, DefinitionRefusal
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_COMPARED = Version(11, 3, 9999)
"""Up to this series of libvirt, the values were compared with its schema."""
_ONE, _ALL = "Correct it, or remove it", "Correct or remove each of them"
_EFFECTS = (
    (False, "libvirt refuses the definition", "cannot be defined as it is"),
    (True, "the domain does not start", "does not start as it is"),
)


def applies(subject: Subject) -> bool:
    """An interface of a definition that does not run."""
    return bool(_refused(subject))


def check(subject: Subject) -> Iterator[Problem]:
    """A problem naming everything that libvirt refuses, and one with everything that prevents the
    start."""
    found = _refused(subject)
    for at_start, effect, ending in _EFFECTS:
        parts = tuple(one for one in found if one.at_start is at_start)
        if not parts:
            continue
        change = _change(subject, parts)
        yield Problem(
            f"{effect}: {'; '.join(refusal.reason for refusal in parts)}",
            field=parts[0].place,
            confidence=_confidence(subject),
            change=change,
            fix="" if change else f"{_ONE if len(parts) == 1 else _ALL}: the domain {ending}.",
        )


def _refused(subject: Subject) -> tuple[DefinitionRefusal, ...]:
    found = refused_parts(
        subject.nic, subject.model or None, subject.domain, subject.host, subject.running
    )
    if subject.arch in S390 and subject.model in VIRTIO:  # VNIC008 reports these there
        found = tuple(one for one in found if one.place not in ("rom", "acpi"))
    return found


def _change(subject: Subject, found: tuple[DefinitionRefusal, ...]) -> Change | None:
    """The model without the characters around its name, if nothing else is wrong."""
    old = subject.nic.model or ""
    new = normal_model(old.strip())
    if len(found) > 1 or found[0].place != MODEL or new not in QEMU_MODELS - {old}:
        return None
    return Change("model", old, new, safe=True, reason="the domain cannot be defined as it is")


def _confidence(subject: Subject) -> Confidence:
    version = subject.host.libvirt_version
    return "high" if version is None or version <= _COMPARED else "medium"


RULE = Rule(
    name="definition-refused",
    severity="error",
    groups=("refused",),
    judges=(Judge("nic", applies=applies, check=check),),
)
