"""Tuning in `<driver>` that libvirt throws away, because the model is not written down as virtio.

## What is wrong

The definition sets queues, ring sizes, `name='vhost'` or offloads, but libvirt reads these
attributes only where `<model type='virtio'/>` (or virtio-transitional, virtio-non-transitional)
stands in the same definition. On e1000 they are dropped without a word, also with validation
switched on; and so they are where no model is written at all, even on s390x, where the default
that is filled in afterwards is virtio.

## Why it matters

The one who wrote it believes that it is in force. Measured with libvirt 9.0; libvirt 11.3 reads
them in `virDomainNetDefParseXMLDriver`, before the default model is known.

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

Write the model down as virtio, or remove the attributes.

## Fix safety

Safe where the effective model is virtio already: only the tuning comes into force. Where the
model would change, no change is proposed here; VNIC001 to VNIC006 do that.

## When it does not fire

* On XML that libvirt wrote: what it dropped is gone from there.
* On assigned devices: their `<driver name='vfio'/>` is another thing.
* On `queues='1'`, which means the same as no attribute.
* `iommu`, `ats`, `packed` and `page_per_vq` are not dropped but refused: VNIC011.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import VIRTIO, NicConfig
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject

_TUNING = (
    "queues", "rx_queue_size", "tx_queue_size", "txmode", "ioeventfd", "event_idx", "rss",
    "rss_hash_report", "host_off", "guest_off", "backend_vhost",
)  # fmt: skip
_SHOWN = {"host_off": "<host>", "guest_off": "<guest>", "backend_vhost": "backend vhost"}


def applies(subject: Subject) -> bool:
    """Hand-written XML of an interface whose model is not virtio in writing."""
    nic = subject.nic
    if not subject.domain.as_written or nic.origin != "interface":
        return False
    return nic.type != "hostdev" and nic.actual_type != "hostdev" and nic.model not in VIRTIO


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming every attribute that is dropped."""
    nic = subject.nic
    dropped = _dropped(nic)
    if not dropped:
        return
    names = ", ".join(_SHOWN.get(field, "name" if field == "driver_name" else field)
                      for field in dropped)  # fmt: skip
    reason = "no model is written" if nic.model is None else f"the model is {_model(nic)}"
    yield Problem(
        f"libvirt ignores {names} in <driver>: it reads them for virtio only, and {reason}",
        field=dropped[0],
        change=_change(subject),
        fix=""
        if _change(subject)
        else "Make the model virtio where the definition is kept, or remove these attributes.",
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
    """Writing the default down, where it is virtio anyway."""
    if subject.nic.model is not None or subject.model not in VIRTIO:
        return None
    reason = "the model is virtio by default already; the tuning comes into force"
    return Change("model", None, subject.model, safe=True, reason=reason)


RULE = Rule(
    name="tuning-dropped",
    severity="medium",
    groups=("tuning",),
    judges=(NicJudge(applies=applies, check=check),),
)
