"""NICs of different models in one guest.

## What is wrong

One guest has NICs of several models, say e1000 and virtio. The order in which their drivers load
decides which interface gets which name, where names are not tied to the MAC address.

## Why it matters

RHEL and CentOS 7 name virtio NICs `ethN` while e1000 and rtl8139 get `ensN`, unless
`net.ifnames=1` is set (Red Hat knowledge base 3219091): a guest with both is the one in which a
later change of model swaps interfaces. It also is the mark of a conversion left half done.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='e1000'/>
</interface>
<interface type='bridge'>
  <source bridge='br1'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
<interface type='bridge'>
  <source bridge='br1'/>
  <model type='virtio'/>
</interface>
```

## Fix

Give all of them one model, virtio where the guest has its driver, and tie names to MAC addresses
in the guest (netplan `match: macaddress`, udev, `HWADDR=`).

## Fix safety

There is no change here: the findings on the single NICs carry it.

## When it does not fire

* Between virtio, virtio-transitional and virtio-non-transitional: one driver in the guest.
* On assigned devices (`<hostdev>`, SR-IOV, the transient half of a failover pair): they are not
  emulated models.
* Where the model of a NIC cannot be told, that NIC is left out.
* A NIC whose link is down is left out.
* In a template that makes NICs under a condition or in a loop: which of them one guest gets is not
  known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.nic import VIRTIO
from vnicaudit.model.rule import DomainJudge, Problem, Rule
from vnicaudit.model.subject import DomainSubject, Subject


def applies(subject: DomainSubject) -> bool:
    """More than one kind of emulated or virtio NIC, all in one guest."""
    return "together" not in subject.domain.unseen and len(_indexes_by_model(subject)) > 1


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem per domain, naming each kind and where it is."""
    kinds = "; ".join(
        f"{kind} (NIC {', '.join(str(index) for index in places)})"
        for kind, places in _indexes_by_model(subject).items()
    )
    yield Problem(
        f"NICs of different models in one guest: {kinds}",
        confidence="medium",
        fix=OwnerAdvice("one-model"),
    )


def _indexes_by_model(subject: DomainSubject) -> dict[str, list[int]]:
    """Kind of model -> indexes of the NICs of that kind, in order."""
    found: dict[str, list[int]] = {}
    for index, nic in enumerate(subject.nics):
        kind = _kind(nic)
        if kind:
            found.setdefault(kind, []).append(index)
    return found


def _kind(nic: Subject) -> str:
    if not nic.model or nic.nic.link_state == "down":
        return ""
    return "virtio" if nic.model in VIRTIO else shown_model(nic.model)


RULE = Rule(
    name="mixed-models",
    severity="low",
    groups=("models",),
    judges=(DomainJudge(applies=applies, check=check),),
)
