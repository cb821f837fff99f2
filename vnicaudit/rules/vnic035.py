"""A ring size that libvirt or QEMU refuses.

## What is wrong

`rx_queue_size` or `tx_queue_size` is not a power of two between 256 and 1024, or not a number.

## Why it matters

libvirt refuses the definition where it is no power of two (`rx_queue_size has to be a power of
two`) or no number; a power of two outside of 256 to 1024, such as 128 or 2048, is accepted at
definition and refused by QEMU at start. Measured with libvirt 9.0 and QEMU 7.2.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver rx_queue_size='2048'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver rx_queue_size='1024'/>
</interface>
```

## Fix

Use 256, 512 or 1024 for `rx_queue_size`; remove `tx_queue_size`, except on vhost-user and vDPA.

## Fix safety

Safe: as it is the domain cannot be defined, or does not start.

## When it does not fire

* On 0, which means the same as no attribute.
* Where libvirt does not read the attribute because the model is not virtio in writing: VNIC010.
* On `tx_queue_size` of 512 or 1024 on a tap: VNIC034.
* On assigned devices, and on a NIC that runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Change, Severity
from vnicaudit.model.rule import Problem, Scope, Subject

NAME = "ring-size-invalid"
SEVERITY: Severity = "error"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ()

_RINGS = ("rx_queue_size", "tx_queue_size")
_VALID = (256, 512, 1024)
_REFUSED = "libvirt refuses the definition"
_NO_START = "QEMU takes 256 to 1024 and does not start"


def applies(subject: Subject) -> bool:
    """A ring that libvirt reads and somebody refuses."""
    return subject.tuned and not subject.proven and bool(_wrong(subject))


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming both rings where both are wrong."""
    wrong = _wrong(subject)
    field, text, _why = wrong[0]
    others = ", ".join(name for name, _text, _reason in wrong[1:])
    yield Problem(
        "; ".join(f"{name}={text[:20]!r}: {why}" for name, text, why in wrong),
        field=field,
        change=Change(
            field,
            text,
            _nearest(subject, field, text),
            safe=True,
            reason="as it is the domain cannot be defined or does not start",
        ),
        fix=f"{others} is wrong too." if others else "",
    )


def _wrong(subject: Subject) -> tuple[tuple[str, str, str], ...]:
    """``(field, text, why)`` of each ring that is refused."""
    unreadable = dict(subject.nic.invalid)
    found = []
    for field in _RINGS:
        size = getattr(subject.nic, field)
        if field in unreadable:
            found.append((field, unreadable[field], f"not a number, {_REFUSED}"))
        elif size and size & (size - 1):
            found.append((field, str(size), f"not a power of two, {_REFUSED}"))
        elif size and size not in _VALID:
            found.append((field, str(size), _NO_START))
    return tuple(found)


def _nearest(subject: Subject, field: str, text: str) -> str | None:
    """The largest valid size that is not larger; None (remove it) where no other than 256 is
    valid or nothing was meant."""
    small = field == "tx_queue_size" and subject.backend not in ("vhostuser", "vdpa")
    if small or not (text.isascii() and text.isdigit()):
        return None
    fitting = [size for size in _VALID if size <= int(text)]
    return str(max(fitting)) if fitting else None
