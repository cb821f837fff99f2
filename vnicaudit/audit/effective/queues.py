"""The number of queue pairs of a NIC."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import count
from vnicaudit.knowledge.backends import (
    DEFAULT_RING,
    MAX_RING,
    OWN_PATH,
    RING_SIZES,
    SINGLE_QUEUE,
    STRICT_TX_QEMU,
    as_ring,
    queue_limit,
    queue_pairs,
    ring_behind,
    tx_limit,
)
from vnicaudit.knowledge.models import (
    QEMU_MODELS,
    default_model,
    lacks,
    misplaced,
    model_of_driver,
    shown_model,
)
from vnicaudit.knowledge.refused_nics import lacks_model, takes_only_virtio
from vnicaudit.knowledge.systems import is_board
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import DESCRIPTORS, LOG, MAYBE, VIRTIO, X86
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import NONE, UNKNOWN, Behind, NicConfig, Resolved, RunningNic, is_misspelt

# A NIC that QEMU emulates, as resolvers see it, and the fact that a resolver returns.


T = TypeVar("T")

NOT_READ = "libvirt reads <driver> only when <model type='virtio'/> is written"
WHOSE = "{} changes it on this NIC or another one: the running guest's aliases would show which"
NO_MODEL = "depends on the model, which is not known"


class EmulatedNic(NamedTuple):
    """A NIC that QEMU emulates, and the facts that affect it."""

    nic: NicConfig
    domain: DomainConfig
    host: HostConfig
    running: RunningNic | None

    @property
    def proven(self) -> bool:
        """True if a running QEMU proves that the NIC starts, on the versions judged for."""
        return self.running is not None and not self.host.assumed

    @property
    def runs(self) -> bool:
        """True if :attr:`proven`, and not by arguments alone, which may be from a start that failed
        (a log, a pasted line, ``<qemu:commandline>``)."""
        if not self.proven or self.running is None:
            return False
        if self.nic.origin == "interface":
            return self.running.evidence != LOG
        return self.running.evidence == DESCRIPTORS

    @property
    def arch(self) -> str | None:
        """The guest's architecture; the host's if the definition names none."""
        return self.domain.arch or self.host.arch

    @property
    def tuned(self) -> bool:
        """True if libvirt reads ``<driver>`` of this NIC."""
        return self.nic.tuning_is_read

    def override(self, name: str) -> Behind | None:
        """The setting of ``<qemu:override>`` or ``-set`` for this property; None without one."""
        return next((one for one in self.nic.behind if one.name == name), None)

    def unreadable(self, field: str) -> bool:
        """True if libvirt reads the field, and refuses its text."""
        return self.tuned and any(name == field for name, _text in self.nic.invalid)


class ResolvedFact(msgspec.Struct, Generic[T], frozen=True):
    """One fact, resolved. ``refused``: libvirt or QEMU is known not to start it at the next start
    as declared, whatever runs now."""

    value: Resolved[T]
    refused: bool = False


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


# The device model of a NIC: declared, running, or libvirt's default.


VDPA_LIBVIRT, VDPA_QEMU = Version(6, 9), Version(5, 1)
"""The first versions with ``type='vdpa'`` (libvirt NEWS 6.9.0; ``QEMU_CAPS_NETDEV_VHOST_VDPA``)."""


def resolve_model(emulated: EmulatedNic) -> ResolvedFact[str]:
    """libvirt's name of the device model; a running one comes first. Refused if no QEMU has it, or
    libvirt requires another one to be declared."""
    nic, running = emulated.nic, emulated.running
    if running is not None:
        value = Resolved(nic.model, running.model, f"QEMU runs -device {running.driver}")
        refusal = None if emulated.proven else _refused_type(emulated)
        return ResolvedFact(value, (refusal or _refused_model(emulated, running.model)) is not None)
    if (driver := emulated.override("driver")) is not None:
        return ResolvedFact(Resolved(None, None, _overridden(driver), UNKNOWN))
    if (reason := _refused_type(emulated)) is not None:
        return ResolvedFact(Resolved(nic.model, None, reason, NONE), refused=True)
    value = _default(emulated) if nic.model is None else _declared(nic.model)
    if (reason := _refused_model(emulated, value.effective)) is not None:
        return ResolvedFact(replace(value, reason=reason), refused=True)
    return ResolvedFact(value)


def _overridden(driver: Behind) -> str:
    if driver.text == MAYBE:
        return WHOSE.format(driver.by)
    return f"{driver.by} gives QEMU another driver: its command line would show it"


def _refused_type(emulated: EmulatedNic) -> str | None:
    """Why libvirt refuses such an interface, or this model for it; None if it accepts it."""
    nic, host = emulated.nic, emulated.host
    if nic.type not in OWN_PATH:
        return None
    if nic.model is not None and takes_only_virtio(nic.type, nic.model, host):
        # qemuValidateDomainDeviceDefNetwork: "invalid model for interface of type '…'"
        shown = shown_model(nic.model)
        return f"libvirt refuses {shown} on type='{nic.type}', which accepts only virtio"
    if nic.type == "vdpa":
        return _without_vdpa("libvirt", host.libvirt_version, VDPA_LIBVIRT) or _without_vdpa(
            "QEMU", host.qemu_version, VDPA_QEMU
        )
    if lacks_model(nic, emulated.domain, host):
        return f"libvirt {host.libvirt_version} refuses type='vhostuser' without a model"
    return None


def _without_vdpa(program: str, version: Version | None, first: Version) -> str | None:
    if version is None or version >= first:
        return None
    since = f"{first.major}.{first.minor}"
    return f"{program} {version} has no type='vdpa' (added in {since}): does not start"


def _refused_model(emulated: EmulatedNic, model: str | None) -> str | None:
    """Why QEMU does not start with this device; None if it does, as far as is known. ARM boards
    have other names for NICs."""
    if emulated.proven or is_board(emulated.domain):
        return None
    written = emulated.nic.model if emulated.nic.origin == "interface" else None
    if written is not None and is_misspelt(emulated.nic.refused):
        return f"libvirt refuses the name {shown_model(written)}"
    if written is not None and written not in QEMU_MODELS:
        return f"{shown_model(written)} is not a QEMU NIC model: does not start"
    for name in (written, model):
        if name is not None and _runs_all_the_same(emulated, name):
            continue
        if name is not None and lacks(name, emulated.arch, emulated.host.qemu_version):
            version = emulated.host.qemu_version
            where = "" if emulated.arch is None else f" on {emulated.arch}"
            return f"QEMU{f' {version}' if version else ''} has no {name}{where}: does not start"
    if written is not None:
        reason = misplaced(emulated.nic, emulated.domain, emulated.host)
        return None if reason is None else f"{reason}: does not start"
    return None


def _runs_all_the_same(emulated: EmulatedNic, model: str) -> bool:
    """True if a running guest has a model that no stock x86 QEMU offers: its QEMU is a custom
    build."""
    if emulated.running is None or emulated.nic.origin == "interface" or emulated.arch not in X86:
        return False
    return lacks(model, emulated.arch, None)


def _declared(model: str) -> Resolved[str]:
    name = model_of_driver(model)
    same = name == model
    reason = "as declared" if same else f"libvirt passes it to QEMU unchanged: -device {model}"
    return Resolved(model, name, reason)


def _default(emulated: EmulatedNic) -> Resolved[str]:
    nic, domain, arch = emulated.nic, emulated.domain, emulated.arch
    if nic.type in OWN_PATH:
        since = "6.9" if nic.type == "vdpa" else "11.1"
        return Resolved(None, "virtio", f"libvirt's default for type='{nic.type}' since {since}")
    if arch is None:
        reason = (
            "no model and no architecture declared: rtl8139 on x86, virtio on s390x; the "
            "architecture of the host or libvirt's dumpxml would show it"
        )
        return Resolved(None, None, reason, UNKNOWN)
    where = f"{arch} {domain.machine or ''}".strip()
    reason = f"no model declared: libvirt's default on {where}"
    if nic.type == "network" and nic.actual_type is None:
        reason += " (unless the network hands out host devices)"
    return Resolved(None, default_model(arch, domain.machine), reason)


# The sizes of a NIC's receive and transmit rings, in descriptors.


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
    refusal = _ring_refusal(emulated, field, declared, limit)
    if emulated.runs and declared not in RING_SIZES:
        refusal = None  # no QEMU runs with such a size: it cannot be the declared one
    if emulated.proven and size is not None and (emulated.runs or refusal is None):
        return ResolvedFact(_ring_by_arguments(declared, size, limit), refusal is not None)
    behind = ring_behind(emulated.nic, field, declared=bool(declared) and emulated.tuned)
    if behind is not None and model in VIRTIO and refusal is None:
        return _overridden_ring(emulated, behind, limit)
    return ResolvedFact(_inferred_ring(emulated, model, field, limit, refusal), refusal is not None)


def _ring_refusal(
    emulated: EmulatedNic, field: _Field, declared: int | None, limit: int
) -> str | None:
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


def _overridden_ring(emulated: EmulatedNic, behind: Behind, limit: int) -> ResolvedFact[int]:
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


def _inferred_ring(
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
