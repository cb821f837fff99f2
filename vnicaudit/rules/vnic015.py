"""libvirt refuses the definition, for a value in `<interface>`.

## What is wrong

An attribute of the interface has a value that libvirt does not take (`<driver name='foo'/>`,
`iommu='maybe'`, `<link state='off'/>`, a VLAN tag above 4095), the MAC address is a multicast one
or malformed, something that the interface type needs is missing (`<source>`), or something is set
that libvirt takes on other types only: `<mtu>` on `type='user'`, `<port isolated='yes'/>` on
`type='ethernet'`.

## Why it matters

`virsh define` fails, and so does every program that hands the definition to libvirt: `Invalid value
for attribute 'name' in element 'driver': 'foo'`, `expected unicast mac address, found multicast`,
`setting MTU on interface type user is not supported yet`. The domain is not there, or stays as it
was before. Measured with libvirt 9.0, value by value; compared with the schema of libvirt 11.3,
whose newer values count as right.

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

A model with blanks around its name is safe to correct. Otherwise no change is proposed: what was
meant is not known.

## When it does not fire

* On definitions that libvirt wrote, and on NICs that run: it took them.
* On what libvirt does not read: `<driver name= txmode= rss= …>` and `<driver><host>` where the
  model is not virtio in writing; a second child of the same name.
* On queues and ring sizes: VNIC031, VNIC035. On virtio options of other models: VNIC011. On models
  of `type='vdpa'` and `type='vhostuser'`: VNIC007. On `<rom>` and `<acpi>` on s390x: VNIC008.
* On values that only a later libvirt than 9.0 takes: passt.
* On placeholders: a template fills them in. Words in capitals are such where they say so themselves
  (`MACADDR`, `VLAN_ID`, `CHANGEME`) or others in the domain do (`<name>GUESTNAME</name>`);
  `iommu='MAYBE'` alone is a wrong value.
* With medium confidence where a libvirt after 11.3 is known or assumed: it may take more.
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
"""Up to this series of libvirt the values are compared with its schema."""
_FIX = "Correct it, or remove it: as it is the domain cannot be defined."
_FIX_ALL = "Correct or remove each of them: as it is the domain cannot be defined."


def applies(subject: Subject) -> bool:
    """An interface that somebody wrote and nothing runs."""
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
    """The model without what is around its name, where that alone is wrong."""
    old = subject.nic.model or ""
    new = normal_model(old.strip())
    if len(found) > 1 or found[0].place != MODEL or new not in QEMU_MODELS:
        return None
    return Change("model", old, new, safe=True, reason="as it is the domain cannot be defined")


def _confidence(subject: Subject) -> Confidence:
    version = subject.host.libvirt_version
    return "high" if version is None or version <= _COMPARED else "medium"


RULE = Rule(
    name="definition-refused",
    severity="error",
    groups=("refused",),
    judges=(NicJudge(applies=applies, check=check),),
)
