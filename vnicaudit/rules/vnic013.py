"""Pending change: the running NIC differs from its persistent definition.

## What is wrong

libvirt keeps a running and a persistent definition, and they differ for this NIC. The running
device stays as it is until the guest is powered off and started again. A reboot inside the guest is
not enough, because QEMU keeps running.

A whole NIC can be pending, too:

* If only the running definition has it, it was attached with `--live` alone or detached with
  `--config` alone; the two look the same. It disappears at the next power cycle.
* If only the persistent definition has it, it appears at the next cold start. That is reported for
  the domain, as *low*.

## Why it matters

The change may have been made months ago, and everybody believes that it is in effect. The model,
queues, ring sizes and everything else in `<driver>` cannot change while the guest runs (`cannot
modify network device model from e1000 to virtio`, libvirt 9.0). A NIC that was only attached live
goes missing at the next start, perhaps months later, and nobody remembers why.

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

Power the guest off and start it again, through its owner. If the NIC is missing from the persistent
definition and should stay, add it there (`virsh attach-device --config`). Until then there is
nothing to edit, and no other finding about this NIC asks for an edit.

## Fix safety

No change is proposed: when to restart is up to the owner of the guest. A managed save image would
bring the old NIC back (VNIC080).

## When it does not fire

* When there is only one definition: an offline file, a domain that is shut off, a transient domain.
  Files about one guest are compared by the model alone.
* When NICs cannot be matched: a MAC that occurs twice in a definition, an assigned device in
  `<hostdev>` (which has no MAC), or a definition in which an interface has no MAC.
* On whole NICs of Nova, KubeVirt or oVirt guests: these owners rewrite the definition at each
  start, and oVirt attaches NICs live only (vdsm, `Vm.hotplugNic`).
* A change that is being rolled out right now looks the same as a forgotten one.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.domain import StagedNic
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule, Subject

_SHOWN = 6
_GONE = Problem(
    "this NIC is not in the persistent definition: it disappears at the next power cycle",
    fix="If it should stay, add it to the persistent definition, in the system that owns it; "
    "otherwise there is nothing to do.",
)


def applies(subject: Subject) -> bool:
    """A NIC whose two definitions differ, in a domain that is not known to be shut off."""
    staged = subject.staged
    if staged is None or not (staged.fields or staged.gone):
        return False
    return subject.state is None or subject.state.active is not False


def check(subject: Subject) -> Iterator[Problem]:
    """One problem: the NIC is not in the persistent definition, or differs there."""
    if subject.staged is None:
        return
    yield _GONE if subject.staged.gone else _differs(subject.staged)


def applies_domain(subject: DomainSubject) -> bool:
    """A domain with NICs that only its persistent definition has."""
    return bool(subject.coming)


def check_domain(subject: DomainSubject) -> Iterator[Problem]:
    """One problem, naming the first of these NICs."""
    macs = subject.coming
    names = ", ".join(macs[:_SHOWN]) + (
        f" and {len(macs) - _SHOWN} more" if len(macs) > _SHOWN else ""
    )
    what, verb = ("a NIC is", "appears") if len(macs) == 1 else (f"{len(macs)} NICs are", "appear")
    yield Problem(
        f"{what} in the persistent definition only: {names} {verb} at the next cold start",
        severity="low",
        fix="Power the guest off and start it again, through its owner; or attach it live, too.",
    )


def _differs(staged: StagedNic) -> Problem:
    """A problem that spells out the first differences."""
    fields = staged.fields
    parts = [f"{field} {_text(old)} -> {_text(new)}" for field, old, new in fields[:_SHOWN]]
    if len(fields) > _SHOWN:
        parts.append(f"and {len(fields) - _SHOWN} more")
    return Problem(
        f"pending change, not active yet: {', '.join(parts)}",
        field=fields[0][0],
        fix="Power the guest off and start it again, through its owner; a reboot inside the guest "
        "keeps the old device.",
    )


def _text(value: str) -> str:
    return value[:60] or "(none)"


RULE = Rule(
    name="change-staged",
    severity="medium",
    groups=("drift",),
    judges=(
        Judge("nic", applies=applies, check=check),
        Judge("domain", applies=applies_domain, check=check_domain),
    ),
)
