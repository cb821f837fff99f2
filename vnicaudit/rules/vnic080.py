"""Something stands in the way of changing this guest's NICs.

## What is wrong

The guest has a NIC worth changing, and a managed save image, snapshots with memory, or no stored
definition at all: a change would not arrive, or would be undone.

## Why it matters

A guest with a managed save image starts from the definition *in the image*: measured with libvirt
9.0, after a change of the stored definition the old e1000 comes back at the next start, while the
stored XML says virtio. Reverting to a snapshot with memory restores the NIC of its day. A transient
domain has no stored definition to change.

## Bad

```xml state.managed_save=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
```

## Good

```xml state.managed_save=false
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
```

## Fix

Resume a saved guest and shut it down from inside, so that no image is left; decide what becomes of
snapshots with memory; change a transient guest where it is created from. Then change the NIC.

## Fix safety

Removing a managed save image (``virsh managedsave-remove``) throws away the guest's memory: what it
had not written to disk is lost.

## When it does not fire

* Where nothing is to be changed: all NICs are virtio with vhost not switched off, and no change
  waits for a power cycle.
* Transient guests of Nova, KubeVirt or oVirt: their owners keep the definition.
* That somebody else keeps the definition is no finding; it decides how the fixes are worded.
* Without a live libvirt connection the rule is skipped: only it knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.models import BOARD
from vnicaudit.model.domain import DomainState
from vnicaudit.model.effective import KNOWN
from vnicaudit.model.nic import VIRTIO
from vnicaudit.model.owner import Owner
from vnicaudit.model.rule import DomainJudge, Problem, Rule
from vnicaudit.model.subject import DomainSubject, Subject


def applies(subject: DomainSubject) -> bool:
    """A domain with something to change."""
    return any(_worth_changing(nic) for nic in subject.nics)


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem per domain, naming everything that stands in the way."""
    state = subject.state
    if state is None:
        return
    blockers = list(_blockers(state, subject.domain.owner))
    if blockers:
        yield Problem(
            "before its NICs are changed: " + "; ".join(blockers),
            fix="Resume a saved guest and shut it down from inside; decide what becomes of "
            "snapshots with memory; change a transient guest where it is created from.",
        )


def _worth_changing(subject: Subject) -> bool:
    if subject.staged is not None:
        return not subject.staged.gone
    if subject.tuned and subject.nic.driver_name == "qemu":
        return True
    emulated = subject.effective.model.state == KNOWN and subject.model not in VIRTIO
    return emulated and subject.model not in BOARD


def _blockers(state: DomainState, owner: Owner) -> Iterator[str]:
    if state.managed_save:
        yield "a managed save image brings the old ones back at the next start"
    if state.memory_snapshots:
        count = state.memory_snapshots
        what = "a snapshot" if count == 1 else f"{count} snapshots"
        verb = "brings" if count == 1 else "bring"
        yield f"{what} with memory {verb} the old ones back on revert"
    if state.persistent is False and owner == "libvirt":
        yield "a transient domain has no stored definition"


RULE = Rule(
    name="change-blocked",
    severity="info",
    groups=("changes",),
    judges=(DomainJudge(needs=(facts.STATE,), applies=applies, check=check),),
)
