"""A value that oslo.config does not take for an option of Nova's.

## What is wrong

An option that bears on NICs has a value of the wrong type, outside of its range, or that is none
of its choices: `max_queues = 0`, `virt_type = KVM`, `vif_plugging_is_fatal = maybe`. Or it refers
to an option that is not there, that refers back to it, or that has no valid value:
`virt_type = $libvirt_type`. Or `compute_driver` is empty.

## Why it matters

oslo.config notices when Nova asks for the option, not when it reads the file: it raises
`ConfigFileValueError`. `virt_type` is asked for at the start of nova-compute, which does not start
then. `max_queues` is asked for when a server is made, which fails then. With `debug = true` all
options are asked for at the start (`log_opt_values`). Measured with oslo.config 10.7 and Nova 34: a
reference to an option that is not there is a `NoSuchOptError`, one that leads back to itself a
`RecursionError`. With an empty `compute_driver`, nova-compute ends with "Compute driver option
required, but not specified" (`nova/virt/driver.py`).

## Bad

```ini
[libvirt]
max_queues = 0
```

## Good

```ini
[libvirt]
max_queues = 8
```

## Fix

Write a value that the option takes, or remove the line; restart nova-compute.

## Fix safety

There is none that is made for you: what was meant is not known.

## When it does not fire

* On options that do not bear on NICs, on lists of anything and maps (`hw_machine_type`), and on
  free text.
* On a reference to an option whose value is not known here, or that a library of Nova may have.
* On the numbers of `rx_queue_size` and `tx_queue_size`: VNIC035. On `[pci] device_spec`: VNIC075.
* On a number that is not given (`max_queues =`): that counts as not set.
* On options that the release does not have: Nova does not ask for them (VNIC074). What they take is
  judged by `--nova-release`; for releases before Ocata (15.0) it is not known.
* Where `compute_driver` names another driver than libvirt, and where a later file overrides the
  value.
* In a template that fills a value in it is skipped, unless another one is wrong for certain.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.rule import ConfigJudge, Problem, Rule
from vnicaudit.model.subject import ConfigSubject

_ELSEWHERE = ("rx_queue_size", "tx_queue_size")
"""VNIC035 judges them."""
_SHOWN = 40


def applies(subject: ConfigSubject) -> bool:
    """A value that is not taken, or is not certain."""
    nova = subject.nova
    return nova.libvirt is not False and bool(_suspects(nova) or _empty_driver(nova))


def check(subject: ConfigSubject) -> Iterator[Problem]:
    """One problem per option."""
    nova = subject.nova
    yield from _without_driver(nova)
    for option in _suspects(nova):
        if option.broken:
            yield _broken_value_problem(nova, option)
        form = None if option.known is None else option.known.form
        if form is None or not option.certain:
            continue
        yield Problem(
            f"{option.written} = {option.value[:_SHOWN]}: it takes {form.words}, and Nova fails "
            "where it asks for the option",
            field=nova.field_of(option),
            fix=f"Set {option.written} to {form.words}, or remove it; restart nova-compute.",
            related=nova.overridden(option),
        )


def _broken_value_problem(nova: NovaConfig, option: NovaOption) -> Problem:
    return Problem(
        f"{option.written} = {option.value[:_SHOWN]}: it {option.broken}, and Nova fails where it "
        "asks for the option",
        field=nova.field_of(option),
        fix=f"Set {option.written} to a value, or refer to an option that has one; restart "
        "nova-compute.",
        related=nova.overridden(option),
    )


def _without_driver(nova: NovaConfig) -> Iterator[Problem]:
    option = _empty_driver(nova)
    if option is not None:
        yield Problem(
            f"{option.written} is empty: nova-compute does not start without a driver",
            field=nova.field_of(option),
            fix=f"Set {option.written} to libvirt.LibvirtDriver; restart nova-compute.",
            related=nova.overridden(option),
        )


def _empty_driver(nova: NovaConfig) -> NovaOption | None:
    option = nova.setting("DEFAULT", "compute_driver")
    return None if option is None or not option.certain or option.value.strip() else option


def _suspects(nova: NovaConfig) -> list[NovaOption]:
    return [o for o in nova.settings if o.broken or (o.name not in _ELSEWHERE and _is_suspect(o))]


def _is_suspect(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    if form is None or form.kind == "other" or (form.kind == "str" and not form.choices):
        return False
    return not option.certain or not form.accepts(option.value)


RULE = Rule(
    name="nova-option-value",
    severity="error",
    groups=("nova", "refused"),
    judges=(
        ConfigJudge(needs=(facts.NOVA_DRIVER, facts.NOVA_VALUES), applies=applies, check=check),
    ),
)
