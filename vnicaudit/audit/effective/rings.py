"""The sizes of a NIC's receive and transmit rings, in descriptors."""

from __future__ import annotations

from vnicaudit.audit.effective.given import NO_MODEL, NOT_READ, Given, Outcome
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.rings import DEFAULT_RING, MAX_RING, RING_SIZES, STRICT_TX_QEMU, tx_limit


def resolve_rx(given: Given, model: str | None) -> Outcome[int]:
    """The receive ring; refused where libvirt or QEMU does not take the size."""
    declared = given.nic.rx_queue_size
    if given.proven and given.running is not None and given.running.rx_queue_size is not None:
        return _running(declared, given.running.rx_queue_size, MAX_RING)
    given_up = _not_set(given, model, "rx_queue_size", declared)
    return given_up or Outcome(Resolved(declared, declared, "as declared"))


def resolve_tx(given: Given, model: str | None) -> Outcome[int]:
    """The transmit ring; refused as the other, and where its backend has less and QEMU minds."""
    declared = given.nic.tx_queue_size
    limit = tx_limit(given.nic.actual_type)
    if given.proven and given.running is not None and given.running.tx_queue_size is not None:
        return _running(declared, given.running.tx_queue_size, limit)
    given_up = _not_set(given, model, "tx_queue_size", declared)
    if given_up is not None or declared is None or declared <= limit:
        return given_up or Outcome(Resolved(declared, declared, "as declared"))
    return _too_large(given, declared, limit)


def _running(declared: int | None, size: int, limit: int) -> Outcome[int]:
    """The ring of a QEMU by its arguments: more than the backend's maximum no guest ever gets
    (QEMU before 8.1 cuts it down, later ones do not start)."""
    if size <= limit:
        return Outcome(Resolved(declared, size, "from QEMU's arguments"))
    reason = f"QEMU was given {size}; its backend has {limit} at most"
    return Outcome(Resolved(declared, limit, reason))


def _not_set(
    given: Given, model: str | None, field: str, declared: int | None
) -> Outcome[int] | None:
    """The ring where the declaration does not set it; None where it does."""
    if model is None:
        return Outcome(Resolved(declared, None, NO_MODEL, UNKNOWN))
    if model not in VIRTIO:
        dropped = f"; libvirt drops {field}= on it" if declared is not None else ""
        return Outcome(Resolved(declared, None, f"{model} has no virtio ring{dropped}", NONE))
    if given.unreadable(field):
        return _refused(None, f"{field}= is not a number: libvirt refuses the definition")
    if not declared:
        return Outcome(Resolved(declared, DEFAULT_RING, "none declared: QEMU's default"))
    if not given.tuned:
        return Outcome(Resolved(declared, DEFAULT_RING, NOT_READ))
    if declared not in RING_SIZES:
        return _refused(declared, "does not start: a ring is a power of two from 256 to 1024")
    return None


def _too_large(given: Given, declared: int, limit: int) -> Outcome[int]:
    version = given.host.qemu_version
    if version is None:
        kind = given.nic.actual_type or given.nic.type
        reason = (
            f"type='{kind}' has {limit} at most: QEMU before 8.1 cuts it down silently, later "
            "ones do not start"
        )
        return Outcome(Resolved(declared, limit, reason))
    if version < STRICT_TX_QEMU:
        return Outcome(Resolved(declared, limit, f"QEMU {version} cuts it down silently"))
    return _refused(declared, f"QEMU {version} refuses to start")


def _refused(declared: int | None, reason: str) -> Outcome[int]:
    return Outcome(Resolved(declared, None, reason, NONE), refused=True)
