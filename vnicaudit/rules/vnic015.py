"""libvirt refuses the definition because of a value in `<interface>`.

## What is wrong

One of these is in the definition:

* a value that libvirt does not accept (`<driver name='foo'/>`, `iommu='maybe'`, `<link
  state='off'/>`, a VLAN tag above 4095);
* a multicast or malformed MAC address;
* an interface without something that its type requires (`<source>`);
* a setting that libvirt accepts only on other types: `<mtu>` on `type='user'`, `<port
  isolated='yes'/>` on `type='ethernet'`.

## Why it matters

`virsh define` fails, and so does every program that passes the definition to libvirt: `Invalid
value for attribute 'name' in element 'driver': 'foo'`, `expected unicast mac address, found
multicast`, `setting MTU on interface type user is not supported yet`. The domain is missing, or
stays as it was before. Measured value by value with libvirt 9.0, and compared with the schema of
libvirt 11.3; values that are new in 11.3 count as valid.

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

Correct the value, or remove it.

## Fix safety

Removing blanks around a model's name is safe. Otherwise no change is proposed, because the intended
value is unknown.

## When it does not fire

* On definitions that libvirt wrote, and on running NICs: libvirt accepted them.
* On settings that libvirt does not read: `<driver name= txmode= rss= …>` and `<driver><host>`
  without a declared virtio model; a second child element of the same name.
* On queues (VNIC031), ring sizes (VNIC035), virtio options on other models (VNIC011), models of
  `type='vdpa'` and `type='vhostuser'` (VNIC007), and `<rom>` and `<acpi>` on s390x (VNIC008).
* On passt, which needs a libvirt later than 9.0.
* On placeholders that a template fills in. A word in capitals counts as one if its name says so
  (`MACADDR`, `VLAN_ID`, `CHANGEME`), or if the domain has other placeholders
  (`<name>GUESTNAME</name>`). `iommu='MAYBE'` alone is a wrong value.
* With medium confidence when libvirt is known or assumed to be later than 11.3: it may accept more.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import QEMU_MODELS, normal_model
from vnicaudit.model.definition_refusal import MODEL, DefinitionRefusal, on_ccw
from vnicaudit.model.finding import Change, Confidence
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject
from vnicaudit.model.version import Version

_COMPARED = Version(11, 3, 9999)
"""Up to this series of libvirt, the values were compared with its schema."""
_FIX = "Correct it, or remove it: the domain cannot be defined as it is."
_FIX_ALL = "Correct or remove each of them: the domain cannot be defined as it is."


def applies(subject: Subject) -> bool:
    """An interface that somebody wrote and that does not run."""
    if subject.nic.origin != "interface" or subject.running is not None:
        return False
    return subject.domain.as_written


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming everything that libvirt refuses."""
    channel = on_ccw(subject.nic.address_type, subject.arch)
    found = (*subject.nic.refused, *((channel,) if channel else ()))
    if not found:
        return
    change = _change(subject, found)
    fix = _FIX if len(found) == 1 else _FIX_ALL
    yield Problem(
        f"libvirt refuses the definition: {'; '.join(refusal.reason for refusal in found)}",
        field=found[0].place,
        confidence=_confidence(subject),
        change=change,
        fix=fix if change is None else "",
    )


def _change(subject: Subject, found: tuple[DefinitionRefusal, ...]) -> Change | None:
    """The model without the characters around its name, if nothing else is wrong."""
    old = subject.nic.model or ""
    new = normal_model(old.strip())
    if len(found) > 1 or found[0].place != MODEL or new not in QEMU_MODELS:
        return None
    return Change("model", old, new, safe=True, reason="the domain cannot be defined as it is")


def _confidence(subject: Subject) -> Confidence:
    version = subject.host.libvirt_version
    return "high" if version is None or version <= _COMPARED else "medium"


RULE = Rule(
    name="definition-refused",
    severity="error",
    groups=("refused",),
    judges=(NicJudge(applies=applies, check=check),),
)
