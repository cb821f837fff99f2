"""The device a NIC is: declared, running, or libvirt's default."""

from __future__ import annotations

from vnicaudit.audit.default_model import default_model
from vnicaudit.audit.effective.given import Given, Outcome
from vnicaudit.model.backends import OWN_PATH
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.models import QEMU_MODELS, VIRTIO, model_of_driver, shown_model
from vnicaudit.model.version import Version

VHOSTUSER_DEFAULT = Version(11, 1)
"""libvirt before it demands ``<model type='virtio'/>`` of ``type='vhostuser'`` (NEWS 11.1.0)."""


def resolve_model(given: Given) -> Outcome[str]:
    """libvirt's name of the device, the one that runs first of all; refused where no QEMU has it
    or libvirt wants one written."""
    nic, running = given.nic, given.running
    if running is not None:
        reason = f"QEMU runs -device {running.driver}"
        return Outcome(Resolved(nic.model, running.model, reason), _must_be_written(given))
    if nic.model is not None:
        return _declared(nic.model, nic.type)
    return _on_own_path(given) if nic.type in OWN_PATH else Outcome(_default(given))


def _must_be_written(given: Given) -> bool:
    """Whether this libvirt refuses the NIC for having no model."""
    version = given.host.libvirt_version
    if given.nic.type != "vhostuser" or given.nic.model is not None:
        return False
    return version is not None and version < VHOSTUSER_DEFAULT


def _declared(model: str, kind: str) -> Outcome[str]:
    name = model_of_driver(model)
    if kind in OWN_PATH and model not in VIRTIO:
        # qemuValidateDomainDeviceDefNetwork: "invalid model for interface of type '…'"
        reason = f"libvirt refuses {shown_model(model)} on type='{kind}', which takes virtio only"
        return Outcome(Resolved(model, None, reason, NONE), refused=True)
    same = name == model
    reason = "as declared" if same else f"libvirt hands it to QEMU as it is: -device {model}"
    return Outcome(Resolved(model, name, reason), refused=name not in QEMU_MODELS)


def _on_own_path(given: Given) -> Outcome[str]:
    kind = given.nic.type
    if _must_be_written(given):
        reason = f"libvirt {given.host.libvirt_version} refuses type='vhostuser' without a model"
        return Outcome(Resolved(None, None, reason, NONE), refused=True)
    since = "6.9" if kind == "vdpa" else "11.1"
    reason = f"libvirt's default for type='{kind}' since {since}"
    return Outcome(Resolved(None, "virtio", reason))


def _default(given: Given) -> Resolved[str]:
    nic, domain = given.nic, given.domain
    arch = domain.arch or given.host.arch
    if arch is None:
        reason = (
            "no model and no architecture declared: x86 would make it rtl8139, s390x virtio; the "
            "architecture of the host or libvirt's dumpxml would tell"
        )
        return Resolved(None, None, reason, UNKNOWN)
    where = f"{arch} {domain.machine or ''}".strip()
    reason = f"no model declared: libvirt's default on {where}"
    if nic.type == "network" and nic.actual_type is None:
        reason += " (unless the network hands out host devices)"
    return Resolved(None, default_model(arch, domain.machine), reason)
