"""Models that QEMU's binaries lack, by architecture and version, and models that libvirt puts on a
bus where they cannot be.

Sources: ``qemu-system-x86_64 -device help`` of QEMU 7.2 and 10.0; ``qemu-system-s390x`` measured
with 7.2.22 (virtio only), 10.0.2 and 10.0.13 (e1000e, igb and usb-net too). Buses: every model on
pc, q35, s390x, the ``virt`` machines of ARM, RISC-V and LoongArch and pseries, with each type of
address, defined with libvirt 9.0 and started with QEMU 7.2.
"""

from __future__ import annotations

from vnicaudit.knowledge.buses import CCW, ISA, PCI, USB, VIRTIO_BUS, VIRTIO_PCI, bus_of
from vnicaudit.knowledge.machines import is_board
from vnicaudit.knowledge.models import model_of_driver
from vnicaudit.model.definition_refusal import NIC_REWORK, StartRefusal
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.guest_words import ARM, PPC64, RISCV, S390, VIRTIO, X86
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.version import Version

IGB = Version(8, 0)
"""The first QEMU with igb."""

_S390_LATER = frozenset({"e1000e", "igb", "usb-net"})
_S390_SINCE = Version(7, 3)
"""Up to the 7.2 series the s390x binary has only virtio; 10.0 has these, too. About the versions in
between nothing is known."""

USB_NET = Version(10, 3)
"""The first libvirt that knows usb-net; an older one looks for a PCI slot for it, and finds
none."""
_LAN9118 = Version(11, 4)
"""The first libvirt that may pass lan9118 as ``-net nic`` without an address (12.8 does so; 11.3
puts it on PCI, where QEMU refuses it)."""

_ON_PCI_ONLY = frozenset({"virtio-transitional", "virtio-non-transitional"})
_OTHER_BUSES = frozenset({CCW, VIRTIO_BUS, ISA})
"""Buses of QEMU's devices that libvirt, if it does not know the model, wrongly puts on PCI."""
_NO_NETDEV = frozenset({"rocker", "vfio-pci"})
"""Devices that cannot be connected to a ``-netdev``."""
_WITHOUT_MMIO = X86 | S390 | PPC64
_NOT_ON_CCW = VIRTIO_PCI | {"virtio-net-device"}
_ALONE = {"isa": ISA, "usb": USB}
"""Type of an address -> the bus of the only NICs that can have such an address."""
_NOT_VIRTIO_S = frozenset({"drive", "virtio-serial", "ccid", "spapr-vio", "dimm"})
"""``Unexpected address type for 'virtio-net'``."""
_ARM_BUSES = frozenset({None, "", "none", "pci", "virtio-mmio", "ccw"})
"""Types of addresses with which ARM's ``virt`` gets a NIC as ``-device``; ccw is refused."""
_ADDRESSES = {"ccw": "the channel subsystem", "virtio-mmio": "virtio-mmio"}

_ON_BOARD = frozenset({"lan9118", "smc91c111", "scm91c111", "ftgmac100", "xgmac", "dp8393x"})
_SUN = ("sunhme", "sungem")
_ABSENT = {
    **dict.fromkeys(X86 | RISCV, _ON_BOARD | {"spapr-vlan", "virtio-net-ccw", *_SUN}),
    **dict.fromkeys(ARM, frozenset({"spapr-vlan", "virtio-net-ccw", *_SUN})),
    **dict.fromkeys(PPC64, _ON_BOARD | {"virtio-net-ccw", "sunhme"}),
}
"""Architecture -> models that no QEMU has there, because they belong to other boards and buses."""


def absent_on(model: str, arch: str | None) -> bool:
    """True if no QEMU of this architecture has this model, as far as is known."""
    if arch in S390:
        return model_of_driver(model) not in VIRTIO and model not in _S390_LATER
    return model in _ABSENT.get(arch or "", ())


