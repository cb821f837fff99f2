"""NIC models: names, abilities, buses, and the binaries that lack them."""

from __future__ import annotations

import re

from vnicaudit.knowledge.systems import is_board, is_virt
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import ARM, PPC64, RISCV, S390, VIRTIO, X86
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import NIC_REWORK, NicConfig, StartRefusal

# NIC models: their names in libvirt and QEMU, and their abilities.
#
# Sources: libvirt 11.3 ``virDomainNetModel``; ``qemu-system-* -device help`` of QEMU 7.2 and 10.0.


# The model that libvirt gives a NIC that declares none.
#
# Source: libvirt 11.3 ``qemuDomainDefaultNetModel`` (src/qemu/qemu_postparse.c) and
# ``preferredMachines`` (src/qemu/qemu_capabilities.c). Measured with libvirt 9.0: ``pc`` and
# ``q35`` both get rtl8139.

_VIRT_BY_DEFAULT = RISCV | {"armv7l", "armv7b", "aarch64", "loongarch64"}
"""Architectures whose default machine is ``virt``."""


def default_model(arch: str, machine: str | None) -> str:
    """The default NIC model of an architecture and machine type.

    On x86 and ppc64 the real answer is the first of rtl8139, e1000, virtio that the QEMU binary
    has; upstream, Debian and Ubuntu builds have rtl8139.
    """
    machine = machine or ("virt" if arch in _VIRT_BY_DEFAULT else "")
    if arch in S390 or (is_virt(machine) and (arch in RISCV or arch == "loongarch64")):
        return "virtio"
    if arch not in ARM:
        return "rtl8139"
    if machine == "versatilepb":
        return "scm91c111"  # libvirt's spelling of the SMC chip, passed to QEMU as it is
    # libvirt does not count armv7b among the architectures of ``virt`` (qemuDomainMachineIsARMVirt)
    return "virtio" if is_virt(machine) and arch != "armv7b" else "lan9118"


LEGACY = (
    frozenset({"rtl8139", "ne2k_pci", "ne2k_isa", "pcnet", "tulip"})
    | {
        f"i8255{digit}"
        for digit in ("0", "1", "7a", "7b", "7c", "8a", "8b", "9a", "9b", "9c", "9er")
    }
    | {"i82562", "i82801"}
)
"""Chips of the 10/100 Mb/s era: no vnet header, at least one exit to QEMU per packet."""

E1000 = frozenset({"e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em"})
E1000E = frozenset({"e1000e", "igb"})
BOARD = frozenset({"usb-net", "lan9118", "smc91c111", "spapr-vlan", "scm91c111"})
"""NICs of particular boards or buses."""

BOOT_ROMS = {
    **dict.fromkeys(VIRTIO, "efi-virtio.rom"), **dict.fromkeys(E1000, "efi-e1000.rom"),
    **{name: f"efi-{name}.rom" for name in ("e1000e", "ne2k_pci", "pcnet", "rtl8139", "vmxnet3")},
    **{name: "pxe-eepro100.rom" for name in LEGACY if name.startswith("i82")},
}  # fmt: skip
"""Model -> the boot ROM that QEMU has for it (``romfile`` of each device)."""

QEMU_MODELS = VIRTIO | LEGACY | E1000 | E1000E | BOARD | {
    "vmxnet3", "rocker", "sunhme", "sungem", "xen-net-device", "ftgmac100", "xgmac", "dp8393x",
    "virtio-net-pci", "virtio-net-ccw", "virtio-net-device", "virtio-net",
    "virtio-net-pci-transitional", "virtio-net-pci-non-transitional", "vfio-pci",
}  # fmt: skip
"""Names that some QEMU accepts as a NIC's ``-device`` driver (including libvirt's virtio names)."""

LIBVIRT_MODELS = frozenset({
    "netfront", "rtl8139", "virtio", "e1000", "e1000e", "igb", "virtio-transitional",
    "virtio-non-transitional", "usb-net", "spapr-vlan", "lan9118", "scm91c111", "vlance",
    "vmxnet", "vmxnet2", "vmxnet3", "am79c970a", "am79c973", "82540em", "82545em", "82543gc",
})  # fmt: skip
"""libvirt's enumeration, lower case: these names are matched case-insensitively; any other text is
passed to QEMU as it is."""

_FROM_DRIVER = {
    "virtio-net-pci": "virtio",
    "virtio-net-ccw": "virtio",
    "virtio-net-device": "virtio",
    "virtio-net": "virtio",
    "virtio-net-pci-transitional": "virtio-transitional",
    "virtio-net-pci-non-transitional": "virtio-non-transitional",
    "virtio-net-transitional": "virtio-transitional",
    "virtio-net-non-transitional": "virtio-non-transitional",
    "e1000-82540em": "e1000",
    "smc91c111": "smc91c111",
}


