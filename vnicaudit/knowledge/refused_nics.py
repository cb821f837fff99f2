"""NICs with which libvirt does not define a domain, or does not start it, because of their settings
and the machine around them. What is reported and what ``nics`` says of a start come from here.

Measured with libvirt 9.0 and QEMU 7.2 on ``pc``, ``q35``, ``microvm``, ``isapc``, s390x and
riscv64, and with libvirt 11.3 and QEMU 10.0 on pseries and ARM: each value on each machine was
defined and started.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.backends import OWN_PATH
from vnicaudit.knowledge.models import (
    PCI,
    USB,
    bus_of,
    default_model,
    machine_buses,
    misplaced_by_address,
)
from vnicaudit.knowledge.systems import (
    MODERN_ZPCI,
    is_board,
    is_i440fx,
    is_q35,
    may_be_modern_zpci,
    modern_only_slot,
)
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import ARM, PPC64, S390, VIRTIO
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import DefinitionRefusal, NicConfig, RunningNic, on_ccw

VHOSTUSER_DEFAULT = Version(11, 1)
"""libvirt before this version requires ``<model type='virtio'/>`` for ``type='vhostuser'`` (NEWS
11.1.0)."""

_VDPA_MODELS = Version(9, 1)
"""libvirt 9.0 refuses ``virtio-transitional`` and ``virtio-non-transitional`` on ``type='vdpa'``,
and 11.3 takes them (both measured)."""

_PCI_OPTIONS = ("ats", "page_per_vq")
"""Properties of virtio-pci only: refused elsewhere whatever their value is."""
_WITHOUT_PCI = {
    "isapc": " (only ne2k_isa with <address type='isa'/> works there)",
    "microvm": " (only virtio with <address type='virtio-mmio'/> works there)",
}
"""Measured with libvirt 12.8 and QEMU 11.1."""


def refused_parts(
    nic: NicConfig,
    model: str | None,
    domain: DomainConfig,
    host: HostConfig,
    running: RunningNic | None,
) -> tuple[DefinitionRefusal, ...]:
    """The parts of an ``<interface>`` with which the domain cannot be defined or does not start.
    ``model``: the effective one, None if it is unknown. What libvirt wrote or runs it has defined,
    and what runs has started."""
    if nic.origin != "interface" or running is not None or domain.form == "live":
        return ()
    found = (*nic.refused, *_by_place(nic, model, domain, host))
    return tuple(
        one
        for one in found
        if (one.at_start or domain.as_written)
        and one.applies(host.libvirt_version, host.qemu_version)
    )


def bus_of_nic(nic: NicConfig, model: str | None, domain: DomainConfig, arch: str | None) -> str:
    """The type of the address that a NIC has, or that libvirt gives it; empty if unknown."""
    if nic.address_type not in (None, "", "none"):
        return nic.address_type or ""
    if model is None or arch is None or is_board(domain):
        return ""
    if arch in S390 and model in VIRTIO:
        return "ccw"
    if model == "usb-net":
        return "usb"
    if model == "spapr-vlan":
        return "spapr-vio"
    return "" if arch in ARM else "pci"


def takes_only_virtio(kind: str | None, model: str, host: HostConfig) -> bool:
    """True if this libvirt is known to refuse the model on such an interface, which has no emulated
    device: vhost-user or vDPA."""
    if kind not in OWN_PATH:
        return False
    version = host.libvirt_version
    if kind == "vdpa" and version is not None and version < _VDPA_MODELS:
        return model != "virtio"
    return model not in VIRTIO


def lacks_model(nic: NicConfig, domain: DomainConfig, host: HostConfig) -> bool:
    """True if this libvirt is known to refuse a vhost-user NIC for lack of a model: before 11.1,
    where the machine's default is not virtio."""
    version, arch = host.libvirt_version, domain.arch or host.arch
    if nic.type != "vhostuser" or nic.model is not None or version is None or arch is None:
        return False
    return version < VHOSTUSER_DEFAULT and default_model(arch, domain.machine) not in VIRTIO


