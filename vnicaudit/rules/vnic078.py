"""A NIC option is in a section of nova.conf where Nova does not read it.

## What is wrong

nova.conf sets an option such as `max_queues`, `rx_queue_size` or `use_virtio_for_bridges` in
`[DEFAULT]`, `[compute]` or another section of Nova, or an option of `[DEFAULT]` or `[pci]` in
`[libvirt]`. Nova has an option of that name in one section only.

## Why it matters

oslo.config silently ignores an option that no code registers in that section. People who read the
file believe that it is in effect.

## Bad

```ini
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
max_queues = 8
```

## Good

```ini
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
[libvirt]
max_queues = 8
```

## Fix

If the setting is still wanted, move the line to the section where Nova reads it; otherwise remove
it.

## Fix safety

No change is proposed: the line has had no effect so far, and moving it would give it one.

## When it does not fire

* On `[DEFAULT] libvirt_use_virtio_for_bridges`, which used to be right: see VNIC061. On options of
  older releases: see VNIC074.
* In a template, if it is not certain in which section the line ends up.
* When another driver than libvirt is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.nova_conf.homes import JUJU_OPTIONS
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.rule import Judge, Problem, Rule

_MOST = 50


def applies(nova: NovaConfig) -> bool:
    """A line that is certainly there, on a node that may use libvirt."""
    return nova.libvirt is not False and bool(_misplaced(nova))


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem per line."""
    for option in _misplaced(nova)[:_MOST]:
        yield Problem(
            f"[{option.section}] {option.name} is read by no release of Nova: the option of that "
            f"name is in [{option.right_section}]",
            field=nova.field_of(option),
            fix=_fix(option),
        )


def _fix(option: NovaOption) -> str:
    if not option.called.startswith("config-flags "):
        return (
            f"Move the line to [{option.right_section}] if the setting is still wanted (it has had "
            "no effect so far), or remove it."
        )
    name = (option.right_section, option.name)
    own = (f" or use the charm's {own}" for own, sets in JUJU_OPTIONS.items() if sets == name)
    return f"Remove it{next(own, '')}: config-flags sets only options of [DEFAULT]."


def _misplaced(nova: NovaConfig) -> list[NovaOption]:
    return [option for option in nova.own if option.present and option.right_section]


RULE = Rule(
    name="nova-wrong-section",
    severity="medium",
    groups=("nova",),
    judges=(Judge("config", applies=applies, check=check),),
)
