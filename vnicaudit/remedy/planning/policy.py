"""The number of queues and the size of rings that a plan gives to NICs, and their cost.

libvirt compares queues neither with vCPUs nor between NICs. The limits here are the guest's vCPUs,
the number that a backend starts with, and interrupt vectors summed over all NICs of the guest:
libvirt asks QEMU for 2N+2 of them for N queue pairs (``qemuBuildNicDevProps``), and as many without
``queues=`` (``virtio_net_pci_realize``); on s390x's channel subsystem there are none. Memory is
estimated as 64 KiB per queue pair.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.base.wording import count
from vnicaudit.knowledge.backends import (
    DEFAULT_RING,
    MAX_RING,
    RING_SIZES,
    TAP_TYPES,
    queue_limit,
    tx_limit,
)
from vnicaudit.knowledge.systems import model_of
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import S390, VIRTIO, Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Goal


class Tuning(NamedTuple):
    """The changes of queues and rings that the policy makes, and notes on those that it cannot make
    in full."""

    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


# The size of rings that a plan gives to a NIC.


_SAFE = "the policy asks for it; the driver reads a ring's size"
_DEVICE = "the policy asks for it; the vDPA device must support rings of that size"
_NOT_TAKEN = "QEMU does not accept it here, and with the new model libvirt would apply it"

_ROM = (
    "rings stay as they are: it has a boot order, and an old boot ROM supports only 256 descriptors"
)
_OLD_DRIVER = "rings stay as they are: drivers for virtio 0.9 support only 256 descriptors"
_PASST = "rings stay as they are: nothing is known about those of passt"
_TAP = "256 instead of {} descriptors of the transmit ring: more is for vhost-user and vDPA only"


def ring_tuning(policy: PolicyTable, domain: DomainConfig, nic: Nic, backend: str | None) -> Tuning:
    """The changes, and notes on reductions. ``backend`` is the interface type after the change; see
    :func:`vnicaudit.knowledge.backends.tx_limit`."""
    asked = {"rx_queue_size": policy.rx_queue_size, "tx_queue_size": policy.tx_queue_size}
    limits = {"rx_queue_size": MAX_RING, "tx_queue_size": tx_limit(backend)}
    wanted = {field: min(size, limits[field]) for field, size in asked.items() if size != "keep"}
    notes = [_TAP.format(asked[field]) for field, size in wanted.items() if asked[field] != size]
    if wanted and (reason := _left_alone(domain, nic)):
        wanted, notes = {}, [reason]
    sizes = {
        "rx_queue_size": nic.declared.rx_queue_size,
        "tx_queue_size": nic.declared.tx_queue_size,
    }
    changes = []
    for field, now in sizes.items():
        # not a number, or left to a template: it is never replaced unseen
        if field in dict(nic.declared.invalid) or field in nic.declared.unseen:
            continue
        old, size = None if now is None else str(now), wanted.get(field)
        refused = now is not None and (now not in RING_SIZES or now > limits[field])
        if size is not None and (now or DEFAULT_RING) != size:
            on_device = backend == "vdpa" and size > DEFAULT_RING
            reason = _DEVICE if on_device else _SAFE
            changes.append(Change(field, old, str(size), safe=not on_device, reason=reason))
        elif size is None and refused and not nic.declared.tuning_is_read:
            # libvirt ignores it for the present model; as virtio the guest would not start with it
            changes.append(Change(field, old, None, safe=True, reason=_NOT_TAKEN))
    return Tuning(tuple(changes), tuple(notes))


def _left_alone(domain: DomainConfig, nic: Nic) -> str | None:
    """Why the policy for rings does not apply to this NIC. Old iPXE and drivers of virtio 0.9:
    VNIC033."""
    if nic.declared.boot_order is not None:
        return _ROM
    if domain.readiness == "ready-transitional":
        return _OLD_DRIVER
    return _PASST if nic.declared.backend_type == "passt" else None


_ENOUGH_ON_S390 = 2
"""IBM recommends queues only with evidence of load; OpenShift's page said to start with 2."""

