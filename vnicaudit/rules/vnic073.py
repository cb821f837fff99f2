"""A value that oslo.config does not take for an option of Nova's.

## What is wrong

An option that bears on NICs has a value of the wrong type, outside of its range, or that is none
of its choices: `max_queues = 0`, `virt_type = KVM`, `vif_plugging_is_fatal = maybe`.

## Why it matters

oslo.config notices when Nova asks for the option, not when it reads the file: it raises
`ConfigFileValueError`. `virt_type` is asked for at the start of nova-compute, which does not start
then. `max_queues` is asked for when a server is made, which fails then. With `debug = true` all
options are asked for at the start (`log_opt_values`). Measured with oslo.config 10.7.

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

* On options that do not bear on NICs, on lists and maps (`hw_machine_type`), and on free text.
* On `rx_queue_size` and `tx_queue_size`: VNIC035. On `[pci] device_spec`: VNIC075.
* On a number that is not given (`max_queues =`): that counts as not set.
* On options that the release does not have: Nova does not ask for them (VNIC074). What they take is
  judged by `--nova-release`; for releases before Ocata (15.0) it is not known.
* Where `compute_driver` names another driver than libvirt, and where a later file overrides the
  value.
* In a template that fills a value in it is skipped, unless another one is wrong for certain.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Severity
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.rule import ConfigSubject, Problem, Scope

NAME = "nova-option-value"
SEVERITY: Severity = "error"
SCOPE: Scope = "config"
NEEDS: tuple[str, ...] = ("nova.driver", "nova.values")

_ELSEWHERE = ("rx_queue_size", "tx_queue_size")
"""VNIC035 judges them."""
_SHOWN = 40


def applies(subject: ConfigSubject) -> bool:
    """A value that is not taken, or is not certain."""
    return subject.nova.libvirt is not False and any(_suspects(subject.nova))


def check(subject: ConfigSubject) -> Iterator[Problem]:
    """One problem per option."""
    nova = subject.nova
    for option in _suspects(nova):
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


def _suspects(nova: NovaConfig) -> list[NovaOption]:
    return [o for o in nova.settings if o.name not in _ELSEWHERE and _is_suspect(o)]


def _is_suspect(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    if form is None or form.kind == "other" or (form.kind == "str" and not form.choices):
        return False
    return not option.certain or not form.accepts(option.value)
