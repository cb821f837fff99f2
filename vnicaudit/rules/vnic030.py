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
on itself (`ethtool -L eth0 combined 8`). Where virtio is only the default, write the model too:
libvirt reads queues beside a virtio model that is written down, and nowhere else. In a KubeVirt
manifest set `networkInterfaceMultiqueue: true`: each NIC then gets one queue pair per vCPU. In
OpenStack it is `hw_vif_multiqueue_enabled=true` of the image, which Nova keeps for each server:
one pair per vCPU as well, `[libvirt] max_queues` at most.

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
  everywhere: the load is not in the definition. So it is a hint, and fails no run unless
  `--fail-confidence low` is given.
* In a KubeVirt manifest it is one finding for the VM, and *low*: the switch is off by KubeVirt's
  own default, and on it gives every NIC as many queues as there are vCPUs, with no way to have
  fewer (VNIC072).
* A server of OpenStack whose cloud is read is one finding and *low* too, where neither its flavor
  nor what Nova keeps says anything of multiqueue. None where one of them sets it, on or off, where
  its image does now (VNIC064), and where that or the NIC's model is not known; where that is not
  known and its domain was read in libvirt, each NIC is judged there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.fixes.unsafe import unsafe_because
from vnicaudit.model.finding import Change
from vnicaudit.model.guest_words import S390
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.nic import VIRTIO, NicConfig
from vnicaudit.model.nova_options import as_number
from vnicaudit.model.rule import (
    DomainJudge,
    Judges,
    NicJudge,
    Problem,
    Rule,
    RuleSettings,
    adjustable,
    setting,
)
from vnicaudit.model.server import MULTIQUEUE, ServerConfig
from vnicaudit.model.subject import DomainSubject, Subject

_TAP = ("bridge", "ethernet", "direct")
_SWITCHED = (None, *_TAP, "vhostuser")
"""Ports that Nova gives queues, as far as Neutron tells; a tenant is not told."""

_FEW = 2
_VECTORS = 200
_MEASURE = "it helps many flows and can slow down small outgoing packets: measure before and after"

_BOTH = (
    "Write <model type='virtio'/> as well as queues='{}' in <driver> (virsh edit), then power the "
    "guest off and on: libvirt reads queues only beside a virtio model that is written down. "
    f"{unsafe_because(_MEASURE)}"
)


class QueueLimits(RuleSettings, frozen=True):
    """Which guests are large enough, and what they are to have."""

    min_vcpus: Annotated[
        int, setting("The fewest vCPUs of a guest that is reported.", at_least=2)
    ] = 4
    max_queues: Annotated[
        int, setting("The most queue pairs that are proposed for a NIC.", at_least=2, at_most=256)
    ] = 8


def applies(subject: Subject, limits: QueueLimits) -> bool:
    """A virtio NIC that could have several queues, on a guest that may be large enough; those of a
    server have one switch, which may be set already: see :func:`check_domain`. Where that is not
    known of a domain in libvirt it is judged as any other."""
    nic, domain = subject.nic, subject.domain
    if domain.server is not None and (domain.is_server or _is_told(domain.server)):
        return False
    if subject.model not in VIRTIO or nic.link_state == "down" or domain.type == "qemu":
        return False
    if subject.tuned and (nic.queues or 1) > 1:
        return False
    if nic.backend_type == "passt" or not _may_have_queues(subject):
        return False
    if domain.manifest is not None and not _may_be_switched_on(domain.manifest, nic):
        return False
    if domain.vcpus is None:
        return True
    return domain.vcpus >= limits.min_vcpus and _room(subject, limits)


def check(subject: Subject, limits: QueueLimits) -> Iterator[Problem]:
    """One problem where there is one queue pair; of a manifest see :func:`check_domain`."""
    if subject.effective.queues.effective != 1 or subject.domain.manifest is not None:
        return
    queues = subject.nic.queues
    old = None if queues is None else str(queues)
    unread, wanted = _unread(subject), str(_queues_needed(subject, limits))
    yield Problem(
        f"one queue pair for {subject.domain.vcpus} vCPUs",
        field="queues",
        severity="low" if subject.arch in S390 else None,
        confidence="low",
        change=None if unread else Change("queues", old, wanted, safe=False, reason=_MEASURE),
        fix=_BOTH.format(wanted) if unread else "",
    )


def _unread(subject: Subject) -> bool:
    """True where libvirt would not read queues: the model is virtio by default only."""
    nic, domain = subject.nic, subject.domain
    written = nic.model is not None or domain.form != "raw" or nic.origin != "interface"
    return not written and domain.owner == "libvirt"


