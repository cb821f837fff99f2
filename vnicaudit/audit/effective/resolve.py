"""Resolves a NIC: everything that the guest gets of it, as libvirt and QEMU, KubeVirt or Nova
determine it.

Here are also vhost-net, the interfaces of KubeVirt's manifests, and NICs that QEMU does not
emulate: assigned host devices, NICs of other hypervisors, and NICs whose arguments QEMU refuses.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from vnicaudit.audit.effective.queues import (
    NO_MODEL,
    EmulatedNic,
    ResolvedFact,
    resolve_model,
    resolve_queues,
    resolve_rx,
    resolve_tx,
)
from vnicaudit.audit.effective.server import is_refused, is_refused_assigned, of_server
from vnicaudit.knowledge.backends import (
    DEFAULT_RING,
    DEVICE,
    OWN_PATH,
    TAP_TYPES,
    has_device,
    refused_behind,
    vhost_device,
)
from vnicaudit.knowledge.models import E1000, LEGACY, not_created
from vnicaudit.knowledge.refused_nics import refused_parts
from vnicaudit.knowledge.systems import KVM_DOMAINS, KVM_OR_QEMU, QEMU_DOMAINS
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import S390, VIRTIO
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.kubevirt import MAX_QUEUES, MODELS, REMOVED_BINDINGS, Manifest
from vnicaudit.model.nic import (
    NONE,
    UNKNOWN,
    WORDS,
    Effective,
    NicConfig,
    Resolved,
    RunningNic,
    StartRefusal,
)


class Resolver(Protocol):
    """A function that works out the settings that the guest gets for one NIC. Pure: it depends on
    nothing but its arguments."""

    def __call__(
        self, nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
    ) -> Effective: ...


def resolve(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """The effective facts of one NIC of a definition, or of a command line, as libvirt and QEMU
    determine them."""
    if _is_assigned(nic):
        return _effective_assigned(nic, refused=is_refused_assigned(nic, domain, host, running))
    if domain.type not in QEMU_DOMAINS:
        return _foreign(nic, domain)
    refusal = not_created(nic, domain, host) if running is None else running.refusal
    if (never := _effective_if_refused(nic, refusal, host.qemu_version)) is not None:
        refused = refused_parts(nic, None, domain, host, running)
        return replace(never, starts=never.starts and not refused)
    emulated = EmulatedNic(nic, domain, host, running)
    if not emulated.proven and (why := refused_behind(nic, host)) is not None:
        return _effective_without(nic, f"does not start: {why}")
    model = resolve_model(emulated)
    name = model.value.effective
    vhost, queues = _resolve_vhost(emulated, name), resolve_queues(emulated, name)
    rx, tx = resolve_rx(emulated, name), resolve_tx(emulated, name)
    stopped = any(fact.refused for fact in (model, vhost, queues, rx, tx))
    starts = not (stopped or is_refused(emulated, model.value))
    found = Effective(model.value, vhost.value, queues.value, rx.value, tx.value, starts)
    return _effective_unfilled(found, nic) if nic.unseen else found


def resolve_manifest(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """The effective facts of one interface of a manifest, as KubeVirt determines them."""
    if domain.manifest is None:
        return resolve(nic, domain, host, running)
    if _is_assigned(nic):
        return _effective_assigned(nic, refused=bool(nic.refused))
    return _refused_mac(_of_manifest(nic, domain, domain.manifest, running), nic)


def resolve_server(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> Effective:
    """The effective facts of one port of a server, as Nova determines them."""
    if _is_assigned(nic) or domain.type not in QEMU_DOMAINS or domain.server is None:
        return resolve(nic, domain, host, running)
    return _refused_mac(of_server(nic, domain, domain.server, host), nic)


def _refused_mac(found: Effective, nic: NicConfig) -> Effective:
    """The facts, with ``starts`` false for a multicast MAC: libvirt refuses it in the definition
    that will be made."""
    return replace(found, starts=False) if nic.multicast else found


def wants_vhost_net(
    nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None = None
) -> bool:
    """True if libvirt opens ``/dev/vhost-net`` for this NIC on a host that has it; also False if
    that cannot be determined."""
    if nic.actual_type not in TAP_TYPES or domain.type not in QEMU_DOMAINS:
        return False
    emulated = EmulatedNic(nic, domain, host, running)
    return _opens_vhost_net(emulated, resolve_model(emulated).value.effective)


def uses_of(domain: Domain, host: HostConfig) -> set[str]:
    """The features of its host that a domain's NICs use: actual types, and ``kvm-tap`` if a NIC
    gets vhost-net on a host that has it."""
    uses = {kind for nic in domain.nics if (kind := nic.declared.actual_type) is not None}
    if any(
        wants_vhost_net(nic.declared, domain.declared, host, nic.running) for nic in domain.nics
    ):
        uses.add("kvm-tap")
    return uses


# NICs that QEMU does not emulate, and settings that a template leaves open.


def _is_assigned(nic: NicConfig) -> bool:
    """True for a host device. The transient half of a teaming pair is one even if the network is
    unknown: libvirt starts it as nothing else (qemuDomainValidateActualNetDef)."""
    if nic.type == "network" and nic.actual_type is None:
        return nic.teaming == "transient"
    return "hostdev" in (nic.type, nic.actual_type)


def _effective_assigned(nic: NicConfig, *, refused: bool) -> Effective:
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


def _effective_unfilled(found: Effective, nic: NicConfig) -> Effective:
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


def _foreign(nic: NicConfig, domain: DomainConfig) -> Effective:
    """The NIC of another hypervisor: shown as declared, and not judged."""
    reason = f"not a QEMU domain (type='{domain.type}'): not judged"
    return _as_declared(nic, reason, UNKNOWN)


def _effective_if_refused(
    nic: NicConfig, refusal: StartRefusal | None, qemu: Version | None
) -> Effective | None:
    """The facts of a NIC that QEMU refuses, or does not create; None if it creates it."""
    outcome = None if refusal is None else refusal.outcome(qemu)
    if refusal is None or outcome is None:
        return None
    reason = f"{WORDS[outcome]}: {refusal.reason}"
    return _effective_without(nic, reason, starts=outcome == "missing")


def _effective_without(nic: NicConfig, reason: str, *, starts: bool = False) -> Effective:
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


# Resolution of vhost-net, the kernel's packet path, for a NIC.


def _resolve_vhost(emulated: EmulatedNic, model: str | None) -> ResolvedFact[bool]:
    """Use of vhost-net by a NIC; refused if ``name='vhost'`` requires it on a host without it.
    Evidence from a running QEMU decides: a NIC seen with vhost is never refused it."""
    nic, running = emulated.nic, emulated.running
    declared = None if nic.driver_name is None else nic.driver_name == "vhost"
    if nic.actual_type in OWN_PATH:
        word = "vhost-user" if nic.actual_type == "vhostuser" else "vhost-vDPA"
        reason = f"{word} is the packet path; vhost-net is not used"
        return ResolvedFact(Resolved(declared, None, reason, NONE))
    inferred = _inferred(emulated, model, declared)
    if running is None or running.vhost is None:
        return inferred
    seen = Resolved(declared, running.vhost, f"seen in QEMU's {running.evidence}")
    return ResolvedFact(seen, inferred.refused and not running.vhost)


def _opens_vhost_net(emulated: EmulatedNic, model: str | None) -> bool:
    """True if libvirt opens ``/dev/vhost-net`` for this NIC on a host that has it."""
    if model is None or emulated.nic.actual_type is None:
        return False
    if emulated.domain.type == KVM_OR_QEMU:
        return False
    return _impossible(emulated, model) is None and vhost_device(emulated.nic) == DEVICE


def _inferred(
    emulated: EmulatedNic, model: str | None, declared: bool | None
) -> ResolvedFact[bool]:
    nic = emulated.nic
    if model is None:
        return ResolvedFact(Resolved(declared, None, NO_MODEL, UNKNOWN))
    if (reason := _impossible(emulated, model)) is not None:
        return ResolvedFact(Resolved(declared, False, reason))
    if nic.actual_type is None:
        reason = f"type='{nic.type}': the network's definition would show what it is connected to"
        return ResolvedFact(Resolved(declared, None, reason, UNKNOWN))
    return _by_device(emulated, declared)


def _by_device(emulated: EmulatedNic, declared: bool | None) -> ResolvedFact[bool]:
    device = vhost_device(emulated.nic)
    found = has_device(emulated.nic, emulated.host)
    if found is None or emulated.domain.type == KVM_OR_QEMU:
        reason = (
            "the definition does not prove it; QEMU's command line or its open descriptors would"
        )
        return ResolvedFact(Resolved(declared, None, reason, UNKNOWN))
    if found:
        reason = f"the host has {device}; libvirt uses it for KVM"
        return ResolvedFact(Resolved(declared, True, reason))
    if emulated.tuned and declared:
        reason = f"the host has no {device}, which name='vhost' requires: does not start"
        return ResolvedFact(Resolved(declared, False, reason), refused=True)
    reason = f"the host has no {device}: QEMU copies every packet"
    return ResolvedFact(Resolved(declared, False, reason))


def _impossible(emulated: EmulatedNic, model: str) -> str | None:
    """Why libvirt does not open vhost-net for this NIC on any host; None if it may. The order is
    that of qemuInterfaceOpenVhostNet, as far as the network is known."""
    nic, domain = emulated.nic, emulated.domain
    if model not in VIRTIO:
        return f"{model} is emulated by QEMU; only virtio has vhost"
    if nic.model is not None and not emulated.tuned:
        return f"libvirt opens vhost-net for its own virtio models, not for {nic.model}"
    if nic.actual_type is not None and nic.actual_type not in TAP_TYPES:
        return f"type='{nic.actual_type}' never uses vhost-net"
    if domain.type not in (*KVM_DOMAINS, KVM_OR_QEMU):
        return (
            f"domain type='{domain.type}': libvirt opens vhost-net for KVM only, and silently "
            "ignores name='vhost'"
        )
    if nic.driver_name == "qemu" and emulated.tuned:
        return "switched off by <driver name='qemu'/>"
    return None


# Effective NIC settings that KubeVirt derives from an interface of a manifest.
#
# Sources, all in KubeVirt: ``pkg/virt-launcher/virtwrap/converter/network/configurator.go`` (model,
# queues, driver), ``pkg/instancetype/preference/apply`` (a preference only sets fields that the
# manifest leaves open), ``pkg/network/admitter/netiface.go`` (models that are admitted).


_RENDERED = "KubeVirt: a template decides; the rendered manifest would show it"
_INSTANCE = "KubeVirt: its instance has"
_NO_RING = "KubeVirt: there is no field for it"


def _of_manifest(
    nic: NicConfig, domain: DomainConfig, manifest: Manifest, running: RunningNic | None
) -> Effective:
    """The effective facts of one interface of a manifest, or of the instance that runs."""
    if running is not None and running.evidence != "instance":
        return _as_launched(nic, running)
    model = _model(nic, domain.arch, manifest, running)
    name = model.effective
    vhost = _vhost(nic, name)
    if vhost.state == UNKNOWN and running is not None and running.vhost is not None:
        what = "asked for" if running.vhost else "did not ask for"
        vhost = Resolved(None, running.vhost, f"KubeVirt: its launcher {what} /dev/vhost-net")
    removed = (
        nic.binding in REMOVED_BINDINGS
        and not nic.plugin
        and running is None
        and not manifest.has_removed_bindings
    )
    missing = domain.arch in S390 and name in LEGACY | E1000
    return Effective(
        model,
        vhost,
        _queues(nic, domain, manifest, running, name),
        _ring(name, nic),
        _ring(name, nic),
        starts=not (model.state == NONE or removed or missing or nic.refused),
    )


def _as_launched(nic: NicConfig, running: RunningNic) -> Effective:
    """The effective facts of an interface whose launcher told with what QEMU was started."""
    model, told = running.model, "the launcher's QEMU was started with it"
    vhost = _vhost(nic, model)
    if vhost.state == UNKNOWN and running.vhost is not None:
        vhost = Resolved(None, running.vhost, f"the launcher's QEMU: by its {running.evidence}")
    rx, tx = running.rx_queue_size, running.tx_queue_size
    return Effective(
        Resolved(nic.model, model, told),
        vhost,
        Resolved(None, running.queues or 1, told),
        _ring(model, nic) if rx is None else Resolved(None, rx, told),
        _ring(model, nic) if tx is None else Resolved(None, tx, told),
    )


def _model(
    nic: NicConfig, arch: str | None, manifest: Manifest, running: RunningNic | None
) -> Resolved[str]:
    if nic.plugin and nic.actual_type != "ethernet":
        reason = f"KubeVirt: the binding plugin {(nic.binding or '')[:40]!r} makes the device"
        return Resolved(nic.model, None, reason, UNKNOWN)
    if running is not None:
        if not running.model:
            return Resolved(nic.model, None, f"{_INSTANCE} another binding than the VM", UNKNOWN)
        old = running.model == "virtio-transitional"
        found = _admitted("virtio" if old else running.model, "as its instance has it")
        return replace(_translated(found, arch, transitional=old), declared=nic.model)
    if "model" in nic.unseen:
        return Resolved(None, None, _RENDERED, UNKNOWN)
    if nic.model is not None:
        found = _admitted(nic.model, "as the interface says")
        found = _translated(found, arch, transitional=manifest.transitional)
        return replace(found, declared=nic.model)
    if not manifest.preference_read:
        reason = (
            f"KubeVirt: the interface names no model; preference {manifest.preference!r}, which "
            "is not here, would show it"
        )
        return Resolved(None, None, reason, UNKNOWN)
    if manifest.preferred_model:
        reason = f"preferredInterfaceModel of preference {manifest.preference!r}"
        found = _admitted(manifest.preferred_model, reason)
        return _translated(found, arch, transitional=manifest.transitional)
    found = _admitted("virtio", "its default")
    return _translated(found, arch, transitional=manifest.transitional)


def _admitted(model: str, reason: str) -> Resolved[str]:
    if model not in MODELS:
        return Resolved(None, None, f"KubeVirt: refuses {model[:40]!r} as a model", NONE)
    return Resolved(None, model, f"KubeVirt: {reason}")


def _translated(found: Resolved[str], arch: str | None, *, transitional: bool) -> Resolved[str]:
    """The model in libvirt's words: KubeVirt's ``virtio`` is a virtio 1.0 device, or with
    ``useVirtioTransitional`` a transitional one, on architectures with PCI; on s390x it stays
    virtio (``TransitionalModelType`` in ``converter/arch``)."""
    if found.effective != "virtio" or arch in S390:
        return found
    if transitional:
        reason = f"{found.reason}, and useVirtioTransitional"
        return replace(found, effective="virtio-transitional", reason=reason)
    return replace(found, effective="virtio-non-transitional")


def _vhost(nic: NicConfig, model: str | None) -> Resolved[bool]:
    if nic.actual_type in ("vhostuser", "vdpa"):
        reason = f"KubeVirt: {nic.binding} is the packet path; vhost-net is not used"
        return Resolved(None, None, reason, NONE)
    if model is None:
        return Resolved(None, None, "depends on the model, which is not known", UNKNOWN)
    if model not in VIRTIO:
        return Resolved(None, False, f"{model} is emulated by QEMU; only virtio has vhost")
    if nic.actual_type == "user":
        return Resolved(None, False, "slirp never uses vhost-net")
    reason = (
        "KubeVirt: asks the node for /dev/vhost-net unless emulation is allowed; the running QEMU "
        "would show it"
    )
    return Resolved(None, None, reason, UNKNOWN)


def _queues(
    nic: NicConfig,
    domain: DomainConfig,
    manifest: Manifest,
    running: RunningNic | None,
    model: str | None,
) -> Resolved[int]:
    if model is None:
        return Resolved(None, None, "depends on the model, which is not known", UNKNOWN)
    if model not in VIRTIO:
        return Resolved(None, 1, f"{model} has one queue")
    if nic.actual_type != "ethernet":
        return Resolved(None, 1, "KubeVirt: multiqueue is for its tap devices only")
    if running is not None:
        if running.queues is None:
            return Resolved(None, None, f"{_INSTANCE} multiqueue, and reports no number", UNKNOWN)
        return Resolved(None, running.queues, "KubeVirt: as its instance has it")
    if not manifest.multiqueue_read:
        reason = "KubeVirt: a template or a preference that is not here may set multiqueue"
        return Resolved(None, None, reason, UNKNOWN)
    if not manifest.multiqueue:
        return Resolved(None, 1, "KubeVirt: networkInterfaceMultiqueue is not set: one queue pair")
    if domain.vcpus is None:
        reason = "KubeVirt: one queue pair per vCPU; how many vCPUs is not known"
        return Resolved(None, None, reason, UNKNOWN)
    reason = f"KubeVirt: networkInterfaceMultiqueue: one per vCPU, {MAX_QUEUES} at most"
    return Resolved(None, min(domain.vcpus, MAX_QUEUES), reason)


def _ring(model: str | None, nic: NicConfig) -> Resolved[int]:
    if model is None or nic.actual_type == "vdpa":
        return Resolved(None, None, "depends on the device, which is not known", UNKNOWN)
    if model not in VIRTIO:
        return Resolved(None, None, f"{model} has no virtio ring", NONE)
    return Resolved(None, DEFAULT_RING, f"{_NO_RING}: QEMU's default")
