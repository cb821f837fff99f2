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

import msgspec

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
from vnicaudit.knowledge.systems import (
    KERNEL_NAME,
    LINUX,
    MAC_NAME,
    SYSTEMD_NAME,
    VIRTIO_DRIVERS,
    WINDOWS,
    Scheme,
    System,
    is_virtio,
    model_of,
    name_by_address,
    same_place,
    scheme_of,
)
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import S390, VIRTIO, Change, name_of
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Goal, Naming

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


def ring_changes(
    policy: PolicyTable, domain: DomainConfig, nic: Nic, backend: str | None
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The changes, and notes on reductions. ``backend`` is the interface type after the change; see
    :func:`vnicaudit.knowledge.backends.tx_limit`."""
    wanted: dict[str, int] = {}
    notes: list[str] = []
    if policy.rx_queue_size != "keep":
        wanted["rx_queue_size"] = policy.rx_queue_size
    if policy.tx_queue_size != "keep":
        size = wanted["tx_queue_size"] = min(policy.tx_queue_size, tx_limit(backend))
        if size < policy.tx_queue_size:
            notes.append(_TAP.format(policy.tx_queue_size))
    reason = _left_alone(domain, nic)
    if wanted and reason is not None:
        wanted, notes = {}, [reason]
    changes = (
        *_changes(nic, backend, wanted),
        *_not_taken(nic, backend, wanted),
    )
    return changes, tuple(notes)


def _left_alone(domain: DomainConfig, nic: Nic) -> str | None:
    """Why the policy for rings does not apply to this NIC. Old iPXE and drivers of virtio 0.9:
    VNIC033."""
    if nic.declared.boot_order is not None:
        return _ROM
    if domain.readiness == "ready-transitional":
        return _OLD_DRIVER
    return _PASST if nic.declared.backend_type == "passt" else None


def _changes(nic: Nic, backend: str | None, wanted: dict[str, int]) -> Iterator[Change]:
    sizes = _sizes(nic)
    for field, size in wanted.items():
        now = sizes[field]
        if _unreadable(nic, field) or (now or DEFAULT_RING) == size:
            continue
        on_device = backend == "vdpa" and size > DEFAULT_RING
        yield Change(
            field,
            None if now is None else str(now),
            str(size),
            safe=not on_device,
            reason=_DEVICE if on_device else _SAFE,
        )


def _not_taken(nic: Nic, backend: str | None, wanted: dict[str, int]) -> Iterator[Change]:
    """Removal of sizes that libvirt ignores for the present model, and with which the guest would
    not start once it is virtio."""
    if nic.declared.tuning_is_read:
        return
    limits = {"rx_queue_size": MAX_RING, "tx_queue_size": tx_limit(backend)}
    for field, now in _sizes(nic).items():
        if now is None or field in wanted or _unreadable(nic, field):
            continue
        if now not in RING_SIZES or now > limits[field]:
            yield Change(field, str(now), None, safe=True, reason=_NOT_TAKEN)


def _sizes(nic: Nic) -> dict[str, int | None]:
    declared = nic.declared
    return {"rx_queue_size": declared.rx_queue_size, "tx_queue_size": declared.tx_queue_size}


def _unreadable(nic: Nic, field: str) -> bool:
    """True if the field is not a number, or is left to a template: it is never replaced unseen."""
    return field in dict(nic.declared.invalid) or field in nic.declared.unseen


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
_KEPT_ELSEWHERE = "queues and rings are set by the owner of the definition ({})"
_DEVICE_DECIDES = "queue pairs stay as they are: for a vDPA NIC the device decides"
_NO_VCPUS = "no queue pairs are added: the number of vCPUs is unknown"
_ONE_THREAD = "no queue pairs are added: QEMU carries the packets in one thread however many it has"
_SEVERAL = frozenset({None, "vhostuser", *TAP_TYPES})
"""Actual types that can have several queue pairs; None: the network decides, so it may be a tap or
a macvtap."""


class NicTuning(msgspec.Struct, frozen=True):
    """The queues and rings that the policy gives to one NIC. ``notes``: where a number was
    reduced, and why."""

    index: int
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


class Tuning(msgspec.Struct, frozen=True):
    """The queues and rings that the policy gives to the chosen NICs of a domain."""

    nics: tuple[NicTuning, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> dict[int, tuple[Change, ...]]:
        """Index of a NIC -> its changes, for NICs that have any."""
        return {nic.index: nic.changes for nic in self.nics if nic.changes}


class _Queues(NamedTuple):
    """Queue pairs of one NIC: the minimum, the desired number, and notes on reductions."""

    least: int
    desired: int
    notes: tuple[str, ...] = ()


def planned_tuning(
    policy: PolicyTable, domain: DomainConfig, nics: Sequence[Nic], chosen: Mapping[int, Goal]
) -> Tuning:
    """The tuning of a domain's NICs. ``chosen``: index -> goal of the NICs to be changed, all of
    which are virtio afterwards; the others only count for the vectors. Nothing changes if somebody
    else owns the definition."""
    ours = domain.owner == "libvirt"
    if not ours:
        chosen = {}
    queues = [_queues(policy, domain, nic, chosen.get(nic.index)) for nic in nics]
    most = _most(policy.vectors_max, domain, nics, queues)
    found = tuple(
        _tuned(policy, domain, nic, goal, pairs, most)
        for nic, pairs in zip(nics, queues, strict=True)
        if (goal := chosen.get(nic.index)) is not None
    )
    return Tuning(found, () if ours else (_KEPT_ELSEWHERE.format(name_of(domain.owner)),))


def _tuned(
    policy: PolicyTable, domain: DomainConfig, nic: Nic, goal: Goal, pairs: _Queues, most: int
) -> NicTuning:
    got = max(pairs.least, min(pairs.desired, most))
    notes = list(pairs.notes)
    if got < pairs.desired:
        notes.append(
            f"{got} instead of {pairs.desired} queue pairs: the NICs of the guest would need more "
            f"than {policy.vectors_max} interrupt vectors"
        )
    rings, cut = ring_changes(policy, domain, nic, backend_of(nic, goal))
    changes = (*_queue_change(nic, goal, got, policy), *rings)
    return NicTuning(nic.index, changes, (*notes, *cut))


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
        return _cut(policy.queues, (*_at_start(domain, now), *limits.items()))
    if userspace:
        return now, [_ONE_THREAD]
    most = max(now, min(domain.vcpus, policy.queues_max))
    return _cut(most, (*limits.items(), *_on_s390(domain, now)))


def _on_s390(domain: DomainConfig, now: int) -> Iterator[tuple[str, int]]:
    if domain.arch in S390:
        yield "on s390x, more are only for guests known to be under load", max(now, _ENOUGH_ON_S390)


def _at_start(domain: DomainConfig, now: int) -> Iterator[tuple[str, int]]:
    """The limit by vCPUs at start: vCPUs that may be plugged in later are a reason to keep queues,
    but not to add any."""
    vcpus = domain.vcpus or 0
    yield f"the guest has {count(vcpus, 'vCPU')}", max(now, vcpus)


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


# The name of an interface in the guest, before and after a change.
#
# The present name is known if the guest's agent reports it. Every other name is a prediction, which
# says how it was made and for which guests it holds, or is left open with the reason.


_Prediction = tuple[str | None, str]
"""A name, and how it was found; or None, and what the name depends on."""

_AGENT = "the guest agent reports the current name"
_STAYS = "driver and address stay the same, so the name does too"
_NOT_KNOWN = "the guest's naming scheme is unknown"
_PREDICTED = (
    "{} is predicted, if systemd (197 or newer, without net.ifnames=0) names the interfaces, the "
    "default of its distribution"
)
_NO_ADDRESS = (
    "systemd derives the name from the guest's own numbering of addresses, which is unknown"
)
_KERNEL_ONLY = (
    "{} is predicted: the kernel names NICs in the order it finds them, and this is the only one"
)
_KERNEL = "the kernel names NICs in the order it finds them, which depends on their drivers"
_ADDRESS_STAYS = "systemd derives it from the address, which stays the same"
_WHATEVER = "the address stays the same, and so does any name derived from it"
_MAC_STAYS = "systemd derives it from the MAC address, which stays the same"
_ETH = (
    "this system calls virtio NICs ethN, unless the kernel is started with net.ifnames=1 or a file "
    "ifcfg-* has their HWADDR (Red Hat solution 3219091)"
)
_MAY_BE_ETH = (
    "if it stays the same, so does a name derived from it, except in systems that call virtio NICs "
    "ethN, such as Red Hat Enterprise Linux 7"
)
_OWN = "it is a custom name, and stays if it is assigned by MAC address"
NEW_ADAPTER = "Windows creates a new adapter for the new device, with another name"
_BY_DRIVER = "this system names interfaces after their driver"


def naming(domain: Domain, system: System, before: Nic, after: Nic, today: str | None) -> Naming:
    """The names before and after a change; ``today`` is the agent's name for the interface, if it
    reports one. ``before`` and ``after`` are the NIC of the definition before and after."""
    now, why = (today, _AGENT) if today is not None else _predicted(domain, system, before)
    if same_device(before, after):
        reason = _STAYS if now is None else f"{why}; {_STAYS}"
        return Naming(now, now, reason, same_device=True)
    later, then = _later(domain, system, before, after, today)
    return Naming(now, later, why if then == why else f"{why}; {then}")


def same_device(before: Nic, after: Nic) -> bool:
    """True if the guest finds the same device: the same model at the same address. Without an
    address in the definition, libvirt gives the same address to the same model."""
    return (
        model_of(before) == model_of(after)
        and before.address == after.address
        and before.declared.address_type == after.declared.address_type
    )


def called_otherwise(
    system: System, before: Nic, after: Nic, called: Naming, today: str | None
) -> bool:
    """True if the interface will have another name: because both names are known or predicted, or
    because another part of the guest will choose the name. False if nothing indicates that."""
    if same_device(before, after):
        return False
    if system.family == WINDOWS:
        return True
    if called.changes is not None:
        return called.changes
    if system.family not in (LINUX, None):
        return is_virtio(before) != is_virtio(after)
    by_systemd = _style(system, before, today) == "systemd" or (
        today is not None and MAC_NAME.fullmatch(today) is not None
    )
    return by_systemd and scheme_of(system, after) == "kernel"


def only_nic(domain: Domain) -> bool:
    """True if the guest has only one NIC."""
    return max(domain.declared.nics, len(domain.nics)) == 1


def _predicted(domain: Domain, system: System, nic: Nic) -> _Prediction:
    if system.family not in (LINUX, None):
        return None, "the guest agent does not report the current name"
    scheme = scheme_of(system, nic)
    if scheme is None:
        return None, _NOT_KNOWN
    return _by_kernel(domain) if scheme == "kernel" else _by_systemd(domain, nic)


def _by_systemd(domain: Domain, nic: Nic) -> _Prediction:
    name = name_by_address(nic, domain.nics, domain.declared)
    return (None, _NO_ADDRESS) if name is None else (name, _PREDICTED.format(name))


def _by_kernel(domain: Domain) -> _Prediction:
    return ("eth0", _KERNEL_ONLY.format("eth0")) if only_nic(domain) else (None, _KERNEL)


def _later(
    domain: Domain, system: System, before: Nic, after: Nic, today: str | None
) -> _Prediction:
    if system.family == WINDOWS:
        return None, NEW_ADAPTER
    if system.family not in (LINUX, None):
        return _by_driver(domain, system.family)
    if today is not None and MAC_NAME.fullmatch(today):
        known = scheme_of(system, after) == "systemd" or is_virtio(before)
        return (today, _MAC_STAYS) if known else _not_by_address(system, after)
    style = _style(system, before, today)
    if style == "systemd":
        return _renamed(domain, system, before, after, today)
    if style == "kernel":
        if only_nic(domain) and today not in (None, "eth0"):
            return None, _OWN  # the only NIC, yet not eth0: a rule of the guest named it
        return _by_kernel(domain)
    return None, _OWN if today is not None else _NOT_KNOWN


def _style(system: System, before: Nic, today: str | None) -> Scheme | None:
    """The part of the guest that names this NIC now; None: another one, or unknown."""
    if today is None:
        return scheme_of(system, before)
    if KERNEL_NAME.fullmatch(today):
        return "kernel"
    return "systemd" if SYSTEMD_NAME.fullmatch(today) else None


def _renamed(
    domain: Domain, system: System, before: Nic, after: Nic, today: str | None
) -> _Prediction:
    """``(name, reason)``: the predicted name of an interface that systemd named after an address;
    None: unknown."""
    if not is_virtio(before) and scheme_of(system, after) != "systemd":
        return _not_by_address(system, after)
    if not same_place(before, after):
        return _by_systemd(domain, after)
    if today is not None:
        return today, _ADDRESS_STAYS
    name, why = _by_systemd(domain, before)
    return (name, why) if name is not None else (None, _WHATEVER)


def _not_by_address(system: System, after: Nic) -> _Prediction:
    return None, _ETH if scheme_of(system, after) == "kernel" else _MAY_BE_ETH


def _by_driver(domain: Domain, family: str | None) -> _Prediction:
    name = f"{VIRTIO_DRIVERS[family or '']}0" if only_nic(domain) else None
    return name, _BY_DRIVER
