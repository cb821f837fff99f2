"""Several queues on an interface type without multiqueue: the domain does not start.

## What is wrong

`queues` is above 1 on an interface of type user, server, client, mcast or udp. Only tap and macvtap
devices, vhost-user and vDPA support several queues.

## Why it matters

The definition is accepted, even with validation, but the domain does not start: `multiqueue is not
supported for network interfaces of type user` (measured with libvirt 9.0).

## Bad

In a guest with 4 vCPUs:

```xml domain.vcpus=4
<interface type='user'>
  <model type='virtio'/>
  <driver queues='4'/>
</interface>
```

## Good

In the same guest:

```xml domain.vcpus=4
<interface type='user'>
  <model type='virtio'/>
</interface>
```

## Fix

Remove `queues`, or connect the NIC to a bridge or network.

## Fix safety

Safe: the domain does not start as it is.

## When it does not fire

* On `type='network'`, which never becomes one of these types.
* When libvirt does not read the attribute, because no virtio model is declared: see VNIC010.
* On `queues='1'`, and on a running NIC.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import SINGLE_QUEUE
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """Several queues requested for a type that has only one, and nothing running."""
    if subject.backend not in SINGLE_QUEUE or not subject.tuned or subject.proven:
        return False
    return (subject.nic.queues or 0) > 1


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, in libvirt's words."""
    queues = str(subject.nic.queues)
    yield Problem(
        f"queues={queues}: multiqueue is not supported for network interfaces of type "
        f"{subject.backend}, the domain does not start",
        field="queues",
        change=Change(
            "queues", queues, None, safe=True, reason="the domain does not start as it is"
        ),
    )


RULE = Rule(
    name="multiqueue-unsupported",
    severity="error",
    groups=("queues", "refused"),
    judges=(Judge("nic", applies=applies, check=check),),
)
