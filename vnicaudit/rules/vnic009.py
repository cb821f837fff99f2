"""NICs of different models in one guest.

## What is wrong

One guest has NICs of several models, e1000 and virtio for example. Unless interface names are tied
to MAC addresses, they depend on the order in which the drivers load.

## Why it matters

RHEL and CentOS 7 name virtio NICs `ethN`, while e1000 and rtl8139 get `ensN`, unless
`net.ifnames=1` is set (Red Hat knowledge base 3219091). In a guest with both, a later model change
can swap the interfaces. Mixed models also often mean that a conversion was left unfinished.

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

Use one model for all NICs, virtio if the guest has the driver. In the guest, tie interface names to
MAC addresses (netplan `match: macaddress`, udev, `HWADDR=`).

## Fix safety

This rule proposes no change; the findings for the individual NICs do.

## When it does not fire

* Between virtio, virtio-transitional and virtio-non-transitional: the guest uses one driver for
  all.
* On assigned devices (`<hostdev>`, SR-IOV, the transient half of a failover pair): they are not
  emulated models.
* A NIC whose model is unknown is ignored.
* A NIC whose link is down is ignored.
* In a template that creates NICs under a condition or in a loop: it is not known which of them a
  guest gets.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule, Subject


def applies(subject: DomainSubject) -> bool:
    """A guest with several kinds of NIC, emulated or virtio."""
    return "together" not in subject.domain.unseen and len(_indexes_by_model(subject)) > 1


def check(subject: DomainSubject) -> Iterator[Problem]:
    """One problem per domain, naming each kind and its NICs."""
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
    judges=(Judge("domain", applies=applies, check=check),),
)
