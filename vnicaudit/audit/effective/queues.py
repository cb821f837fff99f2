"""The number of queue pairs of a NIC."""

from __future__ import annotations

from vnicaudit.audit.effective.emulated_nic import (
    NO_MODEL,
    NOT_READ,
    WHOSE,
    EmulatedNic,
    ResolvedFact,
)
from vnicaudit.base.wording import count
from vnicaudit.knowledge.backends import SINGLE_QUEUE, queue_limit
from vnicaudit.knowledge.rings import queue_pairs
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.guest_words import MAYBE, VIRTIO


def resolve_queues(emulated: EmulatedNic, model: str | None) -> ResolvedFact[int]:
    """Queue pairs; refused if the backend supports fewer than are declared. A running QEMU decides
    the number, and proves that there can be as many."""
    refusal = _refusal(emulated)
    if emulated.proven and not emulated.unreadable("queues"):
        refusal = None
    running = None if emulated.running is None else emulated.running.queues
    if running is None:
        return ResolvedFact(_inferred(emulated, model, refusal), refusal is not None)
    reason = f"QEMU runs {queue_pairs(running)}{_idle(running, emulated.domain)}"
    if emulated.running is not None and emulated.running.lacks_mq:
        reason += ": mq=on is missing in its -device"
    return ResolvedFact(Resolved(emulated.nic.queues, running, reason), refusal is not None)


def _refusal(emulated: EmulatedNic) -> str | None:
    """Why libvirt or QEMU does not start with the declared number; None if they do."""
    declared, kind = emulated.nic.queues or 1, emulated.nic.actual_type
    limit = queue_limit(kind)
    if emulated.unreadable("queues"):
        return "queues= is not a number: libvirt refuses the definition"
    if not emulated.tuned or declared <= 1:
        return None
    if kind in SINGLE_QUEUE:
        return f"libvirt refuses to start: type='{kind}' has no multiqueue"
    if limit is not None and declared > limit:
        device = "a vhost-user NIC" if kind == "vhostuser" else "a tap device"
        return f"{device} has {limit} queues at most: does not start"
    return None


def _inferred(emulated: EmulatedNic, model: str | None, refusal: str | None) -> Resolved[int]:
    declared = emulated.nic.queues
    if model is None:
        return Resolved(declared, None, NO_MODEL, UNKNOWN)
    if model not in VIRTIO:
        dropped = "; libvirt drops queues= on it" if declared is not None else ""
        return Resolved(declared, 1, f"{model} has one queue{dropped}")
    if refusal is not None:
        return Resolved(declared, None, refusal, NONE)
    if declared is None:
        return Resolved(None, 1, "none declared: one queue pair")
    if not emulated.tuned:
        return Resolved(declared, 1, NOT_READ)
    if declared <= 1:
        return Resolved(declared, 1, "one queue pair")
    mq = emulated.override("mq")
    if mq is not None and mq.text == MAYBE:
        return Resolved(declared, None, WHOSE.format(mq.by), UNKNOWN)
    if mq is not None and mq.text in ("", "false", "off"):
        return Resolved(declared, 1, f"{mq.by} removes multiqueue (mq) from the device")
    if emulated.nic.actual_type == "vdpa":
        reason = "as declared; QEMU 10 takes the device's own number of queue pairs"
        return Resolved(declared, declared, reason)
    return Resolved(declared, declared, "as declared" + _idle(declared, emulated.domain))


def _idle(queues: int, domain: DomainConfig) -> str:
    vcpus = domain.vcpus_max or domain.vcpus
    if vcpus is None or queues <= vcpus:
        return ""
    return f"; {queues - vcpus} of them idle, the guest has {count(vcpus, 'vCPU')}"
