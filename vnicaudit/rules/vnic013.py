"""A change of this NIC is staged: the running guest has one thing, its definition another.

## What is wrong

The persistent definition of the NIC differs from the running one. libvirt keeps both; the running
device stays as it is until the guest is powered off and started again. A reboot inside the guest
is not enough: QEMU goes on running.

The same goes for whole NICs. One that only the running definition has was plugged in with
`--live` alone, or removed with `--config` alone (the two look the same): it is gone after the next
power cycle. One that only the persistent definition has appears at the next cold start; it is
reported for the domain, as *low*.

## Why it matters

The change was made, perhaps months ago, and everybody believes that it is in force. Model,
queues, ring sizes and all of `<driver>` cannot be changed while the guest runs (`cannot modify
network device model from e1000 to virtio`, libvirt 9.0). A NIC that was plugged in live only is
missed at the next start, perhaps months later, by those who do not know of it.

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

Power the guest off and start it again, through its owner. Where the NIC itself is not in the
persistent definition, add it there if it is to stay (`virsh attach-device --config`); there is
nothing to be edited until then, and no other finding about it asks for that.

## Fix safety

There is no change to make: the restart is the guest owner's to plan. A managed save image would
bring the old NIC back (VNIC080).

## When it does not fire

* Where only one definition is at hand: an offline file, a domain that is shut off, a transient
  domain.
* Where NICs cannot be told apart: a MAC that occurs twice in a definition, an assigned device in
  `<hostdev>` (it has none), a definition with an interface without MAC.
* A whole NIC of a guest of Nova, KubeVirt or oVirt: they write the definition anew for each start,
  and oVirt plugs in live only (vdsm, `Vm.hotplugNic`).
* It cannot tell a change that is being rolled out right now from a forgotten one.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.domain import StagedNic
from vnicaudit.model.rule import DomainJudge, NicJudge, Problem, Rule
from vnicaudit.model.subject import DomainSubject, Subject

_SHOWN = 6
_GONE = Problem(
    "this NIC is not in the persistent definition: it is gone after the next power cycle",
    fix="If it is to stay, add it to the persistent definition too, where that is kept; if not, "
    "there is nothing to do.",
)


def applies(subject: Subject) -> bool:
    """A NIC whose two definitions differ, in a domain that is not known to be shut off."""
    staged = subject.staged
    if staged is None or not (staged.fields or staged.gone):
        return False
    return subject.state is None or subject.state.active is not False


def check(subject: Subject) -> Iterator[Problem]:
    """One problem: the NIC is not in the persistent definition, or what differs there."""
    if subject.staged is None:
        return
    yield _GONE if subject.staged.gone else _differs(subject.staged)


def applies_domain(subject: DomainSubject) -> bool:
    """A domain that has NICs in its persistent definition only."""
    return bool(subject.coming)


def check_domain(subject: DomainSubject) -> Iterator[Problem]:
    """One problem, with the first of these NICs named."""
    macs = subject.coming
    names = ", ".join(macs[:_SHOWN]) + (
        f" and {len(macs) - _SHOWN} more" if len(macs) > _SHOWN else ""
    )
    what, verb = ("a NIC is", "appears") if len(macs) == 1 else (f"{len(macs)} NICs are", "appear")
    yield Problem(
        f"{what} in the persistent definition only: {names} {verb} at the next cold start",
        severity="low",
        fix="Power the guest off and start it again, through its owner; or plug it in live too.",
    )


def _differs(staged: StagedNic) -> Problem:
    """The first differences spelt out."""
    fields = staged.fields
    parts = [f"{field} {_text(old)} -> {_text(new)}" for field, old, new in fields[:_SHOWN]]
    if len(fields) > _SHOWN:
        parts.append(f"and {len(fields) - _SHOWN} more")
    return Problem(
        f"a change is staged and not active: {', '.join(parts)}",
        field=fields[0][0],
        fix="Power the guest off and start it again, through its owner; a reboot inside the "
        "guest keeps the running device.",
    )


def _text(value: str) -> str:
    return value[:60] or "(none)"


RULE = Rule(
    name="change-staged",
    severity="medium",
    groups=("drift",),
    judges=(
        NicJudge(applies=applies, check=check),
        DomainJudge(applies=applies_domain, check=check_domain),
    ),
)
