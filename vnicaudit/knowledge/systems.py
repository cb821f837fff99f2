"""Guests: their systems and machines, the addresses of their NICs, and the names of interfaces."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import ARM, S390, VIRTIO
from vnicaudit.model.host import Version
from vnicaudit.model.nic import Nic, NicConfig

# Domain types, architectures and machine types of guests, and their consequences for NICs.


MODERN_ZPCI = Version(11, 1)
"""The first QEMU, and version of s390x's machine, that makes virtio on PCI speak virtio 1.0 only
(measured with 11.1.3 and its machine types from 9.2 on)."""

# Domain types, as far as they affect NICs.
#
# Source: libvirt 11.3 ``virDomainVirt`` and ``qemuInterfaceOpenVhostNet``.

KVM_DOMAINS = frozenset({"kvm", "test"})
"""Domain types with vhost-net. ``test`` is libvirt's test driver, which is judged like KVM."""

KVM_OR_QEMU = "kvm or qemu"
"""A command line that leaves the accelerator to QEMU (``accel=kvm:tcg``, ``qemu-kvm``), so that it
does not show which one is used."""

QEMU_DOMAINS = KVM_DOMAINS | {"qemu", "hvf", KVM_OR_QEMU}
"""Domain types whose NICs QEMU emulates."""


def is_virt(machine: str) -> bool:
    """True for QEMU's generic ``virt`` machine of ARM, RISC-V or LoongArch."""
    return machine == "virt" or machine.startswith("virt-")


def is_board(domain: DomainConfig) -> bool:
    """True if the machine is an ARM board with a NIC of its own (anything but ``virt``): libvirt
    gives its NICs neither a PCI nor a virtio bus (``qemuDomainSupportsNicdev``)."""
    return domain.arch in ARM and not is_virt(domain.machine or "virt")


def may_be_modern_zpci(machine: str | None) -> bool:
    """True for a machine of s390x that has :data:`MODERN_ZPCI`: its version is so new, or left to
    QEMU."""
    found = re.fullmatch(r"s390-ccw-virtio(?:-(\d.*))?", machine or "s390-ccw-virtio")
    return found is not None and (not found[1] or Version.parse(found[1]) >= MODERN_ZPCI)


def is_q35(domain: DomainConfig) -> bool:
    """True for x86 with PCI Express."""
    machine = domain.machine or ""
    return machine == "q35" or machine.startswith("pc-q35-")


def modern_only_slot(nic: NicConfig, domain: DomainConfig) -> bool | None:
    """True if ``<model type='virtio'/>`` is a modern-only device (1af4:1041) at this NIC's address:
    it is on a PCI Express port, which libvirt assigns on q35 if there is no address; it is not on
    conventional PCI and on the root bus.

    None: the NIC is on a bus whose controller is unknown, or on a machine that was not measured
    (``virt``).
    """
    if domain.arch in ARM or "machine" in domain.unseen:
        return None
    if not is_q35(domain) or nic.address_type not in (None, "pci"):
        return False
    if nic.address_type is None or nic.address_bus is None:
        return True
    if nic.address_bus == 0:
        return False  # QEMU turns legacy off only on ports, virtio_pci_dc_realize
    return None if domain.pcie_ports is None else nic.address_bus in domain.pcie_ports


# The address of a NIC as its guest sees it.


_PCI = re.compile(
    r"(?P<domain>[0-9a-f]{4,8}):(?P<bus>[0-9a-f]{2}):(?P<slot>[0-9a-f]{2})\.(?P<function>[0-7])"
)
_CCW = re.compile(r"fe\.([0-3]\.[0-9a-f]{4})")
"""The channel subsystem of virtual devices is 0xfe."""


class PciSlot(NamedTuple):
    """A PCI address in a definition. The guest may number the bus differently: see
    :attr:`on_root_bus`."""

    domain: int
    bus: int
    slot: int
    function: int

    @property
    def on_root_bus(self) -> bool:
        """True if the guest sees exactly this address. The buses behind bridges and ports are
        numbered by the guest's firmware (libvirt, docs/pci-addresses.rst)."""
        return self.domain == 0 and self.bus == 0


def pci_slot(nic: Nic) -> PciSlot | None:
    """The NIC's PCI address; None if it has none or it is unknown."""
    found = _PCI.fullmatch(nic.address or "")
    return None if found is None else PciSlot(*(int(text, 16) for text in found.groups()))


