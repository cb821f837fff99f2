"""An option that this release of Nova does not have, or will lose soon.

## What is wrong

nova.conf sets an option that affects NICs, and the release (`--nova-release`, otherwise the newest
known one)

* no longer has it: its driver or nova-network is gone, or it was removed;
* does not have it yet;
* has it under another name, or has deprecated it.

## Why it matters

Nova silently ignores an option that it does not know: oslo.config does not read the line. People
who read the file believe it.

## Bad

```ini
[DEFAULT]
linuxnet_interface_driver = nova.network.linux_net.LinuxOVSInterfaceDriver
[libvirt]
vif_driver = nova.virt.libvirt.vif.LibvirtGenericVIFDriver
```

## Good

```ini
[libvirt]
virt_type = kvm
```

## Fix

Remove a line that is not read; replace an old name by the current one. Judge for the release you
run: `vnicaudit audit nova.conf --nova-release Caracal`.

## Fix safety

Safe with `--nova-release`: removing a line that this release does not read changes nothing. Unsafe
without it: a release older than the newest may read the line.

## When it does not fire

* On options that do not affect NICs. The known options and their releases come from the option
  definitions in Nova's own packages, Ocata (15.0) to 34.0. It is not known which of them earlier
  releases lacked.
* On `[DEFAULT] libvirt_use_virtio_for_bridges`: see VNIC061.
* On options of `[libvirt]` when `compute_driver` names another driver.
* On more than 50 such lines in one file: the first line of each option is reported, and some more.
* Skipped in a template if a condition decides whether the line is present, unless another such line
  is certain.

Severity is *medium* if libvirt guests depended on the option, and *low* if those of another driver
did. It is *info* for an option that only nova-network read, because Neutron does that work now, and
for a deprecated or old name, because Nova still reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import Change, Severity
from vnicaudit.model.nova import KnownOption, NovaConfig, NovaOption
from vnicaudit.model.rule import Judge, Problem, RuleSettings, adjustable_rule, setting

_ELSEWHERE = ("DEFAULT", "libvirt_use_virtio_for_bridges")
"""Judged by VNIC061."""
_OF_GUESTS = ("libvirt", "pci", "neutron", "compute", "workarounds")
"""Sections that affect libvirt's guests; in [DEFAULT] the name of the option decides."""
_STILL_READ = ("alias", "deprecated")
_MOST = 50
"""Maximum number of reported lines of one file."""


class Reported(RuleSettings, frozen=True):
    """Kinds of options that are reported."""

    still_read: Annotated[
        bool, setting("Also options that are deprecated, or have a newer name, and are still read.")
    ] = True


def applies(nova: NovaConfig, reported: Reported) -> bool:
    """There is, or may be, an option to report."""
    return bool(_flag_lines(nova)) or bool(_reportable_options(nova, reported))


def check(nova: NovaConfig, reported: Reported) -> Iterator[Problem]:
    """One problem per option that is certain."""
    for option in _first_of_each(_reportable_options(nova, reported)):
        if option.present and option.known is not None:
            yield _problem(nova, option, option.known)
    for option in _flag_lines(nova)[:_MOST]:
        yield Problem(
            f"{option.name}: a flag from before oslo.config, which does not read it",
            field=nova.field_of(option),
            severity="low",
            fix=f"Remove the line, or write it as {option.name.lstrip('-')} in its section.",
        )


def _reportable_options(nova: NovaConfig, reported: Reported) -> list[NovaOption]:
    unread = "libvirt" if nova.libvirt is False else None
    return [
        option
        for option in nova.own
        if option.known is not None
        and option.known.status != "current"
        and (option.section, option.name) != _ELSEWHERE
        and option.section != unread
        and (reported.still_read or option.known.status not in _STILL_READ)
    ]


def _first_of_each(found: list[NovaOption]) -> list[NovaOption]:
    """As many options as are reported, ordered by line; each option occurs at least once, so that
    fixing the reported lines brings up no new option."""
    firsts: dict[tuple[str, str], NovaOption] = {}
    for option in found:
        firsts.setdefault((option.section, option.name), option)
    ranked = sorted(found, key=lambda o: o is not firsts[o.section, o.name])
    return sorted(ranked[:_MOST], key=lambda option: option.line)


def _flag_lines(nova: NovaConfig) -> list[NovaOption]:
    """Flags in a file with sections, recognised by their leading ``--``."""
    return [option for option in nova.own if option.name.startswith("--") and option.present]


def _problem(nova: NovaConfig, option: NovaOption, known: KnownOption) -> Problem:
    field, current = nova.field_of(option), f"[{known.section}] {known.name}"
    if known.status == "alias":
        return Problem(
            f"{option.written} is the old name of {current}, and still read",
            field=field,
            severity="info",
            fix=f"Write it as {known.name} in [{known.section}].",
        )
    if known.status == "deprecated":
        note = f"; gone from {known.removed} on" if known.removed else ""
        return Problem(
            f"{option.written} is deprecated since {known.deprecated}, and still read{note}",
            field=field,
            severity="info",
            fix="Remove the line before you upgrade to a release without it.",
        )
    return Problem(
        f"{option.written} {_absent(nova, known)}",
        field=field,
        severity=_severity(option),
        change=_removed(nova, option),
        fix="Remove the line; or name the release you run (--nova-release) if it is another one.",
    )


def _removed(nova: NovaConfig, option: NovaOption) -> Change:
    """Remove the line; safe if the release that ignores it is known to be the one that runs."""
    reason = (
        f"the release in use is unknown (--nova-release): {nova.release} is assumed"
        if nova.release_assumed
        else "Nova does not read the line"
    )
    safe = not nova.release_assumed
    return Change(option.name, option.value, None, safe=safe, reason=reason)


def _absent(nova: NovaConfig, known: KnownOption) -> str:
    if known.status == "future":
        since = "" if known.since is None else f"; it came with {known.since.name}"
        return f"is not in {nova.release}: Nova does not read it{since}"
    note = f": {known.note}" if known.note else ""
    return f"has not been read since {known.removed}{note}"


def _severity(option: NovaOption) -> Severity | None:
    if option.section in _OF_GUESTS or option.name.startswith("libvirt_"):
        return None
    return "info" if option.section == "DEFAULT" else "low"


RULE = adjustable_rule(
    Reported,
    lambda reported: Judge(
        "config",
        needs=(facts.NOVA_NAMES,),
        applies=lambda subject: applies(subject, reported),
        check=lambda subject: check(subject, reported),
    ),
    name="nova-option-release",
    severity="medium",
    groups=("nova",),
)
