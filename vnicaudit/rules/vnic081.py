"""An option that no release of Nova has, spelled almost like one that bears on NICs.

## What is wrong

nova.conf sets `max_queue`, `rx_queue_sizes` or `use_virtio_for_bridge`: a letter or a word of the
name is missing, too much or another one. Or the section is misspelt, so that no option in it is
read: `[libvrit]`, `[default]`.

## Why it matters

oslo.config says nothing about a line that no option belongs to. What was meant to be switched on is
not, and readers of the file assume that it is.

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

Write the name as Nova has it, if what the line says is still wanted; else remove it.

## Fix safety

There is no change that is made for you: the line has had no effect so far, and renaming it gives it
one.

## When it does not fire

* On names of any option that some release of Nova has in that section, from the option definitions
  in Nova's own packages, Ocata (15.0) to 34.0.
* On unknown options that look like none that bears on NICs: patched Novas have options of their
  own.
* On an option in the wrong section: VNIC078. On options of older releases: VNIC074.
* In a template, where it is not certain that the line is there.
* Where another driver than libvirt is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.nova import NovaOption
from vnicaudit.model.rule import ConfigJudge, Problem, Rule
from vnicaudit.model.subject import ConfigSubject

_MOST = 50
_NAMED = 3


def applies(subject: ConfigSubject) -> bool:
    """A line that stands there for sure, on a node that may be one of libvirt."""
    nova = subject.nova
    return nova.form == "ini" and nova.libvirt is not False and bool(_misspelt(subject))


def check(subject: ConfigSubject) -> Iterator[Problem]:
    """One problem per line."""
    for option in _misspelt(subject)[:_MOST]:
        names = " or ".join(_spelled_from(meant, option) for meant in option.suggestions[:_NAMED])
        yield Problem(
            f"{option.written} is an option that no release of Nova has: did you mean {names}?",
            field=subject.nova.field_of(option),
            fix=f"Write it as {names} if what the line says is wanted (it has had no effect so "
            "far), or remove it.",
        )


def _spelled_from(meant: str, option: NovaOption) -> str:
    section, _, name = meant.partition("/")
    return name if section == option.section else f"[{section}] {name}"


def _misspelt(subject: ConfigSubject) -> list[NovaOption]:
    return [option for option in subject.nova.own if option.suggestions and option.present]


RULE = Rule(
    name="nova-misspelt-option",
    severity="medium",
    groups=("nova",),
    judges=(ConfigJudge(applies=applies, check=check),),
)