def ccw_number(nic: Nic) -> str | None:
    """The device number of a NIC on a channel subsystem, as the guest has it: ``fe.0.0001`` is
    ``0.0.0001`` there (measured with QEMU 7.2 and Linux 6.12); None if it has none."""
    found = _CCW.fullmatch(nic.address or "")
    return None if found is None else f"0.{found[1]}"


def slot_of(nic: Nic) -> str | None:
    """Address of a NIC's PCI slot, or its ccw device number; None if neither is known."""
    return nic.address if pci_slot(nic) is not None else ccw_number(nic)


def same_place(before: Nic, after: Nic) -> bool:
    """True if a NIC is known to stay at its address."""
    return before.address is not None and before.address == after.address


def is_i440fx(domain: DomainConfig) -> bool:
    """True for x86 with conventional PCI only: ``pc``, ``pc-i440fx-7.2``, ``pc-1.3`` and
    ``rhel6.6.0`` of Red Hat's old builds (hw/i386/pc_piix.c)."""
    machine = domain.machine or ""
    return machine == "pc" or (machine.startswith(("pc-", "rhel6.")) and not is_q35(domain))


# The PCI id by which a guest finds the driver of its NIC.
#
# Measured with QEMU 7.2.22 (``info pci``); igb, which is newer, from its source. In QEMU's source:
# include/hw/pci/pci_ids.h and pci.h, and hw/net/ (e1000.c ``e1000_devices``, e1000e.c, igb.c,
# rtl8139.c, vmxnet3.c, pcnet-pci.c, ne2000-pci.c, tulip.c, eepro100.c ``e100_devices``, rocker.c).


TRANSITIONAL = "1af4:1000"
"""Supports virtio 0.9 and 1.0 (VIRTIO, "Transitional Device")."""

MODERN = "1af4:1041"
"""Supports only virtio 1.0."""

_EMULATED = {
    "e1000": "8086:100e",
    "e1000-82540em": "8086:100e",
    "e1000-82544gc": "8086:100c",
    "e1000-82545em": "8086:100f",
    "e1000e": "8086:10d3",
    "igb": "8086:10c9",
    "rtl8139": "10ec:8139",
    "vmxnet3": "15ad:07b0",
    "pcnet": "1022:2000",
    "ne2k_pci": "10ec:8029",
    "tulip": "1011:0019",
    "rocker": "1b36:0006",
    "i82550": "8086:1209",
    "i82551": "8086:1209",
    "i82559er": "8086:1209",
    "i82562": "8086:1209",
    "i82801": "8086:2449",
    "i82557a": "8086:1229",
    "i82557b": "8086:1229",
    "i82557c": "8086:1229",
    "i82558a": "8086:1229",
    "i82558b": "8086:1229",
    "i82559a": "8086:1229",
    "i82559b": "8086:1229",
    "i82559c": "8086:1229",
}


def model_of(nic: Nic) -> str | None:
    """The NIC's model, declared or else the known default; None if it is unknown."""
    if nic.declared.model is not None or nic.effective is None:
        return nic.declared.model
    return nic.effective.model.effective


def pci_id(nic: Nic, domain: DomainConfig) -> str | None:
    """``8086:100e``; None for a NIC that is not a PCI device, or if the id is unknown."""
    model = model_of(nic)
    # libvirt puts a NIC without an address on s390x on the channel subsystem
    on_ccw = domain.arch in S390 and nic.declared.address_type is None
    if model is None or nic.declared.address_type not in (None, "pci") or on_ccw:
        return None
    if model == "virtio-transitional":
        return TRANSITIONAL
    if model == "virtio-non-transitional":
        return MODERN
    return _virtio(nic, domain) if model == "virtio" else _EMULATED.get(model)


def port_unknown(nic: Nic, domain: DomainConfig) -> bool:
    """True if only the kind of the NIC's PCI bus is missing."""
    on_pci = nic.declared.address_type in (None, "pci")
    return model_of(nic) == "virtio" and on_pci and is_q35(domain) and _virtio(nic, domain) is None


def _virtio(nic: Nic, domain: DomainConfig) -> str | None:
    """PCI id of a virtio NIC; None if unknown. QEMU's ``virtio_pci_realize`` switches virtio 0.9
    off if the bus is PCI Express and not a root bus: on a port, but neither on q35's bus 0 nor
    behind a PCI bridge. Other machines than these were not measured."""
    if is_q35(domain):
        modern = modern_only_slot(nic.declared, domain)
        return None if modern is None else MODERN if modern else TRANSITIONAL
    if is_i440fx(domain):
        return TRANSITIONAL
    slot = pci_slot(nic)
    return TRANSITIONAL if domain.arch in S390 and slot is not None and slot.bus == 0 else None


