"""Something blocks a change of this guest's NICs.

## What is wrong

The guest has a NIC worth changing, but it also has a managed save image, has snapshots with memory,
or has no persistent definition at all. A change would not take effect, or would be undone.

## Why it matters

A guest with a managed save image starts from the definition *in the image*. Measured with libvirt
9.0: after the persistent definition was changed, the old e1000 came back at the next start, while
the persistent XML said virtio. Reverting to a snapshot with memory restores the NIC of that time. A
transient domain has no persistent definition to change.

## Bad

The guest has a managed save image:

```xml state.managed_save=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
```

## Good

It has none:

```xml state.managed_save=false
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
```

## Fix

Start a saved guest and shut it down from inside, so that no save image is left. Decide whether
snapshots with memory are still needed. Change a transient guest in the system that creates it. Then
change the NIC.

## Fix safety

Removing a managed save image (``virsh managedsave-remove``) discards the guest's memory: anything
not yet written to disk is lost.

## When it does not fire

* When there is nothing to change: all NICs are virtio, vhost is not switched off, and no change is
  pending.
* On transient guests of Nova, KubeVirt or oVirt, which keep the definition themselves.
* An owner such as Nova does not block a change; it only decides how the fixes are worded.
* Skipped without a live libvirt connection: only libvirt knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.models import BOARD
from vnicaudit.model.domain import DomainState
from vnicaudit.model.finding import VIRTIO, Owner
from vnicaudit.model.nic import KNOWN
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule, Subject


def applies(subject: DomainSubject) -> bool:
    """A domain whose NICs are worth changing."""
    return any(_worth_changing(nic) for nic in subject.nics)


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem per domain, naming all obstacles."""
    state = subject.state
    if state is None:
        return
    blockers = list(_blockers(state, subject.domain.owner))
    if blockers:
        yield Problem(
            f"blocks changes to its NICs: {'; '.join(obstacle for obstacle, _fix in blockers)}",
            fix=" ".join(fix for _obstacle, fix in blockers),
        )


def _worth_changing(subject: Subject) -> bool:
    if subject.staged is not None:
        return not subject.staged.gone
    if subject.tuned and subject.nic.driver_name == "qemu":
        return True
    emulated = subject.effective.model.state == KNOWN and subject.model not in VIRTIO
    return emulated and subject.model not in BOARD


def _blockers(state: DomainState, owner: Owner) -> Iterator[tuple[str, str]]:
    """Each obstacle, and how to remove it."""
    if state.managed_save:
        yield (
            "a managed save image brings the old ones back at the next start",
            "Start the saved guest and shut it down from inside.",
        )
    if state.memory_snapshots:
        count = state.memory_snapshots
        what = "a snapshot" if count == 1 else f"{count} snapshots"
        verb = "brings" if count == 1 else "bring"
        yield (
            f"{what} with memory {verb} the old ones back on revert",
            "Delete snapshots with memory that are no longer needed.",
        )
    if state.persistent is False and owner == "libvirt":
        yield (
            "a transient domain has no persistent definition",
            "Change the transient guest in the system that creates it.",
        )


RULE = Rule(
    name="change-blocked",
    severity="info",
    groups=("changes",),
    judges=(Judge("domain", needs=(facts.STATE,), applies=applies, check=check),),
)
