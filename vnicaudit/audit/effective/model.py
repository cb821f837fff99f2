"""The device model of a NIC: declared, running, or libvirt's default."""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.audit.effective.emulated_nic import WHOSE, EmulatedNic, ResolvedFact
from vnicaudit.knowledge.backends import OWN_PATH
from vnicaudit.knowledge.binaries import lacks, misplaced
from vnicaudit.knowledge.machines import is_board
from vnicaudit.knowledge.models import QEMU_MODELS, default_model, model_of_driver, shown_model
from vnicaudit.knowledge.refused_nics import lacks_model, takes_only_virtio
from vnicaudit.model.definition_refusal import is_misspelt
from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.guest_words import MAYBE, X86
from vnicaudit.model.nic import Behind
from vnicaudit.model.version import Version

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