def first_with(model: str, arch: str | None) -> Version | None:
    """The first QEMU of this architecture that may have the model; None if no version is known to
    lack it."""
    if arch in S390:
        return _S390_SINCE if model in _S390_LATER else None
    return IGB if model == "igb" else None


def misplaced(nic: NicConfig, domain: DomainConfig, host: HostConfig) -> str | None:
    """The reason why the model of an ``<interface>`` cannot be where libvirt puts it, so that the
    guest does not start; None if it can, and on machines that were not measured."""
    model, address = nic.model or "", nic.address_type
    arch = domain.arch or host.arch
    if model in _ON_PCI_ONLY:
        where = address or ("ccw" if arch in S390 else "pci")
        if where in ("pci", "none"):
            return None
        bus = _ADDRESSES.get(where, f"an address of type {where}")
        return f"{model} is a PCI device, not one of {bus}"
    if model in _NO_NETDEV:
        return f"{model} cannot be connected to a network of the host"
    if model == "xen-net-device":
        return f"{model} is a device for Xen guests"
    if address not in (None, "pci", "none"):
        return misplaced_by_address(model, address, arch, domain.machine)
    if domain.machine == "isapc":
        return None
    elsewhere = (model == "virtio-net" and arch in S390) or (model in _ON_BOARD and arch in ARM)
    if bus_of(model) in _OTHER_BUSES or elsewhere:
        return f"{model} cannot be on PCI, where libvirt puts it"
    if model == "usb-net" and address == "pci":
        return "usb-net cannot be on PCI"
    version = host.libvirt_version
    if model == "usb-net" and address is None and version is not None and version < USB_NET:
        return f"libvirt {version} finds no place for usb-net (10.3 does)"
    return None


def misplaced_by_address(
    model: str, address: str, arch: str | None, machine: str | None
) -> str | None:
    """The reason why a model cannot have an address of this type; None if it can."""
    if arch in ARM and address not in _ARM_BUSES:
        return None  # see not_created
    if address == "virtio-mmio":
        if arch in ARM and model in _ON_BOARD | {"ne2k_isa", "usb-net"}:
            return f"{model} cannot be on virtio-mmio"
        needs = model in VIRTIO or model == "virtio-net-device"
        lacks_it = arch in _WITHOUT_MMIO and machine != "microvm"
        return f"{arch} has no virtio-mmio" if needs and lacks_it else None
    alone = _ALONE.get(address)
    if (
        (alone is not None and bus_of(model) != alone)
        or (address == "ccw" and model in _NOT_ON_CCW)
        or (address in _NOT_VIRTIO_S and model in VIRTIO)
        or (address == "spapr-vio" and bus_of(model) is not None)
    ):
        return f"{model} cannot be at an address of type {address}"
    return None


def not_created(nic: NicConfig, domain: DomainConfig, host: HostConfig) -> StartRefusal | None:
    """Why QEMU creates no such NIC on ARM's ``virt``, where libvirt passes what is neither on PCI
    nor on virtio-mmio as ``-nic`` (``qemuDomainSupportsNicdev``), from which that machine creates
    PCI devices only. Measured with libvirt 11.3, 12.8 and QEMU 10.0, 11.1."""
    model, version = nic.model or "virtio", host.libvirt_version
    place = "spapr-vio" if model == "spapr-vlan" else nic.address_type
    if model == "usb-net" and place is None and (version is None or version >= USB_NET):
        place = "usb"
    if model == "lan9118" and place is None and (version is None or version >= _LAN9118):
        place = "board"
    there = (domain.arch or host.arch) in ARM and nic.origin == "interface" and not is_board(domain)
    if not there or place in _ARM_BUSES or model in VIRTIO or bus_of(model) == PCI:
        return None
    return StartRefusal(f"ARM's virt has no place for {model} but PCI", NIC_REWORK)


def lacks(model: str, arch: str | None, qemu: Version | None) -> bool:
    """True if QEMU of this architecture and version (None: unknown) is known to lack this model."""
    since = first_with(model, arch)
    too_old = since is not None and qemu is not None and qemu < since
    return too_old or absent_on(model, arch)
