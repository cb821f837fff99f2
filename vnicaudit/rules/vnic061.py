"""A nova.conf option that Nova has not read since Juno.

## What is wrong

nova.conf sets `libvirt_use_virtio_for_bridges` in `[DEFAULT]`. The option moved to `[libvirt]
use_virtio_for_bridges` in Icehouse (2014.1), and Juno (2014.2) dropped the old name. Nova ignores
the line without a message.

## Why it matters

People who read the file believe the line. Guides from 2012 still recommend it, and a value without
effect hides the one that is in effect.

## Bad

```ini
[DEFAULT]
libvirt_use_virtio_for_bridges = true
```

## Good

```ini
[libvirt]
use_virtio_for_bridges = true
```

## Fix

Remove the line. If it is true, you can set `[libvirt] use_virtio_for_bridges` instead; true is the
default there. If it is false, do not move it: it would take virtio away from new servers (VNIC060).

## Fix safety

Safe: Nova does not read the line, so removing it changes nothing.

## When it does not fire

* When `compute_driver` names another driver than libvirt.
* Skipped in a template if the line depends on a condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import Change
from vnicaudit.model.nova import NovaConfig, NovaOption, as_bool
from vnicaudit.model.rule import Judge, Problem, Rule

_DEAD = "libvirt_use_virtio_for_bridges"


def applies(nova: NovaConfig) -> bool:
    """The obsolete option is in this file, and the compute node may use libvirt."""
    return nova.libvirt is not False and _dead(nova) is not None


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem per file."""
    option = _dead(nova)
    if option is None:
        return
    value = option.value
    yield Problem(
        f"[DEFAULT] {_DEAD} = {value} has not been read since Juno (2014.2); " + _in_effect(nova),
        field=nova.field_of(option),
        change=Change(_DEAD, value, None, safe=True, reason="Nova does not read the line"),
        fix=_fix(value),
    )


def _dead(nova: NovaConfig) -> NovaOption | None:
    """The last line with it that is certainly there; else the last one."""
    found = [o for o in nova.own if o.name == _DEAD and o.section in ("DEFAULT", "")]
    there = [option for option in found if option.present]
    return (there or found)[-1] if found else None


def _in_effect(nova: NovaConfig) -> str:
    living = nova.winner("libvirt", "use_virtio_for_bridges")
    if living is None and not nova.complete:
        return "Nova reads [libvirt] use_virtio_for_bridges"
    if living is None:
        return "[libvirt] use_virtio_for_bridges is not set: its default, true, is in effect"
    if not living.certain:
        return "Nova reads [libvirt] use_virtio_for_bridges"
    return f"[libvirt] use_virtio_for_bridges = {living.value} is in effect"


def _fix(value: str) -> str:
    if as_bool(value) is False:
        return (
            "Remove the line. Do not move it to [libvirt]: there it would take virtio away from "
            "new servers."
        )
    return "Remove the line, or move it to [libvirt] as use_virtio_for_bridges = true."


RULE = Rule(
    name="nova-dead-option",
    severity="medium",
    groups=("nova",),
    judges=(
        Judge(
            "config",
            needs=(facts.NOVA_LIBVIRT_USE_VIRTIO_FOR_BRIDGES,),
            applies=applies,
            check=check,
        ),
    ),
)