_ASKED = "the policy asks for it; the guest uses at most one queue pair per vCPU"
_SWITCH = "the switch must offer as many queues, otherwise QEMU does not start"
_OWN_TAP = "a tap that exists before the guest must have been created for several queues"
_MORE_QUEUES = {"vhostuser": (_SWITCH, False), "ethernet": (_OWN_TAP, False)}
"""Backend -> what more queues require, and if they are safe; for any other, more queues need
nothing else."""
_FEWER = "queues beyond what the guest or the backend can use only cost"
_FEWER_ASKED = "the policy asks for it"
_DEVICE_DECIDES = "queue pairs stay as they are: for a vDPA NIC the device decides"
_NO_VCPUS = "no queue pairs are added: the number of vCPUs is unknown"
_ONE_THREAD = "no queue pairs are added: QEMU carries the packets in one thread however many it has"
_SEVERAL = frozenset({None, "vhostuser", *TAP_TYPES})
"""Actual types that can have several queue pairs; None: the network decides, so it may be a tap or
a macvtap."""


class _Queues(NamedTuple):
    """Queue pairs of one NIC: the minimum, the desired number, and notes on reductions."""

    least: int
    desired: int
    notes: tuple[str, ...] = ()


def planned_tuning(
    policy: PolicyTable, domain: DomainConfig, nics: Sequence[Nic], chosen: Mapping[int, Goal]
) -> dict[int, Tuning]:
    """NIC index -> its tuning. ``chosen``: index -> goal of the NICs to be changed, all of which
    are virtio afterwards; the others only count for the vectors. Empty if somebody else owns the
    definition."""
    if domain.owner != "libvirt":
        return {}
    queues = [_queues(policy, domain, nic, chosen.get(nic.index)) for nic in nics]
    most = _most(policy.vectors_max, domain, nics, queues)
    return {
        nic.index: _tuned(policy, domain, nic, goal, pairs, most)
        for nic, pairs in zip(nics, queues, strict=True)
        if (goal := chosen.get(nic.index)) is not None
    }


def _tuned(
    policy: PolicyTable, domain: DomainConfig, nic: Nic, goal: Goal, pairs: _Queues, most: int
) -> Tuning:
    got = max(pairs.least, min(pairs.desired, most))
    notes = list(pairs.notes)
    if got < pairs.desired:
        notes.append(
            f"{got} instead of {pairs.desired} queue pairs: the NICs of the guest would need more "
            f"than {policy.vectors_max} interrupt vectors"
        )
    rings = ring_tuning(policy, domain, nic, backend_of(nic, goal))
    changes = (*_queue_change(nic, goal, got, policy), *rings.changes)
    return Tuning(changes, (*notes, *rings.notes))


def backend_of(nic: Nic, goal: Goal) -> str | None:
    """The actual interface type after the change; None if the network decides it."""
    return nic.declared.actual_type if goal == "virtio" else goal


def _queues(policy: PolicyTable, domain: DomainConfig, nic: Nic, goal: Goal | None) -> _Queues:
    read = nic.declared.tuning_is_read
    now = nic.declared.queues or 1
    if goal is None:
        held = (now if read else 1) if _may_be_virtio(nic) else 0
        return _Queues(held, held)
    if goal == "vdpa":
        return _Queues(now, now, () if policy.queues == "keep" else (_DEVICE_DECIDES,))
    if "queues" in dict(nic.declared.invalid) or "queues" in nic.declared.unseen:
        return _Queues(now, now)
    limits = _limits(domain, nic, goal)
    if not read:  # with the new model, libvirt no longer ignores it
        now = min([now, *limits.values()])
    wanted, notes = _pairs_by_policy(policy, domain, now, limits, _userspace(domain, nic, goal))
    return _Queues(min(now, wanted) if read else 1, wanted, tuple(notes))


def _may_be_virtio(nic: Nic) -> bool:
    """True if a NIC that is left alone may have virtio queues; an assigned device never does."""
    model = model_of(nic)
    return nic.declared.type != "hostdev" and (model is None or model in VIRTIO)