# The operating system of a guest, as far as the names of its interfaces depend on it.


LINUX = "linux"
WINDOWS = "windows"

VIRTIO_DRIVERS = {
    LINUX: "virtio_net",
    WINDOWS: "NetKVM",
    "freebsd": "vtnet",
    "dragonflybsd": "vtnet",
    "openbsd": "vio",
    "netbsd": "vioif",
}
"""Family -> its driver for virtio NICs. Sources: Linux drivers/net/virtio_net.c, virtio-win's
NetKVM, and the manual pages vtnet(4), vio(4) and vioif(4)."""

NEWEST = (999, 0)
"""Version of a system without version numbers, such as Arch or Debian's unstable."""

_OWN_NAMES = {
    "arch": "archlinux", "alpine": "alpinelinux", "linuxmint": "mint", "mswindows": "win",
    "opensuse-leap": "opensuse", "opensuse-tumbleweed": "opensuse", "oracle": "ol",
}  # fmt: skip
"""``ID`` in os-release, as reported by an agent -> libosinfo's word if it differs."""

_LINUX_NAMES = frozenset({
    "almalinux", "alpinelinux", "amzn", "anolis", "archlinux", "centos", "centos-stream", "debian",
    "eurolinux", "fedora", "gentoo", "linux", "mageia", "manjaro", "mint", "miraclelinux", "nixos",
    "ol", "opensuse", "raspbian", "rhel", "rhel-atomic", "rocky", "scientificlinux", "sle", "sled",
    "slem", "sles", "ubuntu", "voidlinux",
})  # fmt: skip
_BSD_NAMES = frozenset(VIRTIO_DRIVERS) - {LINUX, WINDOWS}
_ROLLING = frozenset({"rolling", "testing", "unstable", "rawhide", "eln", "tumbleweed", "factory"})
_OLD_WINDOWS = frozenset({"2k", "2k3", "2k3r2", "2k8", "2k8r2", "7", "vista", "xp", "6.1", "2008"})

SYSTEMD_NAME = re.compile(
    r"en(?:(?:[osd]|P\d+[ps]|p\d+s)\d[0-9a-z]*|c(?:cw)?[0-9a-f.]+(?:[g-z][0-9a-z]*)?)", re.ASCII
)
"""``eno1``, ``ens3``, ``enp1s0``, ``enc1``: names derived from an address."""

MAC_NAME = re.compile(r"enx[0-9a-f]{12}")
KERNEL_NAME = re.compile(r"eth\d+", re.ASCII)


class System(NamedTuple):
    """``family`` is a key of :data:`VIRTIO_DRIVERS`, None if it is unknown; ``distribution`` is
    libosinfo's word for it (``debian``, ``rhel``, ``win``)."""

    family: str | None = None
    distribution: str | None = None
    version: tuple[int, int] | None = None
    old_windows: bool = False
    """Windows before 8 and 2012, which lacks the cmdlets that set addresses."""


def system_of(domain: Domain, interface: str | None = None) -> System:
    """Operating system of a guest, from its agent or else from its definition. If neither tells,
    from the name of an interface in it: ``eth0`` and ``enp1s0`` are Linux's."""
    said = domain.state.guest_os if domain.state is not None else None
    if said:
        name, _, version = said.partition(" ")
        found = _system(_OWN_NAMES.get(name, name), version)
    else:
        # such as http://ubuntu.com/ubuntu/22.04
        os_id = (domain.declared.os_id or "").removeprefix("http://")
        name, _, version = os_id.partition("/")[2].partition("/")
        found = _system("win" if name == "winnt" else name, version)
    names = (SYSTEMD_NAME, MAC_NAME, KERNEL_NAME)
    if found.family is None and any(name.fullmatch(interface or "") for name in names):
        return found._replace(family=LINUX)
    return found


def _system(name: str, version: str) -> System:
    if name == "win":
        return System(WINDOWS, name, old_windows=version.lower() in _OLD_WINDOWS)
    if name in _BSD_NAMES:
        return System(name, name)
    if name in _LINUX_NAMES:
        return System(LINUX, name, _version(name, version))
    return System()


def _version(name: str, text: str) -> tuple[int, int] | None:
    if name == "archlinux" or text in _ROLLING:
        return NEWEST
    found = re.match(r"(\d{1,4})(?:\.(\d{1,4}))?(?!\d)", text, re.ASCII)
    # http://libosinfo.org/linux/2022 has a year, not a version of a distribution
    return None if found is None or name == "linux" else (int(found[1]), int(found[2] or 0))


