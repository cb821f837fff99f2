"""One queue pair for a guest with four or more vCPUs.

## What is wrong

The NIC has one queue pair. All its packets pass one vhost thread on the host (or one poll-mode
queue of a vhost-user switch), and their interrupts arrive at one vCPU of the guest at a time.

## Why it matters

With many flows that thread, or that vCPU, is the ceiling. The DNS servers of A. Scicchitano's
measurement (SWITCH) went from 27,000 to 73,000 queries per second from 1 to 3 vCPUs on virtio, a
gain that ends where one queue is full. It is no gain for one flow, and Red Hat's RHEL 7 tuning
guide warns that multiqueue can cost throughput of many small outgoing TCP packets: measure.

## Bad

In a guest with 8 vCPUs:

```xml domain.vcpus=8
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Good

In the same guest:

```xml domain.vcpus=8
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver queues='8'/>
</interface>
```

## Fix

Set queues to the number of vCPUs, 8 at most; on s390x begin with 2. An old guest must switch them
on itself (`ethtool -L eth0 combined 8`). In a KubeVirt manifest set
`networkInterfaceMultiqueue: true`: each NIC then gets one queue pair per vCPU.

## Fix safety

Unsafe, in the sense that it is not always better: measure before and after. With vhost-user the
switch must offer as many queues. Each queue pair takes two interrupt vectors and guest memory.

## When it does not fire

* Below four vCPUs, and where the number of vCPUs is not known: skipped.
* On backends without multiqueue (user, passt), on vDPA (the device decides) and on assigned
  devices; where it is not known what a libvirt network is connected to: skipped.
* In userspace (`type='qemu'`, `<driver name='qemu'/>`, no vhost on the host): QEMU's one thread
  is the limit, not the number of queues.
* On guests with many NICs: more than about 200 interrupt vectors in all would be needed.
* Where more queues are declared and one runs: a change is staged, which VNIC013 reports.
* On NICs that are not virtio, or whose link is down.
* In a KubeVirt manifest, or its preference, that sets multiqueue, on or off.
* On s390x it is *low*: IBM recommends it only with evidence of load. Confidence is low
  everywhere: the load is not in the definition.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Change, Severity
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.machines import S390
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.rule import Problem, Scope, Subject

NAME = "single-queue"
SEVERITY: Severity = "medium"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ("vcpus", "actual_type", "queues")
MANIFESTS = True

_TAP = ("bridge", "ethernet", "direct")
_ENOUGH_VCPUS = 4
_MOST = 8
_VECTORS = 200
_MEASURE = "it helps many flows and can slow down small outgoing packets: measure before and after"


def applies(subject: Subject) -> bool:
    """A virtio NIC that could have several queues, on a guest that may be large enough."""
    nic, domain = subject.nic, subject.domain
    if subject.model not in VIRTIO or nic.link_state == "down" or domain.type == "qemu":
        return False
    if subject.tuned and (nic.queues or 1) > 1:
        return False
    if nic.backend_type == "passt" or not _may_have_queues(subject):
        return False
    if domain.manifest is not None and not _may_be_switched_on(domain.manifest, nic):
        return False
    return domain.vcpus is None or (domain.vcpus >= _ENOUGH_VCPUS and _room(subject))


def check(subject: Subject) -> Iterator[Problem]:
    """One problem where there is one queue pair."""
    if subject.effective.queues.effective != 1:
        return
    change = _change(subject)
    yield Problem(
        f"one queue pair for {subject.domain.vcpus} vCPUs",
        field=change.field,
        severity="low" if subject.arch in S390 else None,
        confidence="low",
        change=change,
    )


def _change(subject: Subject) -> Change:
    """As many queues as serve; KubeVirt has only on and off."""
    if subject.domain.manifest is not None:
        return Change("multiqueue", None, "true", safe=False, reason=_MEASURE)
    queues = subject.nic.queues
    old = None if queues is None else str(queues)
    return Change("queues", old, str(_wanted(subject)), safe=False, reason=_MEASURE)


def _may_be_switched_on(manifest: Manifest, nic: NicConfig) -> bool:
    """Nobody switched multiqueue off, and the NIC is one that it is for."""
    return manifest.multiqueue is None and nic.actual_type is not None


def _may_have_queues(subject: Subject) -> bool:
    if subject.backend == "vhostuser":
        return True
    on_tap = subject.backend is None or subject.backend in _TAP
    return on_tap and subject.effective.vhost.effective is not False


def _wanted(subject: Subject) -> int:
    vcpus = subject.domain.vcpus or 0
    if subject.domain.manifest is not None:
        return vcpus  # KubeVirt has no smaller number
    return 2 if subject.arch in S390 else min(vcpus, _MOST)


def _room(subject: Subject) -> bool:
    """Whether all NICs together stay within the interrupt vectors: 2 per queue pair and 2 more
    per NIC, as libvirt sets ``vectors``."""
    return subject.domain.nics * (2 * _wanted(subject) + 2) <= _VECTORS
