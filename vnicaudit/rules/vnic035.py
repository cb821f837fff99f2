"""A ring size that libvirt, QEMU or Nova refuses.

## What is wrong

`rx_queue_size` or `tx_queue_size` is not a number, or not a power of two between 256 and 1024. It
may be set in a definition, by `<qemu:override>`, by `-set` or `-global` in `<qemu:commandline>`, on
QEMU's command line, or in `[libvirt]` of nova.conf.

## Why it matters

libvirt refuses the definition if the size is not a number or not a power of two (`rx_queue_size has
to be a power of two`). It accepts a power of two outside 256 to 1024, such as 128 or 2048, and QEMU
refuses that at start. Measured with libvirt 9.0 and QEMU 7.2.

Nova accepts 256, 512 and 1024. With any other value, Nova fails wherever it reads the option
(measured with its own `IntOpt`: oslo.config raises `ConfigFileValueError`).

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver rx_queue_size='2048'/>
</interface>
```

```ini
[libvirt]
rx_queue_size = 2048
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver rx_queue_size='1024'/>
</interface>
```

```ini
[libvirt]
rx_queue_size = 1024
```

## Fix

Set `rx_queue_size` to 256, 512 or 1024. Remove `tx_queue_size`, except on vhost-user and vDPA. In
nova.conf both options accept 256, 512 or 1024; restart nova-compute.

## Fix safety

Safe: as it is, the domain cannot be defined or does not start, or Nova cannot read the option.

## When it does not fire

* On 0 in a definition, which means the same as no attribute.
* When libvirt does not read the attribute, because no virtio model is declared: see VNIC010.
* On `tx_queue_size` of 512 or 1024 on a tap: see VNIC034.
* On assigned devices.
* On a running NIC, shown by libvirt or by open descriptors of the process. A log or a pasted
  command line proves nothing: it may come from a failed start.
* In nova.conf: on an empty value, when `compute_driver` names another driver than libvirt, and when
  another file overrides the line. Skipped in a template that fills in a value, unless the other
  option is certain to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import OWN_PATH, RING_SIZES, as_ring, ring_behind
from vnicaudit.model.finding import DESCRIPTORS, LOG, MAYBE, VIRTIO, Change
from vnicaudit.model.fix import BehindSetting, RemoveBehind
from vnicaudit.model.nova import NovaConfig, NovaOption, as_number
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

if TYPE_CHECKING:
    from vnicaudit.model.nic import Behind

_RINGS = ("rx_queue_size", "tx_queue_size")
_DIGITS = 10
_REFUSED = "libvirt refuses the definition"
_NO_START = "QEMU accepts only 256 to 1024 and does not start"
_QEMU_REFUSES = "QEMU accepts only 256, 512 or 1024 and does not start"


def applies(subject: Subject) -> bool:
    """A ring size that libvirt or QEMU reads and refuses."""
    if _runs(subject):
        return False
    return bool(_ring_overrides(subject)) or (subject.tuned and bool(_wrong(subject)))


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, naming both rings if both are wrong; one more if they are set behind libvirt's
    settings, which a change of the definition's own fields does not undo."""
    if behind := _ring_overrides(subject):
        yield Problem(
            "; ".join(f"{one.name}={one.text[:20]!r} by {one.by}: {_NO_START}" for one in behind),
            field=behind[0].name,
            fix=RemoveBehind(
                tuple(BehindSetting(one.name, one.by) for one in behind), "256, 512 or 1024"
            ),
        )
    wrong = _wrong(subject) if subject.tuned else ()
    if not wrong:
        return
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
            reason="the domain cannot be defined or does not start as it is",
        ),
        fix=f"{others} is wrong too." if others else "",
    )


def applies_config(nova: NovaConfig) -> bool:
    """A ring size that is in effect, in the configuration of a libvirt driver."""
    return bool(_options_set(nova)) and nova.libvirt is not False


def check_config(nova: NovaConfig) -> Iterator[Problem]:
    """One problem per option with a value that Nova does not accept; an uncertain one is ignored if
    the other is wrong."""
    for option in _options_set(nova):
        if not option.certain or not option.value.strip():
            continue
        if as_number(option.value) in RING_SIZES:
            continue
        yield Problem(
            f"{option.name} = {option.value[:20]}: Nova takes 256, 512 or 1024, and fails when it "
            "reads another value",
            field=f"libvirt/{option.name}",
            change=Change(
                option.name,
                option.value,
                _fitting(option.value),
                safe=True,
                reason="Nova cannot read the option as it is",
            ),
            fix=f"Set [libvirt] {option.name} to 256, 512 or 1024, or remove it; restart "
            "nova-compute.",
            related=nova.overridden(option),
        )


def _options_set(nova: NovaConfig) -> list[NovaOption]:
    found = (nova.setting("libvirt", name) for name in _RINGS)
    return [option for option in found if option is not None]


def _runs(subject: Subject) -> bool:
    """True if the NIC is known to run; its arguments alone may be from a start that failed."""
    running, state = subject.running, subject.state
    if state is not None and state.active:
        return True
    if running is None or not subject.proven:
        return False
    if subject.nic.origin == "interface":
        return running.evidence != LOG
    return running.evidence == DESCRIPTORS


def _wrong(subject: Subject) -> tuple[tuple[str, str, str], ...]:
    """``(field, text, why)`` of each refused ring size."""
    unreadable = dict(subject.nic.invalid)
    libvirts = subject.nic.origin == "interface"
    found = []
    for field in _RINGS:
        size = getattr(subject.nic, field)
        if not libvirts:
            if size is not None and size not in RING_SIZES:
                found.append((field, str(size), _QEMU_REFUSES))
        elif field in unreadable:
            found.append((field, unreadable[field], f"not a number, {_REFUSED}"))
        elif size and size & (size - 1):
            found.append((field, str(size), f"not a power of two, {_REFUSED}"))
        elif size and size not in RING_SIZES:
            found.append((field, str(size), _NO_START))
    return tuple(found)


def _ring_overrides(subject: Subject) -> tuple[Behind, ...]:
    """Ring sizes set behind libvirt's settings on its virtio NIC, which no QEMU accepts."""
    if subject.nic.origin != "interface" or subject.model not in VIRTIO:
        return ()
    found = (
        ring_behind(
            subject.nic, field, declared=subject.tuned and bool(getattr(subject.nic, field))
        )
        for field in _RINGS
    )
    return tuple(
        one
        for one in found
        if one is not None and one.text not in ("", MAYBE) and as_ring(one.text) not in RING_SIZES
    )


def _nearest(subject: Subject, field: str, text: str) -> str | None:
    """The largest valid size that is not larger; None (remove it) if no other than 256 is valid, or
    if the text makes no sense."""
    small = field == "tx_queue_size" and subject.backend not in OWN_PATH
    return None if small else _fitting(text)


def _fitting(text: str) -> str | None:
    """A valid size for a number of at most nine digits: a longer one makes no sense."""
    if not (text.isascii() and text.isdigit() and len(text) < _DIGITS):
        return None
    fitting = [size for size in RING_SIZES if size <= int(text)]
    return str(max(fitting)) if fitting else None


RULE = Rule(
    name="ring-size-invalid",
    severity="error",
    groups=("rings", "nova", "refused"),
    judges=(
        Judge("nic", applies=applies, check=check),
        Judge(
            "config",
            needs=(facts.NOVA_DRIVER, facts.NOVA_RING_SIZES),
            applies=applies_config,
            check=check_config,
        ),
    ),
)
