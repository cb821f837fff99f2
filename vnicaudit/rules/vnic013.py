"""A change of this NIC is staged: the definition has it, the running guest does not.

## What is wrong

The persistent definition of the NIC differs from the running one. libvirt keeps both; the running
device stays as it is until the guest is powered off and started again. A reboot inside the guest
is not enough: QEMU goes on running.

## Why it matters

The change was made, perhaps months ago, and everybody believes that it is in force. Model,
queues, ring sizes and all of `<driver>` cannot be changed while the guest runs (`cannot modify
network device model from e1000 to virtio`, libvirt 9.0).

## Bad

The guest runs with this, and its persistent definition says virtio:

```xml staged.model=e1000->virtio state.active=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
```

## Good

Both definitions say the same:

```xml state.active=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Power the guest off and start it again, through its owner.

## Fix safety

There is no change to make: the restart is the guest owner's to plan. A managed save image would
bring the old NIC back (VNIC080).

## When it does not fire

* Where only one definition is at hand: an offline file, a domain that is shut off, a transient
  domain.
* It cannot tell a change that is being rolled out right now from a forgotten one.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Severity
from vnicaudit.model.rule import Problem, Scope, Subject

NAME = "change-staged"
SEVERITY: Severity = "medium"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ()

_SHOWN = 6


def applies(subject: Subject) -> bool:
    """A NIC whose two definitions differ, in a domain that is not known to be shut off."""
    if subject.staged is None or not subject.staged.fields:
        return False
    return subject.state is None or subject.state.active is not False


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, with the first differences spelt out."""
    fields = () if subject.staged is None else subject.staged.fields
    parts = [f"{field} {_text(old)} -> {_text(new)}" for field, old, new in fields[:_SHOWN]]
    if len(fields) > _SHOWN:
        parts.append(f"and {len(fields) - _SHOWN} more")
    yield Problem(
        f"a change is staged and not active: {', '.join(parts)}",
        field=fields[0][0],
        fix="Power the guest off and start it again, through its owner; a reboot inside the "
        "guest keeps the running device.",
    )


def _text(value: str) -> str:
    return value[:60] or "(none)"
