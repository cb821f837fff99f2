"""iommu, ats, packed or page_per_vq on a NIC that is not virtio: libvirt refuses the definition.

## What is wrong

These four attributes of `<driver>` are for virtio devices only. On other models libvirt does not
drop them, as it does queues and ring sizes: it refuses the whole domain, for `off` as well as for
`on`.

## Why it matters

The domain cannot be defined: `packed driver option is only supported for virtio devices` (measured
with libvirt 9.0; 11.3 does the same in `virDomainCheckVirtioOptionsAreAbsent`). If an image has
`hw_virtio_packed_ring`, Nova writes `packed` for every NIC, whatever its model.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
  <driver packed='on'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver packed='on'/>
</interface>
```

## Fix

Remove the attribute, or change the NIC to virtio.

## Fix safety

Removing the attribute is safe: the domain cannot be defined as it is. On guests with encrypted
memory (SEV, Secure Execution), removing `iommu='on'` is unsafe: keep it and change the model
instead.

## When it does not fire

* On virtio, declared or by default.
* Skipped when no model is declared and the default is unknown.
* On a running NIC, and on QEMU command lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_OPTIONS = ("iommu", "ats", "packed", "page_per_vq")


def applies(subject: Subject) -> bool:
    """One of the options is set on an interface whose model is not explicitly virtio."""
    nic = subject.nic
    if nic.origin != "interface" or subject.running is not None or nic.model in VIRTIO:
        return False
    if subject.effective.model.state == "none" and nic.type != "hostdev":
        return False  # it was defined with libvirt's default model, whatever that was
    return bool(_options_set(nic))


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming every option that libvirt refuses."""
    nic = subject.nic
    if nic.type != "hostdev" and nic.model is None and subject.model in VIRTIO:
        return
    options = _options_set(nic)
    yield Problem(
        f"libvirt refuses the definition: {', '.join(options)} in <driver> "
        f"{'is' if len(options) == 1 else 'are'} for virtio only, and this NIC is "
        f"{_subject_text(subject)}",
        field=options[0],
        confidence="high" if nic.model or nic.type == "hostdev" else "medium",
        change=_change(subject, options),
        fix="" if len(options) == 1 else f"The same for {', '.join(options[1:])}.",
    )


def _options_set(nic: NicConfig) -> tuple[str, ...]:
    return tuple(name for name in _OPTIONS if getattr(nic, name) in ("on", "off"))


def _subject_text(subject: Subject) -> str:
    if subject.nic.type == "hostdev":
        return "an assigned device"
    return shown_model(subject.nic.model or subject.model)


def _change(subject: Subject, options: tuple[str, ...]) -> Change:
    name = options[0]
    old = getattr(subject.nic, name)
    if name == "iommu" and old == "on" and subject.nic.type != "hostdev":
        reason = "a guest with encrypted memory needs iommu='on': make the NIC virtio there"
        return Change(name, old, None, safe=False, reason=reason)
    reason = "the domain cannot be defined as it is"
    return Change(name, old, None, safe=True, reason=reason)


RULE = Rule(
    name="virtio-option-elsewhere",
    severity="error",
    groups=("tuning", "refused"),
    judges=(Judge("nic", needs=(facts.MODEL,), applies=applies, check=check),),
)