# How a Linux guest names its interfaces, by distribution.
#
# * systemd derives names from the address of a NIC since version 197, unless the distribution
#   switches that off (systemd.net-naming-scheme(7)); for virtio NICs only since version 226 ("udev:
#   net_id - support predictable ifnames on virtio buses", pull request 1119), on s390x's channel
#   subsystem since 233 (pull request 5357). In between ``ens3`` becomes ``eth0`` when the model
#   becomes virtio. Red Hat Enterprise Linux 7 has the newer code, but uses it only with
#   ``net.ifnames=1`` on the kernel's command line (Red Hat solution 3219091).
# * Others keep the kernel's names, which follow the order in which drivers find NICs.


Scheme = Literal["systemd", "kernel"]

_Version = tuple[int, int]


class _FirstVersions(NamedTuple):
    """The first versions in which systemd names NICs, virtio NICs, and those on ccw."""

    any: _Version
    virtio: _Version
    ccw: _Version


_ALWAYS = _FirstVersions((0, 0), (0, 0), (0, 0))
_RED_HAT = _FirstVersions((7, 0), (8, 0), (8, 0))
_SINCE = {
    "almalinux": _ALWAYS,
    "archlinux": _ALWAYS,
    "centos": _RED_HAT,
    "centos-stream": _ALWAYS,
    "debian": _FirstVersions((9, 0), (9, 0), (10, 0)),
    "eurolinux": _RED_HAT,
    "fedora": _FirstVersions((19, 0), (24, 0), (26, 0)),
    "ol": _RED_HAT,
    "rhel": _RED_HAT,
    "rhel-atomic": _RED_HAT,
    "rocky": _ALWAYS,
    "scientificlinux": _RED_HAT,
    "ubuntu": _FirstVersions((15, 10), (16, 4), (18, 4)),
}
"""Distributions that leave it on, with their first versions whose systemd does it."""

_HIGHEST_INDEX = 16383
"""systemd ignores higher indexes, which firmware makes up (``ONBOARD_14BIT_INDEX_MAX``)."""


def is_virtio(nic: Nic) -> bool:
    """True if the guest needs a virtio driver for this NIC."""
    return model_of(nic) in VIRTIO


def scheme_of(system: System, nic: Nic) -> Scheme | None:
    """The program that names such a NIC in a guest with its distribution's default settings; None
    if that is unknown."""
    since = _SINCE.get(system.distribution or "")
    if since is None or system.version is None:
        return None
    first = since.ccw if nic.declared.address_type == "ccw" else since.any
    if is_virtio(nic):
        first = max(first, since.virtio)
    return "systemd" if system.version >= first else "kernel"


def name_by_address(nic: Nic, neighbours: tuple[Nic, ...], domain: DomainConfig) -> str | None:
    """The name that systemd gives the NIC; None if the definition does not tell.

    Measured with systemd 257 (and its schemes v239 to v255) in guests of QEMU 7.2: ``ens3`` at
    0000:00:03.0 of ``pc``, whose slots can be hot-plugged (with ACPI on), ``enp0s3`` of ``q35``,
    whose slots on bus 0 cannot; ``eno7`` with ``<acpi index='7'/>`` on ``pc``; ``enc1`` for
    0.0.0001 on s390x. Behind ports and bridges the name contains the guest's number of the bus.
    """
    if domain.arch in S390:
        number = ccw_number(nic)
        return None if number is None else f"enc{number.lstrip('.0') or '0'}"
    slot = pci_slot(nic)
    if slot is None or not slot.on_root_bus or slot.function or _has_shared_slot(nic, neighbours):
        return None
    if is_i440fx(domain):
        return f"ens{slot.slot}" if nic.declared.acpi is None else _onboard(nic.declared.acpi)
    return f"enp0s{slot.slot}" if is_q35(domain) and nic.declared.acpi is None else None


def _onboard(index: str) -> str | None:
    number = int(index) if index.isascii() and index.isdigit() and len(index) < 6 else 0
    return f"eno{number}" if 0 < number <= _HIGHEST_INDEX else None


def _has_shared_slot(nic: Nic, neighbours: tuple[Nic, ...]) -> bool:
    """True if several functions share the slot: each then has its function number in its name."""
    slot = pci_slot(nic)
    others = (pci_slot(other) for other in neighbours if other.index != nic.index)
    return slot is not None and any(
        other is not None and other._replace(function=0) == slot._replace(function=0)
        for other in others
    )