def applies_domain(subject: DomainSubject, limits: QueueLimits) -> bool:
    """A manifest that could switch multiqueue on, or a server that could. What is not known of a
    manifest NICs are skipped for."""
    server, manifest = subject.domain.server, subject.domain.manifest
    if server is not None:
        return _wanted_of(subject, server, limits) is not None
    return (
        manifest is not None
        and subject.domain.vcpus is not None
        and any(applies(nic, limits) for nic in subject.nics)
    )


def check_domain(subject: DomainSubject, limits: QueueLimits) -> Iterator[Problem]:
    """One problem, however many NICs the one switch is for."""
    server = subject.domain.server
    if server is not None:
        wanted = str(_wanted_of(subject, server, limits))
        yield _of_all(subject, Change("queues", None, wanted, safe=False, reason=_MEASURE))
    elif any(nic.effective.queues.effective == 1 for nic in subject.nics if applies(nic, limits)):
        change = Change("multiqueue", None, "true", safe=False, reason=_MEASURE)
        yield _of_all(subject, change)


def _of_all(subject: DomainSubject, change: Change) -> Problem:
    return Problem(
        f"one queue pair per NIC for {subject.domain.vcpus} vCPUs",
        field=change.field,
        severity="low",
        confidence="low",
        change=change,
    )


def _wanted_of(subject: DomainSubject, server: ServerConfig, limits: QueueLimits) -> int | None:
    """How many queue pairs each NIC of a server would get; None where it should not have them, or
    somebody decided already, or that is not known."""
    vcpus = subject.domain.vcpus or 0
    now = None if server.image is None else server.image.certain_value(MULTIQUEUE)
    if now is not None or _is_decided(server) or not _is_told(server):
        return None
    most, kind = _of_node(server, "max_queues"), _of_node(server, "virt_type")
    wanted = min(vcpus, as_number(most) or vcpus)
    could = any(map(_has_one_queue, subject.nics))
    if not could or vcpus < limits.min_vcpus or wanted < _FEW or kind == "qemu":
        return None
    return wanted if subject.domain.nics * (2 * wanted + 2) <= _VECTORS else None


def _is_told(server: ServerConfig) -> bool:
    """True where it is known what is said of multiqueue: somebody did, or nobody for certain."""
    if _is_decided(server):
        return True
    return (
        server.properties_source != "unseen"
        and server.flavor is not None
        and server.flavor.complete
    )


def _is_decided(server: ServerConfig) -> bool:
    """True where what Nova keeps of the server, or its flavor, sets multiqueue, on or off."""
    told = (server.flag(MULTIQUEUE), server.flavor_flag(MULTIQUEUE))
    return any(said is not None for said in told)


def _has_one_queue(nic: Subject) -> bool:
    one = nic.effective.queues.effective == 1
    return one and nic.model in VIRTIO and nic.backend in _SWITCHED


def _of_node(server: ServerConfig, option: str) -> str:
    return "" if server.node is None else server.node.value(option) or ""


def _may_be_switched_on(manifest: Manifest, nic: NicConfig) -> bool:
    """Nobody switched multiqueue off, and the NIC is one that it is for."""
    return manifest.multiqueue is None and nic.actual_type is not None


def _may_have_queues(subject: Subject) -> bool:
    if subject.backend == "vhostuser":
        return True
    on_tap = subject.backend is None or subject.backend in _TAP
    return on_tap and subject.effective.vhost.effective is not False


def _queues_needed(subject: Subject, limits: QueueLimits) -> int:
    vcpus = subject.domain.vcpus or 0
    if subject.domain.manifest is not None:
        return vcpus  # KubeVirt has no smaller number
    return 2 if subject.arch in S390 else min(vcpus, limits.max_queues)


def _room(subject: Subject, limits: QueueLimits) -> bool:
    """True where all NICs together stay within the interrupt vectors: 2 per queue pair and 2 more
    per NIC, as libvirt sets ``vectors``."""
    return subject.domain.nics * (2 * _queues_needed(subject, limits) + 2) <= _VECTORS


def judges(limits: QueueLimits) -> Judges:
    """With these limits."""
    return (
        NicJudge(
            needs=(facts.VCPUS, facts.ACTUAL_TYPE, facts.QUEUES),
            applies=lambda subject: applies(subject, limits),
            check=lambda subject: check(subject, limits),
        ),
        DomainJudge(
            applies=lambda subject: applies_domain(subject, limits),
            check=lambda subject: check_domain(subject, limits),
        ),
    )


RULE = Rule(
    name="single-queue",
    severity="medium",
    groups=("queues",),
    forms=("definition", "manifest", "server"),
    judges=judges(QueueLimits()),
    settings=adjustable(QueueLimits, judges),
)
