"""A value that Nova does not accept for an option.

## What is wrong

An option that affects NICs has a value of the wrong type, out of range, or not among its choices:
`max_queues = 0`, `virt_type = KVM`, `vif_plugging_is_fatal = maybe`. Or it refers to an option that
does not exist, that refers back to it, or that has no valid value: `virt_type = $libvirt_type`. Or
`compute_driver` is empty.

## Why it matters

oslo.config raises `ConfigFileValueError` when Nova uses the option, not when it reads the file.
Nova uses `virt_type` when nova-compute starts, and it does not start then. It uses `max_queues`
when a server is created, which then fails. With `debug = true` it reads all options at the start
(`log_opt_values`).

Measured with oslo.config 10.7 and Nova 34: a reference to a missing option raises `NoSuchOptError`,
and one that leads back to itself a `RecursionError`. With an empty `compute_driver`, nova-compute
exits with "Compute driver option required, but not specified" (`nova/virt/driver.py`).

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

Set a value that the option accepts, or remove the line. Restart nova-compute.

## Fix safety

No change is proposed: the intended value is not known.

## When it does not fire

* On options that do not affect NICs, on free-form lists and maps (`hw_machine_type`), and on free
  text.
* On a reference to an option whose value is unknown here, or that may belong to one of Nova's
  libraries.
* On the numbers of `rx_queue_size` and `tx_queue_size`: see VNIC035. On `[pci] device_spec`: see
  VNIC075.
* On an empty number (`max_queues =`), which counts as not set.
* On options that the release does not have, because Nova does not use them: see VNIC074.
  `--nova-release` decides which values are valid; they are not known for releases before Ocata
  (15.0).
* When `compute_driver` names another driver than libvirt, and when a later file overrides the
  value.
* Skipped in a template that fills in a value, unless another value is certain to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.rule import Judge, Problem, Rule

_ELSEWHERE = ("rx_queue_size", "tx_queue_size")
"""Judged by VNIC035."""
_SHOWN = 40


def applies(nova: NovaConfig) -> bool:
    """A value that Nova does not accept, or that is uncertain."""
    return nova.libvirt is not False and bool(_suspects(nova) or _empty_driver(nova))


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem per option."""
    if (option := _empty_driver(nova)) is not None:
        yield Problem(
            f"{option.written} is empty: nova-compute does not start without a driver",
            field=nova.field_of(option),
            fix=f"Set {option.written} to libvirt.LibvirtDriver; restart nova-compute.",
            related=nova.overridden(option),
        )
    for option in _suspects(nova):
        if option.broken:
            yield _broken_value_problem(nova, option)
        form = None if option.known is None else option.known.form
        if form is None or not option.certain:
            continue
        yield Problem(
            f"{option.written} = {option.value[:_SHOWN]}: it takes {form.words}, and Nova fails "
            "when it uses the option",
            field=nova.field_of(option),
            fix=f"Set {option.written} to {form.words}, or remove it; restart nova-compute.",
            related=nova.overridden(option),
        )


def _broken_value_problem(nova: NovaConfig, option: NovaOption) -> Problem:
    return Problem(
        f"{option.written} = {option.value[:_SHOWN]}: it {option.broken}, and Nova fails when it "
        "uses the option",
        field=nova.field_of(option),
        fix=f"Set {option.written} to a value, or refer to an option that has one; restart "
        "nova-compute.",
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
        Judge(
            "config",
            needs=(facts.NOVA_DRIVER, facts.NOVA_VALUES),
            applies=applies,
            check=check,
        ),
    ),
)
