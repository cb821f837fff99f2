"""The sizes of a NIC's receive and transmit rings, in descriptors."""

from __future__ import annotations

from typing import Literal

from vnicaudit.audit.effective.emulated_nic import (
    NO_MODEL,
    NOT_READ,
    WHOSE,
    EmulatedNic,
    ResolvedFact,
)
from vnicaudit.knowledge.backends import STRICT_TX_QEMU, tx_limit
from vnicaudit.knowledge.rings import (
    DEFAULT_RING,
    MAX_RING,
    RING_SIZES,
    as_ring,
    ring_behind,
)
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.guest_words import MAYBE, VIRTIO
from vnicaudit.model.nic import Behind

_Field = Literal["rx_queue_size", "tx_queue_size"]


def resolve_rx(emulated: EmulatedNic, model: str | None) -> ResolvedFact[int]:
    """The receive ring; refused if libvirt or QEMU does not accept the size."""
    return _resolve(emulated, model, "rx_queue_size", MAX_RING)


def resolve_tx(emulated: EmulatedNic, model: str | None) -> ResolvedFact[int]:
    """The transmit ring; also refused if its backend supports less and this QEMU is strict about
    it."""
    return _resolve(emulated, model, "tx_queue_size", tx_limit(emulated.nic.actual_type))


def _resolve(
    emulated: EmulatedNic, model: str | None, field: _Field, limit: int
) -> ResolvedFact[int]:
    declared: int | None = getattr(emulated.nic, field)
    size = None if emulated.running is None else getattr(emulated.running, field)
    refusal = _refusal(emulated, field, declared, limit)
    if emulated.runs and declared not in RING_SIZES:
        refusal = None  # no QEMU runs with such a size: it cannot be the declared one
    if emulated.proven and size is not None and (emulated.runs or refusal is None):
        return ResolvedFact(_ring_by_arguments(declared, size, limit), refusal is not None)
    behind = ring_behind(emulated.nic, field, declared=bool(declared) and emulated.tuned)
    if behind is not None and model in VIRTIO and refusal is None:
        return _overridden(emulated, behind, limit)
    return ResolvedFact(_inferred(emulated, model, field, limit, refusal), refusal is not None)


def _refusal(emulated: EmulatedNic, field: _Field, declared: int | None, limit: int) -> str | None:
    """Why libvirt or QEMU does not accept the declared size; None if it does."""
    if not emulated.tuned:
        return None
    if emulated.unreadable(field):
        return f"{field}= is not a number: libvirt refuses the definition"
    if declared is None or (declared == 0 and emulated.nic.origin == "interface"):
        return None  # libvirt treats 0 as unset
    return _refused_by_qemu(emulated, declared, limit)


def _refused_by_qemu(emulated: EmulatedNic, size: int, limit: int) -> str | None:
    if size not in RING_SIZES:
        return "does not start: a ring is a power of two from 256 to 1024"
    version = emulated.host.qemu_version
    if size > limit and version is not None and version >= STRICT_TX_QEMU:
        return f"QEMU {version} refuses to start"
    return None


def _overridden(emulated: EmulatedNic, behind: Behind, limit: int) -> ResolvedFact[int]:
    """The ring as set behind libvirt's back (``<qemu:override>``, ``-set``), which replaces
    ``<driver>``."""
    text, by = behind.text, behind.by
    if text == MAYBE:
        return ResolvedFact(Resolved(None, None, WHOSE.format(by), UNKNOWN))
    if not text:
        return ResolvedFact(Resolved(None, DEFAULT_RING, f"{by} leaves QEMU's default"))
    size = as_ring(text)
    if (refusal := _refused_by_qemu(emulated, size, limit)) is not None:
        return ResolvedFact(Resolved(None, None, f"{by}: {refusal}", NONE), refused=True)
    if size > limit:
        return ResolvedFact(Resolved(None, limit, f"{by}: {_cut_reason(emulated, limit)}"))
    return ResolvedFact(Resolved(None, size, f"set by {by}"))


def _ring_by_arguments(declared: int | None, size: int, limit: int) -> Resolved[int]:
    """The ring by QEMU's arguments: no guest ever gets more than the backend's maximum (QEMU before
    8.1 reduces it, later versions do not start)."""
    if size <= limit:
        return Resolved(declared, size, "from QEMU's arguments")
    reason = f"QEMU was started with {size}; the backend supports {limit} at most"
    return Resolved(declared, limit, reason)


def _inferred(
    emulated: EmulatedNic, model: str | None, field: _Field, limit: int, refusal: str | None
) -> Resolved[int]:
    declared: int | None = getattr(emulated.nic, field)
    if model is None:
        return Resolved(declared, None, NO_MODEL, UNKNOWN)
    if model not in VIRTIO:
        dropped = f"; libvirt drops {field}= on it" if declared is not None else ""
        return Resolved(declared, None, f"{model} has no virtio ring{dropped}", NONE)
    if refusal is not None:
        return Resolved(declared, None, refusal, NONE)
    if not declared:
        return Resolved(declared, DEFAULT_RING, "none declared: QEMU's default")
    if not emulated.tuned:
        return Resolved(declared, DEFAULT_RING, NOT_READ)
    if declared > limit:
        return Resolved(declared, limit, _cut_reason(emulated, limit))
    return Resolved(declared, declared, "as declared")


def _cut_reason(emulated: EmulatedNic, limit: int) -> str:
    version = emulated.host.qemu_version
    if version is not None:
        return f"QEMU {version} silently reduces it"
    kind = emulated.nic.actual_type or emulated.nic.type
    return (
        f"type='{kind}' has {limit} at most: QEMU before 8.1 silently reduces it, later ones do "
        "not start"
    )