def _limits(domain: DomainConfig, nic: Nic, goal: Goal) -> dict[str, int]:
    """Reason for a limit of queue pairs -> the limit."""
    backend = backend_of(nic, goal)
    if goal == "virtio" and nic.declared.backend_type == "passt":
        return {"passt has one": 1}
    if backend not in _SEVERAL:
        return {f"a NIC of type {backend} has one": 1}
    vcpus = max(domain.vcpus or 0, domain.vcpus_max or 0)
    limits = {f"the guest has {count(vcpus, 'vCPU')} at most": vcpus} if vcpus else {}
    most = queue_limit(backend)
    return limits if most is None else {**limits, "its backend supports no more": most}


def _userspace(domain: DomainConfig, nic: Nic, goal: Goal) -> bool:
    """True if one thread of QEMU carries the packets, however many queues there are."""
    on_tap = backend_of(nic, goal) in (None, *TAP_TYPES)
    return on_tap and (domain.type == "qemu" or nic.declared.driver_name == "qemu")


def _pairs_by_policy(
    policy: PolicyTable, domain: DomainConfig, now: int, limits: Mapping[str, int], userspace: bool
) -> tuple[int, list[str]]:
    """``(pairs, notes)``: the queue pairs that the policy asks for, within the limits, and why
    there are fewer than requested."""
    if policy.queues == "keep":
        return now, []
    if domain.vcpus is None:
        return now if policy.queues == "auto" else min(now, policy.queues), [_NO_VCPUS]
    if policy.queues != "auto":
        # vCPUs that may be plugged in later are a reason to keep queues, but not to add any
        at_start = f"the guest has {count(domain.vcpus, 'vCPU')}", max(now, domain.vcpus)
        return _cut(policy.queues, (at_start, *limits.items()))
    if userspace:
        return now, [_ONE_THREAD]
    most = max(now, min(domain.vcpus, policy.queues_max))
    return _cut(most, (*limits.items(), *_on_s390(domain, now)))


def _on_s390(domain: DomainConfig, now: int) -> Iterator[tuple[str, int]]:
    if domain.arch in S390:
        yield "on s390x, more are only for guests known to be under load", max(now, _ENOUGH_ON_S390)


def _cut(number: int, limits: Iterable[tuple[str, int]]) -> tuple[int, list[str]]:
    reason, limit = min(limits, key=lambda pair: pair[1], default=("", number))
    if number <= limit:
        return number, []
    return limit, [f"{limit} instead of {number} queue pairs: {reason}"]


def _most(
    vectors: int, domain: DomainConfig, nics: Sequence[Nic], queues: Sequence[_Queues]
) -> int:
    """The most queue pairs that any NIC may get with the vectors of all NICs within the limit; 1 if
    the existing ones exceed it."""

    def needed(most: int) -> int:
        return sum(
            _vectors(domain, nic, max(pairs.least, min(pairs.desired, most)))
            for nic, pairs in zip(nics, queues, strict=True)
        )

    top = max((pairs.desired for pairs in queues), default=1)
    return max(1, bisect_right(range(1, top + 1), vectors, key=needed))


def _vectors(domain: DomainConfig, nic: Nic, queues: int) -> int:
    """Interrupt vectors of a virtio NIC; there are none on ccw and virtio-mmio."""
    kind = nic.declared.address_type
    no_pci = kind not in (None, "pci") or (kind is None and domain.arch in S390)
    return 0 if no_pci or not queues else 2 * queues + 2


def _queue_change(nic: Nic, goal: Goal, got: int, policy: PolicyTable) -> tuple[Change, ...]:
    """The change of queues; libvirt treats ``queues='1'`` as unset."""
    now, new = nic.declared.queues, None if got == 1 else str(got)
    if (now or 1) == got:
        return ()
    old = None if now is None else str(now)
    if got < (now or 1):
        asked = policy.queues != "keep" and nic.declared.tuning_is_read
        reason = _FEWER_ASKED if asked else _FEWER
        return (Change("queues", old, new, safe=True, reason=reason),)
    backend = backend_of(nic, goal)
    reason, safe = _MORE_QUEUES.get(backend or "", (_ASKED, True))
    return (Change("queues", old, new, safe=safe, reason=reason),)
