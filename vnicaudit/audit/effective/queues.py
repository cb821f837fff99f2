"""How many queue pairs a NIC has."""

from __future__ import annotations

from vnicaudit.audit.effective.given import NO_MODEL, NOT_READ, Given, Outcome
from vnicaudit.model.backends import SINGLE_QUEUE, queue_limit
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.models import VIRTIO


def resolve_queues(given: Given, model: str | None) -> Outcome[int]:
    """Queue pairs; refused where the backend has fewer than are declared. What QEMU runs
    decides how many there are."""
    inferred = _inferred(given, model)
    if given.running is None or given.running.queues is None:
        return inferred
    count = given.running.queues
    reason = f"QEMU runs {_pairs(count)}{_idle(count, given.domain)}"
    return Outcome(Resolved(given.nic.queues, count, reason), inferred.refused)


def _inferred(given: Given, model: str | None) -> Outcome[int]:
    declared = given.nic.queues
    if model is None:
        return Outcome(Resolved(declared, None, NO_MODEL, UNKNOWN))
    if model not in VIRTIO:
        dropped = "; libvirt drops queues= on it" if declared is not None else ""
        return Outcome(Resolved(declared, 1, f"{model} has one queue{dropped}"))
    if given.unreadable("queues"):
        return _refused(None, "queues= is not a number: libvirt refuses the definition")
    if declared is None:
        return Outcome(Resolved(None, 1, "none declared: one queue pair"))
    if not given.tuned:
        return Outcome(Resolved(declared, 1, NOT_READ))
    if declared <= 1:
        return Outcome(Resolved(declared, 1, "one queue pair"))
    return _several(given, declared)


def _several(given: Given, declared: int) -> Outcome[int]:
    kind = given.nic.actual_type
    limit = queue_limit(kind)
    if kind in SINGLE_QUEUE:
        return _refused(declared, f"libvirt refuses to start: type='{kind}' has no multiqueue")
    if limit is not None and declared > limit:
        device = "a vhost-user NIC" if kind == "vhostuser" else "a tap device"
        return _refused(declared, f"{device} has {limit} queues at most: does not start")
    if kind == "vdpa":
        reason = "as declared; QEMU 10 takes the device's own number of queue pairs"
        return Outcome(Resolved(declared, declared, reason))
    return Outcome(Resolved(declared, declared, "as declared" + _idle(declared, given.domain)))


def _refused(declared: int | None, reason: str) -> Outcome[int]:
    return Outcome(Resolved(declared, None, reason, NONE), refused=True)


def _pairs(count: int) -> str:
    return "one queue pair" if count == 1 else f"{count} queue pairs"


def _idle(queues: int, domain: DomainConfig) -> str:
    vcpus = domain.vcpus_max or domain.vcpus
    if vcpus is None or queues <= vcpus:
        return ""
    return f"; {queues - vcpus} of them idle, the guest has {vcpus} vCPU{'s' if vcpus > 1 else ''}"
