"""NICs that QEMU does not emulate: assigned host devices, NICs of other hypervisors, and NICs whose
arguments QEMU refuses."""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.model.definition_refusal import WORDS, StartRefusal
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import NONE, UNKNOWN, Effective, Resolved
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.version import Version


def is_assigned(nic: NicConfig) -> bool:
    """True for a host device. The transient half of a teaming pair is one even if the network is
    unknown: libvirt starts it as nothing else (qemuDomainValidateActualNetDef)."""
    if nic.type == "network" and nic.actual_type is None:
        return nic.teaming == "transient"
    return "hostdev" in (nic.type, nic.actual_type)


def effective_assigned(nic: NicConfig, *, refused: bool) -> Effective:
    """An assigned device of the host, without any virtio settings. ``refused``: libvirt is known
    not to start it."""
    reason = "passed through: no virtio device"
    return Effective(
        model=_assigned_model(nic),
        vhost=Resolved(None, None, reason, NONE),
        queues=Resolved(nic.queues, None, "set by the adapter and the guest's driver", NONE),
        rx_queue_size=Resolved(nic.rx_queue_size, None, reason, NONE),
        tx_queue_size=Resolved(nic.tx_queue_size, None, reason, NONE),
        starts=not refused,
    )


def _assigned_model(nic: NicConfig) -> Resolved[str]:
    if nic.origin == "hostdev" and nic.teaming is None:
        reason = (
            "an assigned PCI device; its class on the host (0x02…) tells whether it is a network "
            "adapter"
        )
        return Resolved(None, None, reason, UNKNOWN)
    reason = "passed through: the guest drives the host's device itself"
    return Resolved(nic.model, None, reason, NONE)


_DECIDES_MODEL = frozenset({"model", "type", "*"})
_DECIDES_VHOST = frozenset({"driver_name", "backend_type", "backend_vhost", "source_mode"})

_TEMPLATE = "a template decides it"
_MODEL_UNSEEN = Resolved[str](None, None, _TEMPLATE, UNKNOWN)
_VHOST_UNSEEN = Resolved[bool](None, None, _TEMPLATE, UNKNOWN)
_UNSEEN = Resolved[int](None, None, _TEMPLATE, UNKNOWN)


def effective_unfilled(found: Effective, nic: NicConfig) -> Effective:
    """The facts of a NIC, with those unresolved that a template decides."""
    unseen = frozenset(nic.unseen)
    if unseen & _DECIDES_MODEL:
        return Effective(_MODEL_UNSEEN, _VHOST_UNSEEN, _UNSEEN, _UNSEEN, _UNSEEN)
    return Effective(
        model=found.model,
        vhost=_VHOST_UNSEEN if unseen & _DECIDES_VHOST else found.vhost,
        queues=_UNSEEN if "queues" in unseen else found.queues,
        rx_queue_size=_UNSEEN if "rx_queue_size" in unseen else found.rx_queue_size,
        tx_queue_size=_UNSEEN if "tx_queue_size" in unseen else found.tx_queue_size,
        starts=found.starts,
    )


def foreign(nic: NicConfig, domain: DomainConfig) -> Effective:
    """The NIC of another hypervisor: shown as declared, and not judged."""
    reason = f"not a QEMU domain (type='{domain.type}'): not judged"
    return _as_declared(nic, reason, UNKNOWN)


def effective_if_refused(
    nic: NicConfig, refusal: StartRefusal | None, qemu: Version | None
) -> Effective | None:
    """The facts of a NIC that QEMU refuses, or does not create; None if it creates it."""
    outcome = None if refusal is None else refusal.outcome(qemu)
    if refusal is None or outcome is None:
        return None
    reason = f"{WORDS[outcome]}: {refusal.reason}"
    return effective_without(nic, reason, starts=outcome == "missing")


def effective_without(nic: NicConfig, reason: str, *, starts: bool = False) -> Effective:
    """The facts of a NIC that the guest does not get, with the reason."""
    return replace(_as_declared(nic, reason, NONE), starts=starts)


def _as_declared(nic: NicConfig, reason: str, state: str) -> Effective:
    """The settings as declared, all of them unresolved for one reason."""
    return Effective(
        model=Resolved(nic.model, None, reason, state),
        vhost=Resolved(None, None, reason, state),
        queues=Resolved(nic.queues, None, reason, state),
        rx_queue_size=Resolved(nic.rx_queue_size, None, reason, state),
        tx_queue_size=Resolved(nic.tx_queue_size, None, reason, state),
    )
