"""Only one queue pair in a guest with four or more vCPUs.

## What is wrong

The NIC has one queue pair. All its packets go through one vhost thread on the host (or one
poll-mode queue of a vhost-user switch), and one guest vCPU at a time handles their interrupts.

## Why it matters

With many flows, that thread or vCPU becomes the bottleneck. In A. Scicchitano's measurement
(SWITCH), DNS servers on virtio went from 27,000 queries per second with 1 vCPU to 73,000 with 3;
such gains end when the one queue is full.

On QEMU's command line, a backend with several queues (``queues=4``, four descriptors) gives the
guest one unless the device has ``mq=on`` (measured with QEMU 7.2). This is reported whatever the
number of vCPUs.

A single flow gains nothing. Red Hat's RHEL 7 tuning guide warns that multiqueue can reduce the
throughput of many small outgoing TCP packets. Measure before and after.

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

Set queues to the number of vCPUs, 8 at most; start with 2 on s390x. An old guest must enable them
itself (`ethtool -L eth0 combined 8`). If virtio is only the default model, declare it too: libvirt
reads queues only beside a declared virtio model.

In a KubeVirt manifest set `networkInterfaceMultiqueue: true`; each NIC then gets one queue pair per
vCPU. On KubeVirt 1.3.x, 1.4.0, 1.5.0 and 1.5.1 that costs CPU hot-plug: a change of vCPUs then
needs a restart. In OpenStack set `hw_vif_multiqueue_enabled=true` on the image; Nova keeps a copy
for each server and creates one pair per vCPU, at most `[libvirt] max_queues`.

## Fix safety

Unsafe, because more queues are not always better: measure before and after. With vhost-user, the
switch must offer as many queues. Each queue pair takes two interrupt vectors and guest memory.

## When it does not fire

* Below four vCPUs. Skipped when the number of vCPUs is unknown.
* On backends without multiqueue (user, passt), on vDPA (the device decides) and on assigned
  devices. Skipped when it is unknown how a libvirt network is connected.
* When QEMU handles the packets itself (`type='qemu'`, `<driver name='qemu'/>`, no vhost on the
  host): its single thread is the limit, not the number of queues. If only the running QEMU shows
  that vhost is off, both are told: switch vhost on first (VNIC020).
* On guests with many NICs that would need more than about 200 interrupt vectors in all.
* When several queues are declared but one is running: the change is pending, see VNIC013.
* On NICs that are not virtio, or whose link is down.
* When a KubeVirt manifest or its preference sets multiqueue, on or off.
* Confidence is low (high for a missing ``mq=on``), because the definition does not show the load.
  The finding is a hint: it does not fail a run unless the setting `confidence` is *low*. On
  s390x the severity is *low*, because IBM recommends multiqueue only with evidence of load.
* A KubeVirt manifest gets one finding for the VM, and it is *low*; in a cluster *medium* if the
  running instance reports one queue pair (`queueCount`). Multiqueue is off by KubeVirt's
  own default, and switching it on gives every NIC as many queues as there are vCPUs, with no way to
  have fewer (VNIC072).
* An OpenStack server read from its cloud also gets one finding, which is *low*, if neither its
  flavor nor the properties that Nova keeps for it mention multiqueue. It gets none if one of them
  sets it, on or off; if its image sets it now (VNIC064); or if those properties or the NIC's model
  are unknown. If they are unknown and the domain was read from libvirt, each NIC is judged there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.fixes.wording import unsafe_because
from vnicaudit.knowledge.kubevirt_versions import multiqueue_blocks_cpu_hotplug
from vnicaudit.model.finding import S390, VIRTIO, Change
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.nic import UNKNOWN
from vnicaudit.model.nova import as_number
from vnicaudit.model.openstack import MULTIQUEUE, ServerConfig
from vnicaudit.model.rule import (
    DomainSubject,
    Judge,
    Judges,
    Problem,
    Rule,
    RuleSettings,
    Subject,
    adjustable,
    setting,
)

_TAP = ("bridge", "ethernet", "direct")
_SWITCHED = (None, *_TAP, "vhostuser")
"""Backends for which Nova sets queues, as reported by Neutron; None: not reported, as to
tenants."""

_FEW = 2
_VECTORS = 200
_MEASURE = (
    "more queues help many flows but can slow down small outgoing packets: measure before and after"
)

_BOTH = (
    "Write <model type='virtio'/> as well as queues='{}' in <driver> (virsh edit), then power "
    "the guest off and on: libvirt reads queues only beside a declared virtio model. "
    f"{unsafe_because(_MEASURE)}"
)


_OLD = (
    "On this version of KubeVirt that costs CPU hot-plug: a change of vCPUs then needs a restart."
)
_IF_OLD = (
    "On KubeVirt 1.3.x, 1.4.0, 1.5.0 and 1.5.1 that costs CPU hot-plug: a change of vCPUs then "
    "needs a restart."
)


class QueueLimits(RuleSettings, frozen=True):
    """The smallest guests that are reported, and the most queues that are proposed."""

    min_vcpus: Annotated[
        int, setting("Report guests with at least this many vCPUs.", at_least=2)
    ] = 4
    max_queues: Annotated[
        int, setting("Propose at most this many queue pairs per NIC.", at_least=2, at_most=256)
    ] = 8


def applies(subject: Subject, limits: QueueLimits) -> bool:
    """A virtio NIC that could have several queues, in a guest that may be large enough. A server
    has one setting for all its NICs, see :func:`check_domain`; its domain in libvirt is judged like
    any other if that setting is unknown."""
    nic, domain = subject.nic, subject.domain
    if domain.server is not None and (domain.is_server or _is_told(domain.server)):
        return False
    may_be_virtio = subject.model in VIRTIO or subject.effective.model.state == UNKNOWN
    if not may_be_virtio or nic.link_state == "down" or domain.type == "qemu":
        return False
    if _lacks_mq(subject):
        return True
    if subject.tuned and (nic.queues or 1) > 1:
        return False
    if nic.backend_type == "passt" or not _may_have_queues(subject):
        return False
    manifest = domain.manifest
    if manifest is not None and (manifest.multiqueue is not None or nic.actual_type is None):
        return False
    if domain.vcpus is None:
        return True
    return domain.vcpus >= limits.min_vcpus and _room(subject, limits)


def check(subject: Subject, limits: QueueLimits) -> Iterator[Problem]:
    """One problem if there is one queue pair; for a manifest see :func:`check_domain`."""
    if subject.effective.queues.effective != 1 or subject.domain.manifest is not None:
        return
    if _lacks_mq(subject):
        yield Problem(
            f"{subject.nic.queues} queue pairs in -netdev, but one for the guest: no mq=on",
            field="queues",
            confidence="high",
            fix=f"Add mq=on,vectors={2 * (subject.nic.queues or 1) + 2} to -device.",
        )
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


def _lacks_mq(subject: Subject) -> bool:
    """True if a bare QEMU has a backend with several queues and a device that does not offer
    them."""
    running = subject.running
    return running is not None and running.lacks_mq and subject.nic.origin == "qemu"


def _unread(subject: Subject) -> bool:
    """True if libvirt would not read queues, because the model is virtio only by default."""
    nic, domain = subject.nic, subject.domain
    written = nic.model is not None or domain.form != "raw" or nic.origin != "interface"
    return not written and domain.owner == "libvirt"


def applies_domain(subject: DomainSubject, limits: QueueLimits) -> bool:
    """A manifest or a server that could switch multiqueue on. If facts of a manifest are unknown,
    the judge of its NICs is skipped instead."""
    server, manifest = subject.domain.server, subject.domain.manifest
    if server is not None:
        return _wanted_of(subject, server, limits) is not None
    return (
        manifest is not None
        and subject.domain.vcpus is not None
        and any(applies(nic, limits) for nic in subject.nics)
    )


def check_domain(subject: DomainSubject, limits: QueueLimits) -> Iterator[Problem]:
    """One problem, however many NICs the setting applies to."""
    server = subject.domain.server
    if server is not None:
        wanted = str(_wanted_of(subject, server, limits))
        yield _of_all(subject, Change("queues", None, wanted, safe=False, reason=_MEASURE))
    elif any(nic.effective.queues.effective == 1 for nic in subject.nics if applies(nic, limits)):
        change = Change("multiqueue", None, "true", safe=False, reason=_MEASURE)
        yield _of_all(subject, change, subject.domain.manifest)


def _of_all(subject: DomainSubject, change: Change, manifest: Manifest | None = None) -> Problem:
    return Problem(
        f"one queue pair per NIC for {subject.domain.vcpus} vCPUs",
        field=change.field,
        severity="medium" if manifest is not None and manifest.has_one_queue else "low",
        confidence="low",
        change=change,
        fix="" if manifest is None else _cost(manifest.version),
    )


def _cost(version: str | None) -> str:
    """A warning of the cost of multiqueue on some versions of KubeVirt; empty: this is none."""
    return {None: _IF_OLD, True: _OLD, False: ""}[multiqueue_blocks_cpu_hotplug(version)]


def _wanted_of(subject: DomainSubject, server: ServerConfig, limits: QueueLimits) -> int | None:
    """The number of queue pairs that each NIC of a server would get; None if it should not have
    them, if multiqueue was set on purpose, or if that is unknown."""
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
    """True if the setting of multiqueue is known: it is set, or certainly not set."""
    if _is_decided(server):
        return True
    return (
        server.properties_source != "unseen"
        and server.flavor is not None
        and server.flavor.complete
    )


def _is_decided(server: ServerConfig) -> bool:
    """True if Nova's stored properties of the server, or its flavor, set multiqueue on or off."""
    told = (server.flag(MULTIQUEUE), server.flavor_flag(MULTIQUEUE))
    return any(said is not None for said in told)