def _by_place(
    nic: NicConfig, model: str | None, domain: DomainConfig, host: HostConfig
) -> Iterator[DefinitionRefusal]:
    arch = domain.arch or host.arch
    # libvirt moves spapr-vlan from any address to one of spapr-vio
    if nic.model != "spapr-vlan" and (channel := on_ccw(nic.address_type, arch)) is not None:
        yield channel
        return
    if lacks_model(nic, domain, host):
        why = f"libvirt {host.libvirt_version} needs a model on type='vhostuser'"
        yield DefinitionRefusal("model", why)
    if nic.type == "hostdev" and arch in S390 and nic.model in VIRTIO and not nic.address_type:
        why = f"an assigned device with {nic.model} and no PCI address is put on a channel"
        yield DefinitionRefusal("model", why)
    if nic.type == "hostdev" and _lacks_pci(domain, arch):
        why = f"{domain.machine} has no PCI, which an assigned device needs"
        yield DefinitionRefusal("source", why)
    if model is None or nic.type == "hostdev":
        return
    if nic.teaming == "persistent" and nic.model is None and model not in VIRTIO:
        yield DefinitionRefusal(
            "teaming", f"<teaming type='persistent'> is for virtio, and the default is {model}"
        )
    bus = bus_of_nic(nic, model, domain, arch)
    yield from _on_machine(nic, model, domain, bus, arch)
    if bus not in ("pci", ""):
        yield from _off_pci(nic, model, bus)
    elif bus == "pci" and nic.iommu == "on" and _speaks_legacy(nic, model, domain, host, arch):
        why = f"iommu='on' is for virtio 1.0 only, and {model} also speaks virtio 0.9 here"
        yield DefinitionRefusal("driver/@iommu", why, at_start=True)


def _on_machine(
    nic: NicConfig, model: str, domain: DomainConfig, bus: str, arch: str | None
) -> Iterator[DefinitionRefusal]:
    """On a machine without PCI, or at an address for other devices."""
    place = "address/@type" if nic.address_type else "model/@type"
    if _lacks_pci(domain, arch):
        if bus == "pci":
            way = _WITHOUT_PCI.get(domain.machine or "", "")
            yield DefinitionRefusal(
                place, f"{domain.machine} has no PCI, which this NIC needs{way}"
            )
            return
        if bus and bus_of(model) in (PCI, USB):
            why = f"{model} needs {bus_of(model)}, which {domain.machine} does not have"
            yield DefinitionRefusal(place, why, at_start=True)
            return
    if nic.model is None and nic.address_type is not None:
        reason = misplaced_by_address(model, nic.address_type, arch, domain.machine)
        if reason is not None:
            yield DefinitionRefusal("address/@type", reason, at_start=True)


def _lacks_pci(domain: DomainConfig, arch: str | None) -> bool:
    buses = machine_buses(arch, domain.machine)
    return buses is not None and PCI not in buses


def _off_pci(nic: NicConfig, model: str, bus: str) -> Iterator[DefinitionRefusal]:
    for tag, value in (("rom", nic.rom), ("acpi", nic.acpi)):
        if value is not None:
            yield DefinitionRefusal(tag, f"<{tag}> is for PCI devices, and this NIC is on {bus}")
    if model in VIRTIO and bus in ("ccw", "virtio-mmio"):
        for name in _PCI_OPTIONS:
            if getattr(nic, name) in ("on", "off"):
                yield DefinitionRefusal(
                    f"driver/@{name}",
                    f"{name} is for virtio on PCI, and this NIC is on {bus}",
                    at_start=True,
                )


def _speaks_legacy(
    nic: NicConfig, model: str, domain: DomainConfig, host: HostConfig, arch: str | None
) -> bool:
    """True if a virtio NIC on PCI is known to be a transitional device (``VIRTIO_F_IOMMU_PLATFORM
    was supported by neither legacy nor transitional device``)."""
    if model == "virtio" and arch in S390 and may_be_modern_zpci(domain.machine):
        return host.qemu_version is not None and host.qemu_version < MODERN_ZPCI
    if model != "virtio" or arch in S390 | PPC64 or is_i440fx(domain):
        return model in ("virtio", "virtio-transitional")
    return is_q35(domain) and modern_only_slot(nic, domain) is False
