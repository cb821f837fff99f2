"""The size of rings that a plan gives to a NIC."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.knowledge.backends import tx_limit
from vnicaudit.knowledge.rings import DEFAULT_RING, MAX_RING, RING_SIZES
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic

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