def _has_one_queue(nic: Subject) -> bool:
    one = nic.effective.queues.effective == 1
    return one and nic.model in VIRTIO and nic.backend in _SWITCHED


def _of_node(server: ServerConfig, option: str) -> str:
    return "" if server.node is None else server.node.value(option) or ""


def _may_have_queues(subject: Subject) -> bool:
    if subject.backend == "vhostuser":
        return True
    on_tap = subject.backend is None or subject.backend in _TAP
    return on_tap and (subject.effective.vhost.effective is not False or _lost_vhost(subject))


def _lost_vhost(subject: Subject) -> bool:
    """True if VNIC020 advises to switch vhost on, after which one queue is the limit."""
    by_request = subject.tuned and subject.nic.driver_name == "qemu"
    seen = subject.running is not None and subject.running.vhost is False
    return seen and not by_request and subject.host.vhost_net is not False


def _queues_needed(subject: Subject, limits: QueueLimits) -> int:
    vcpus = subject.domain.vcpus or 0
    if subject.domain.manifest is not None:
        return vcpus  # KubeVirt supports no smaller number
    return 2 if subject.arch in S390 else min(vcpus, limits.max_queues)


def _room(subject: Subject, limits: QueueLimits) -> bool:
    """True if all NICs together stay within the interrupt vectors: 2 per queue pair and 2 more
    per NIC, as libvirt sets ``vectors``."""
    return subject.domain.nics * (2 * _queues_needed(subject, limits) + 2) <= _VECTORS


def judges(limits: QueueLimits) -> Judges:
    """The judges with these limits."""
    return (
        Judge(
            "nic",
            needs=(facts.VCPUS, facts.ACTUAL_TYPE, facts.QUEUES),
            applies=lambda subject: applies(subject, limits),
            check=lambda subject: check(subject, limits),
        ),
        Judge(
            "domain",
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
