"""A misspelt NIC option in nova.conf: no release of Nova has it.

## What is wrong

nova.conf sets `max_queue`, `rx_queue_sizes` or `use_virtio_for_bridge`: a letter or a word of the
name is missing, added or wrong. Or the section is misspelt, so that no option in it is read:
`[libvrit]`, `[default]`.

## Why it matters

oslo.config silently ignores an option that no code registers in that section. The setting is not in
effect, although people who read the file believe that it is.

## Bad

```ini
[libvirt]
max_queue = 8
```

## Good

```ini
[libvirt]
max_queues = 8
```

## Fix

If the setting is still wanted, correct the name; otherwise remove the line.

## Fix safety

No change is proposed: the line has had no effect so far, and renaming it would give it one.

## When it does not fire

* On names that some release of Nova has in that section, according to the option definitions in
  Nova's own packages, Ocata (15.0) to 34.0.
* On unknown options that do not resemble a NIC option: a patched Nova may have options of its own.
* On an option in the wrong section: see VNIC078. On options of older releases: see VNIC074.
* In a template, if it is not certain that the line is present.
* When another driver than libvirt is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.rule import Judge, Problem, Rule

_MOST = 50
_NAMED = 3


def applies(nova: NovaConfig) -> bool:
    """A line that is certainly there, on a node that may use libvirt."""
    return nova.libvirt is not False and bool(_misspelt(nova))


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem per line."""
    for option in _misspelt(nova)[:_MOST]:
        names = " or ".join(_spelled_from(meant, option) for meant in option.suggestions[:_NAMED])
        yield Problem(
            f"{option.written} does not exist in any release of Nova: did you mean {names}?",
            field=nova.field_of(option),
            fix=f"Write it as {names} if the setting is still wanted (it has had no effect so "
            "far), or remove it.",
        )


def _spelled_from(meant: str, option: NovaOption) -> str:
    section, _, name = meant.partition("/")
    return name if section == option.section else f"[{section}] {name}"


def _misspelt(nova: NovaConfig) -> list[NovaOption]:
    return [option for option in nova.own if option.suggestions and option.present]


RULE = Rule(
    name="nova-misspelt-option",
    severity="medium",
    groups=("nova",),
    judges=(Judge("config", applies=applies, check=check),),
)
