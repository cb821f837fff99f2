"""libvirt ignores the tuning in `<driver>`, because the definition does not declare a virtio model.

## What is wrong

The definition sets queues, ring sizes, `name='vhost'` or offloads. libvirt reads these attributes
only if the same definition has `<model type='virtio'/>` (or virtio-transitional,
virtio-non-transitional). On e1000 it drops them silently, even with validation on. It also drops
them when no model is declared, even on s390x, where it fills in virtio afterwards.

## Why it matters

Whoever wrote the tuning believes that it is in effect. Measured with libvirt 9.0; libvirt 11.3
reads the attributes in `virDomainNetDefParseXMLDriver`, before the default model is known.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
  <driver name='vhost' queues='4'/>
</interface>
```

On s390x as well, where the default model is virtio:

```xml domain.arch=s390x
<interface type='bridge'>
  <source bridge='br0'/>
  <driver queues='2'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost' queues='4'/>
</interface>
```

## Fix

Declare the model as virtio, or remove the attributes.

## Fix safety

Safe if the effective model is already virtio: only the tuning takes effect. If the model would
change, this rule proposes nothing; VNIC001 to VNIC006 do.

## When it does not fire

* On XML that libvirt wrote: the dropped attributes are no longer in it.
* On assigned devices: `<driver name='vfio'/>` has another meaning there.
* On `queues='1'`, which means the same as no attribute.
* On `iommu`, `ats`, `packed` and `page_per_vq`, which libvirt refuses instead: see VNIC011.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_TUNING = (
    "queues", "rx_queue_size", "tx_queue_size", "txmode", "ioeventfd", "event_idx", "rss",
    "rss_hash_report", "host_off", "guest_off", "backend_vhost",
)  # fmt: skip
_SHOWN = {"host_off": "<host>", "guest_off": "<guest>", "backend_vhost": "backend vhost"}


def applies(subject: Subject) -> bool:
    """Hand-written XML of an interface whose model is not explicitly virtio."""
    nic = subject.nic
    if not subject.domain.as_written or nic.origin != "interface":
        return False
    return nic.type != "hostdev" and nic.actual_type != "hostdev" and nic.model not in VIRTIO


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming every attribute that has no effect."""
    nic = subject.nic
    dropped = _dropped(nic)
    if not dropped:
        return
    names = ", ".join(_SHOWN.get(field, "name" if field == "driver_name" else field)
                      for field in dropped)  # fmt: skip
    reason = "no model is declared" if nic.model is None else f"the model is {_model(nic)}"
    yield Problem(
        f"libvirt ignores {names} in <driver>: it reads them for virtio only, and {reason}",
        field=dropped[0],
        change=_change(subject),
        fix=""
        if _change(subject)
        else (
            "Declare the model as virtio in the system that owns the definition, or remove these "
            "attributes."
        ),
    )


def _model(nic: NicConfig) -> str:
    return shown_model(nic.model or "")


def _dropped(nic: NicConfig) -> tuple[str, ...]:
    """The fields that are set and have no effect, in the order of the table."""
    unreadable = {field for field, _text in nic.invalid}
    found = ["driver_name"] if nic.driver_name in ("vhost", "qemu") else []
    for field in _TUNING:
        value = getattr(nic, field)
        if field in unreadable or (value and not (field == "queues" and value == 1)):
            found.append(field)
    return tuple(found)


def _change(subject: Subject) -> Change | None:
    """Write the default down, if it is virtio anyway."""
    if subject.nic.model is not None or subject.model not in VIRTIO:
        return None
    reason = "the model is already virtio by default; the tuning takes effect"
    return Change("model", None, subject.model, safe=True, reason=reason)


RULE = Rule(
    name="tuning-dropped",
    severity="medium",
    groups=("tuning",),
    judges=(Judge("nic", applies=applies, check=check),),
)
