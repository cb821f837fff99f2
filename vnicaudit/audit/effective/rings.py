"""The sizes of a NIC's receive and transmit rings, in descriptors."""

from __future__ import annotations

from typing import Literal

from vnicaudit.audit.effective.given import (
    NO_MODEL,
    NOT_READ,
    WHOSE,
    Given,
    Outcome,
)
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import MAYBE, Behind
from vnicaudit.model.rings import (
    DEFAULT_RING,
    MAX_RING,
    RING_SIZES,
    STRICT_TX_QEMU,
    as_ring,
    ring_behind,
    tx_limit,
)

_Field = Literal["rx_queue_size", "tx_queue_size"]


def resolve_rx(given: Given, model: str | None) -> Outcome[int]:
    """The receive ring; refused where libvirt or QEMU does not take the size."""
    return _resolve(given, model, "rx_queue_size", MAX_RING)


def resolve_tx(given: Given, model: str | None) -> Outcome[int]:
    """The transmit ring; refused as the other, and where its backend has less and QEMU minds."""
    return _resolve(given, model, "tx_queue_size", tx_limit(given.nic.actual_type))


def _resolve(given: Given, model: str | None, field: _Field, limit: int) -> Outcome[int]:
    declared: int | None = getattr(given.nic, field)
    size = None if given.running is None else getattr(given.running, field)
    refusal = _refusal(given, field, declared, limit)
    if given.runs and declared not in RING_SIZES:
        refusal = None  # what no QEMU takes does not run: it is not what is declared
    if given.proven and size is not None and (given.runs or refusal is None):
        return Outcome(_seen(declared, size, limit), refusal is not None)
    behind = ring_behind(given.nic, field, declared=bool(declared) and given.tuned)
    if behind is not None and model in VIRTIO and refusal is None:
        return _overridden(given, behind, limit)
    return Outcome(_inferred(given, model, field, limit, refusal), refusal is not None)


def _refusal(given: Given, field: _Field, declared: int | None, limit: int) -> str | None:
    """Why libvirt or QEMU does not take what is declared; None where it does."""
    if not given.tuned:
        return None
    if given.unreadable(field):
        return f"{field}= is not a number: libvirt refuses the definition"
    if declared is None or (declared == 0 and given.nic.origin == "interface"):
        return None  # to libvirt 0 is as good as none
    return _refused_by_qemu(given, declared, limit)


def _refused_by_qemu(given: Given, size: int, limit: int) -> str | None:
    if size not in RING_SIZES:
        return "does not start: a ring is a power of two from 256 to 1024"
    version = given.host.qemu_version
    if size > limit and version is not None and version >= STRICT_TX_QEMU:
        return f"QEMU {version} refuses to start"
    return None


def _overridden(given: Given, behind: Behind, limit: int) -> Outcome[int]:
    """The ring as it is set behind libvirt's settings; ``<driver>`` then says nothing."""
    text, by = behind.text, behind.by
    if text == MAYBE:
        return Outcome(Resolved(None, None, WHOSE.format(by), UNKNOWN))
    if not text:
        return Outcome(Resolved(None, DEFAULT_RING, f"{by} leaves QEMU's default"))
    size = as_ring(text)
    if (refusal := _refused_by_qemu(given, size, limit)) is not None:
        return Outcome(Resolved(None, None, f"{by}: {refusal}", NONE), refused=True)
    if size > limit:
        return Outcome(Resolved(None, limit, f"{by}: {_cut(given, limit)}"))
    return Outcome(Resolved(None, size, f"set by {by}"))


def _seen(declared: int | None, size: int, limit: int) -> Resolved[int]:
    """The ring of a QEMU by its arguments: more than the backend's maximum no guest ever gets
    (QEMU before 8.1 cuts it down, later ones do not start)."""
    if size <= limit:
        return Resolved(declared, size, "from QEMU's arguments")
    reason = f"QEMU was given {size}; its backend has {limit} at most"
    return Resolved(declared, limit, reason)


def _inferred(
    given: Given, model: str | None, field: _Field, limit: int, refusal: str | None
) -> Resolved[int]:
    declared: int | None = getattr(given.nic, field)
    if model is None:
        return Resolved(declared, None, NO_MODEL, UNKNOWN)
    if model not in VIRTIO:
        dropped = f"; libvirt drops {field}= on it" if declared is not None else ""
        return Resolved(declared, None, f"{model} has no virtio ring{dropped}", NONE)
    if refusal is not None:
        return Resolved(declared, None, refusal, NONE)
    if not declared:
        return Resolved(declared, DEFAULT_RING, "none declared: QEMU's default")
    if not given.tuned:
        return Resolved(declared, DEFAULT_RING, NOT_READ)
    if declared > limit:
        return Resolved(declared, limit, _cut(given, limit))
    return Resolved(declared, declared, "as declared")


def _cut(given: Given, limit: int) -> str:
    version = given.host.qemu_version
    if version is not None:
        return f"QEMU {version} cuts it down silently"
    kind = given.nic.actual_type or given.nic.type
    return (
        f"type='{kind}' has {limit} at most: QEMU before 8.1 cuts it down silently, later "
        "ones do not start"
    )
