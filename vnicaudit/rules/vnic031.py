"""Invalid queues: more than the vCPUs, more than the backend supports or has, or not a number.

## What is wrong

`queues` is not a number, or is larger than the backend supports or than the number of vCPUs the
guest can ever have. libvirt never compares queues with vCPUs. Or QEMU's command line has ``mq=on``
on a device whose backend has one queue.

## Why it matters

A guest uses at most one queue pair per vCPU. The others waste two interrupt vectors each, file
descriptors, a vhost thread and guest memory. A tap device has 256 queues at most
(drivers/net/tun.c): with 300, QEMU 10 does not start (`could not configure /dev/net/tun: Argument
list too long`, measured). virtio-net itself has 511 queue pairs at most. If `queues` is not a
number, libvirt refuses the definition.

With ``mq=on``, QEMU offers the guest multiqueue even if the backend has a single queue (``user``, a
tap with one descriptor; measured with QEMU 7.2, ``x-query-virtio-status``). A guest that steers
flows to queues that nobody serves was seen to lose them (microvm.nix).

## Bad

In a guest with 2 vCPUs:

```xml domain.vcpus=2
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver queues='8'/>
</interface>
```

## Good

In a guest with 2 vCPUs of 8 (`<vcpu current='2'>8</vcpu>`):

```xml domain.vcpus=2 domain.vcpus_max=8
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver queues='8'/>
</interface>
```

## Fix

Set queues to the number of vCPUs.

## Fix safety

Safe: the queues that are removed were never used.

## When it does not fire

* On vCPUs that can be hot-plugged: the maximum counts, not the number at start.
* When libvirt does not read the attribute: see VNIC010. On backends without multiqueue: see
  VNIC032.
* On vDPA: QEMU uses the device's own number of queues. For ``mq=on`` only bare QEMU's command lines
  are judged: libvirt writes it only with several queues.
* Skipped when the number of vCPUs is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import queue_limit
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """More than one queue pair, declared or running, or text that is not a number."""
    if subject.model not in VIRTIO:
        return False
    if _mq_for_nothing(subject):
        return True
    if queue_limit(subject.backend) is None:
        return False
    return _unreadable(subject) is not None or _pairs(subject) > 1


def check(subject: Subject) -> Iterator[Problem]:
    """One problem at most: refused, too many to start, or unused."""
    if _mq_for_nothing(subject):
        on_tap = subject.running is not None and subject.running.backend == "tap"
        yield Problem(
            "mq=on, but the backend has one queue: the guest is offered queues that nobody serves",
            field="queues",
            fix="Leave out mq=on and vectors= on -device"
            + (", or give the -netdev several queues." if on_tap else "."),
        )
        return
    text, pairs, limit = _unreadable(subject), _pairs(subject), queue_limit(subject.backend)
    vcpus = max(subject.domain.vcpus or 1, subject.domain.vcpus_max or 1)
    if text is not None:
        yield Problem(
            f"queues={text[:20]!r} is not a number: libvirt refuses the definition",
            field="queues",
            severity="error",
            fix="Set it to the number of vCPUs, or remove it.",
        )
    elif limit is not None and pairs > limit and not subject.proven:
        yield Problem(
            f"{pairs} queue pairs, but at most {limit} are possible here: the domain does not "
            "start",
            field="queues",
            severity="error",
            confidence="medium" if subject.backend is None else "high",
            change=_change(subject, min(vcpus, limit)),
        )
    elif pairs > vcpus:
        plural = "" if vcpus == 1 else "s"
        yield Problem(
            f"{pairs} queue pairs for {vcpus} vCPU{plural}: {pairs - vcpus} of them idle",
            field="queues",
            change=_change(subject, vcpus),
            fix="" if subject.nic.queues else "Start it with one queue pair per vCPU.",
        )


def _mq_for_nothing(subject: Subject) -> bool:
    running = subject.running
    if running is None or subject.nic.origin != "qemu":
        return False
    return running.mq is True and running.backend_queues == 1 and running.backend is not None


def _unreadable(subject: Subject) -> str | None:
    """The text of a ``queues`` that libvirt cannot read; None if there is none."""
    if not subject.tuned:
        return None
    return next((text for field, text in subject.nic.invalid if field == "queues"), None)


def _pairs(subject: Subject) -> int:
    """Number of running queue pairs, or else of declared ones if libvirt reads them."""
    if subject.proven and subject.running is not None and subject.running.queues is not None:
        return subject.running.queues
    return subject.nic.queues or 1 if subject.tuned else 1


def _change(subject: Subject, wanted: int) -> Change | None:
    """The change to that number; None if the running queues are not declared, so that there is
    nothing to edit."""
    if subject.nic.queues is None:
        return None
    return Change(
        "queues",
        str(subject.nic.queues),
        str(wanted),
        safe=True,
        reason="the guest uses at most one queue pair per vCPU",
    )


RULE = Rule(
    name="too-many-queues",
    severity="medium",
    groups=("queues",),
    judges=(Judge("nic", needs=(facts.VCPUS,), applies=applies, check=check),),
)
