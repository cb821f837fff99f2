"""Effective NIC settings that KubeVirt derives from an interface of a manifest.

Sources, all in KubeVirt: ``pkg/virt-launcher/virtwrap/converter/network/configurator.go`` (model,
queues, driver), ``pkg/instancetype/preference/apply`` (a preference only sets fields that the
manifest leaves open), ``pkg/network/admitter/netiface.go`` (models that are admitted).
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.knowledge.models import E1000, LEGACY
from vnicaudit.knowledge.rings import DEFAULT_RING
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.effective import NONE, UNKNOWN, Effective, Resolved
from vnicaudit.model.guest_words import S390, VIRTIO
from vnicaudit.model.kubevirt import MAX_QUEUES, MODELS, REMOVED_BINDINGS, Manifest
from vnicaudit.model.nic import NicConfig

_RENDERED = "KubeVirt: a template decides; the rendered manifest would show it"
_NO_RING = "KubeVirt: there is no field for it"


def of_manifest(nic: NicConfig, domain: DomainConfig, manifest: Manifest) -> Effective:
    """The effective facts of one interface of a manifest."""
    model = _model(nic, domain.arch, manifest)
    name = model.effective
    removed = nic.binding in REMOVED_BINDINGS and not nic.plugin
    missing = domain.arch in S390 and name in LEGACY | E1000
    return Effective(
        model,
        _vhost(nic, name),
        _queues(nic, domain, manifest, name),
        _ring(name, nic),
        _ring(name, nic),
        starts=not (model.state == NONE or removed or missing or nic.refused),
    )


def _model(nic: NicConfig, arch: str | None, manifest: Manifest) -> Resolved[str]:
    if nic.plugin and nic.actual_type != "ethernet":
        reason = f"KubeVirt: the binding plugin {(nic.binding or '')[:40]!r} makes the device"
        return Resolved(nic.model, None, reason, UNKNOWN)
    if "model" in nic.unseen:
        return Resolved(None, None, _RENDERED, UNKNOWN)
    if nic.model is not None:
        found = _admitted(nic.model, "as the interface says")
        return replace(_translated(found, arch, manifest), declared=nic.model)
    if not manifest.preference_read:
        reason = (
            f"KubeVirt: the interface names no model; preference {manifest.preference!r}, which "
            "is not here, would show it"
        )
        return Resolved(None, None, reason, UNKNOWN)
    if manifest.preferred_model:
        reason = f"preferredInterfaceModel of preference {manifest.preference!r}"
        return _translated(_admitted(manifest.preferred_model, reason), arch, manifest)
    return _translated(_admitted("virtio", "its default"), arch, manifest)


def _admitted(model: str, reason: str) -> Resolved[str]:
    if model not in MODELS:
        return Resolved(None, None, f"KubeVirt: refuses {model[:40]!r} as a model", NONE)
    return Resolved(None, model, f"KubeVirt: {reason}")


def _translated(found: Resolved[str], arch: str | None, manifest: Manifest) -> Resolved[str]:
    """The model in libvirt's words: KubeVirt's ``virtio`` is a virtio 1.0 device, or with
    ``useVirtioTransitional`` a transitional one, on architectures with PCI; on s390x it stays
    virtio (``TransitionalModelType`` in ``converter/arch``)."""
    if found.effective != "virtio" or arch in S390:
        return found
    if manifest.transitional:
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
    nic: NicConfig, domain: DomainConfig, manifest: Manifest, model: str | None
) -> Resolved[int]:
    if model is None:
        return Resolved(None, None, "depends on the model, which is not known", UNKNOWN)
    if model not in VIRTIO:
        return Resolved(None, 1, f"{model} has one queue")
    if nic.actual_type != "ethernet":
        return Resolved(None, 1, "KubeVirt: multiqueue is for its tap devices only")
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