_ANY_CASE = frozenset(name.lower() for name in QEMU_MODELS | LIBVIRT_MODELS)
_STAND_IN = re.compile(
    r"X{3,}|CHANGE_?ME|REPLACE_?ME|FILL_?ME(?:_?IN)?|TODO|FIXME|TBD|PLACEHOLDER|YOUR_[A-Z0-9_]+"
    r"|[A-Z0-9_]*(?:MODEL|DRIVER|NIC|IFTYPE|NETTYPE)[A-Z0-9_]*"
)
_LONGEST = 60


def model_of_driver(driver: str) -> str:
    """libvirt's model name for a QEMU device: ``virtio-net-ccw`` -> ``virtio``."""
    return _FROM_DRIVER.get(driver, driver)


def normal_model(text: str) -> str:
    """The model libvirt stores for ``<model type=…>``: its own names in lower case, others as
    written. ``VirtIO`` -> ``virtio``, ``NotANic`` -> ``NotANic``."""
    lower = text.lower()
    return lower if lower in LIBVIRT_MODELS else text


def is_model(text: str) -> bool:
    """True for the name of a model of libvirt or QEMU, in upper or lower case."""
    return text.lower() in _ANY_CASE


def stands_for_model(text: str) -> bool:
    """True for a word that is obviously a placeholder for a model: ``NIC_MODEL``, ``XXXXXXX``,
    ``CHANGEME``."""
    text = text.strip()
    return len(text) <= _LONGEST and not is_model(text) and _STAND_IN.fullmatch(text) is not None


def shown_model(model: str) -> str:
    """A model for a message: names of QEMU and libvirt as they are; any other text comes from
    outside, and is quoted and cut to 40 characters."""
    known = model in QEMU_MODELS or model.lower() in LIBVIRT_MODELS
    return model if known else repr(model[:40])


# The bus of each NIC device, and the buses of each machine.
#
# Measured with QEMU 7.2.22 and 10.0.2: each device on each machine of x86 and s390x (``No 'PCI' bus
# found for device 'rtl8139'``, ``'sungem' is not a valid device model name``).


PCI, ISA, USB = "PCI", "ISA", "usb-bus"
CCW, VIRTIO_BUS, XEN = "virtual-css-bus", "virtio-bus", "xen-bus"

VIRTIO_PCI = frozenset(
    {"virtio-net-pci", "virtio-net-pci-transitional", "virtio-net-pci-non-transitional"}
)

_BUS = {
    **dict.fromkeys((LEGACY - {"ne2k_isa"}) | E1000 | E1000E | VIRTIO_PCI, PCI),
    **dict.fromkeys(("vmxnet3", "rocker", "sungem", "sunhme"), PCI),
    "ne2k_isa": ISA,
    "usb-net": USB,
    "virtio-net-ccw": CCW,
    "virtio-net-device": VIRTIO_BUS,
    "xen-net-device": XEN,
}
_ALIASES = {"e1000-82540em": "e1000"}

_X86_BUSES: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (("pc", "pc-", "q35"), frozenset({PCI, ISA})),
    (("isapc",), frozenset({ISA})),
    (("microvm",), frozenset({ISA, VIRTIO_BUS})),
    (("none",), frozenset()),
)
"""Prefixes of machine types, and the buses of such a machine without further arguments."""


def device_of(name: str, arch: str | None) -> str:
    """QEMU's device for a name after ``-device``: ``virtio-net`` is the machine's own virtio device
    (``qdev_alias_table``)."""
    if name == "virtio-net":
        return "virtio-net-ccw" if arch in S390 else "virtio-net-pci"
    return _ALIASES.get(name, name)


def bus_of(device: str) -> str | None:
    """The bus of a device; None if it is unknown."""
    return _BUS.get(device)


def machine_buses(arch: str | None, machine: str | None) -> frozenset[str] | None:
    """The buses of an x86, s390x or RISC-V machine without further arguments (``pcie=on`` of
    microvm, a USB controller); None if they are unknown."""
    if arch in S390:
        if machine == "none":
            return frozenset()
        known = machine is None or machine.startswith("s390-ccw-virtio")
        return frozenset({CCW, PCI}) if known else None
    if arch in RISCV:
        if machine is None or machine == "spike":
            return None if machine is None else frozenset()
        return frozenset({PCI, VIRTIO_BUS}) if is_virt(machine) else None
    if arch not in X86:
        return None
    name = machine or "pc"
    for beginnings, buses in _X86_BUSES:
        if name in beginnings or name.startswith(tuple(b for b in beginnings if b[-1] == "-")):
            return buses
    return None


# Models that QEMU's binaries lack, by architecture and version, and models that libvirt puts on a
# bus where they cannot be.
#
# Sources: ``qemu-system-x86_64 -device help`` of QEMU 7.2 and 10.0; ``qemu-system-s390x`` measured
# with 7.2.22 (virtio only), 10.0.2 and 10.0.13 (e1000e, igb and usb-net too). Buses: every model on
# pc, q35, s390x, the ``virt`` machines of ARM, RISC-V and LoongArch and pseries, with each type of
# address, defined with libvirt 9.0 and started with QEMU 7.2.


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
