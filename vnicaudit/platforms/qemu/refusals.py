"""NICs that QEMU refuses or leaves out: the reason, and the versions of QEMU.

Measured with QEMU 7.2.22 and 10.0.2 on x86 and s390x. For other architectures only refusals that
apply to all are reported; an argument that may come from a file or a later QEMU is not refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.models import (
    CCW,
    ISA,
    PCI,
    QEMU_MODELS,
    USB,
    VIRTIO_BUS,
    VIRTIO_PCI,
    XEN,
    absent_on,
    bus_of,
    first_with,
    machine_buses,
    shown_model,
)
from vnicaudit.knowledge.systems import MODERN_ZPCI, may_be_modern_zpci
from vnicaudit.model.finding import ARM, RISCV, S390, VIRTIO, X86
from vnicaudit.model.host import Version
from vnicaudit.model.nic import NEVER, NIC_REWORK, StartRefusal
from vnicaudit.platforms.qemu.arguments import MAX_WORDS, Arguments, Global, Option, unfilled
from vnicaudit.platforms.qemu.options import Options, number, truth
from vnicaudit.platforms.qemu.properties import (
    id_faults,
    is_device,
    is_taken,
    json_faults,
    nic_faults,
    property_refusal,
)

_USB_CONTROLLERS = ("uhci", "ohci", "ehci", "xhci")
_CONVENTIONAL = frozenset({"pci-bridge", "pcie-pci-bridge", "i82801b11-bridge", "pci-bridge-seat"})
_BRIDGE = re.compile(
    r"bridge|port|pxb|hci|ioh3420|3130|vmd|hub|cxl|dec-|virtio-(?:serial|scsi)|[$%{<]"
)
"""Devices that provide a bus."""
_BUILT_IN = re.compile(r"(?:isa|pci|pcie|usb-bus|virtio-mmio-bus|virtual-css|virtual-css-bridge)\b")
_VIRT = re.compile(r"virt(?:-\d.*)?")
_DEFAULT_MACHINE = dict.fromkeys(RISCV, "spike")
_TRIES_ALL = Version(10, 0)
_NOT_BY_NIC = frozenset({"rocker", "usb-net", "virtio-net-device"})


class Board(NamedTuple):
    """The machine, as far as it matters for the place of a NIC; ``buses`` is None if they are
    unknown. ``usb`` is the turn after which there is a USB bus; ``ids`` are those of all devices,
    each with its turn; ``conventional`` are those of bridges to conventional PCI.
    ``only_named_buses``: there are no buses but the machine's and those that an id names. ``more``:
    a file (``-readconfig``) may add other devices and another machine, as Proxmox adds its
    ``pci.0`` to q35. ``vga``: QEMU adds its default graphics card."""

    arch: str | None
    machine: str | None
    buses: frozenset[str] | None
    usb: int | None
    ids: dict[str, int]
    conventional: frozenset[str] = frozenset()
    only_named_buses: bool = False
    more: bool = False
    vga: bool = False

    @property
    def root(self) -> str | None:
        """The machine's own PCI bus."""
        if PCI not in (self.buses or ()):
            return None
        express = (self.machine or "").startswith(("q35", "pc-q35-", "microvm", "virt"))
        return "pcie.0" if express else "pci.0"


def board(
    arguments: Arguments, arch: str | None, machine: str | None, *, whole: bool = False
) -> Board:
    """The machine that the arguments describe."""
    buses = machine_buses(arch, machine or _DEFAULT_MACHINE.get(arch or ""))
    options: Options = {}
    for one in arguments.parsed("machine", "M"):
        options.update(one.keys)
    if buses is not None and truth(options.get("pcie")) and VIRTIO_BUS in buses:
        buses |= {PCI}
    devices = [(_turn(one), one.keys) for one in arguments.parsed("device")]
    hosts = (
        turn
        for turn, given in devices
        if any(word in given.get("driver", "") for word in _USB_CONTROLLERS)
    )
    usb = min(hosts, default=None)
    if truth(options.get("usb")) or (arguments.has("usb", "usbdevice") and PCI in (buses or {PCI})):
        usb = -1
    more = arguments.has("readconfig")
    if more:
        usb = -1
    ids = {given["id"]: turn for turn, given in devices if "id" in given}
    bridges = [given for _turn, given in devices if _BRIDGE.search(given.get("driver", ""))]
    conventional = frozenset(
        given["id"] for given in bridges if "id" in given and given["driver"] in _CONVENTIONAL
    )
    named = whole and not more and all("id" in given for given in bridges)
    cards = any("vga" in given.get("driver", "").lower() for _turn, given in devices)
    vga = whole and not cards and not arguments.has("nodefaults", "vga")
    return Board(arch, machine, buses, usb, ids, conventional, named, more, vga)


def _turn(device: Option) -> int:
    """Position of a device in the order of creation: those in JSON come after all others, each
    group in its order (``qemu_create_cli_devices`` in softmmu/vl.c)."""
    return device.pair + MAX_WORDS if device.text.lstrip()[:1] == "{" else device.pair


def device_refusal(driver: str, device: str, option: Option, place: Board) -> StartRefusal | None:
    """The reason why there is no such NIC: ``option`` has all its properties. Refusals by every
    QEMU come before those by some."""
    given = option.keys
    absent = _no_such_device(driver, device, place) or _late_id(option)
    if absent is not None and not absent.has_nic:
        return absent
    return (
        _no_bus(device, given, place, _turn(option))
        or _slot_refusal(device, given, place)
        or _wrong_property(device, given, option.text, place)
        or absent
    )


def _late_id(option: Option) -> StartRefusal | None:
    """The refusal of an id in JSON, which was any text before (measured with 10.0 and 11.1)."""
    fault = next(id_faults("device", option.keys, in_json=False), None)
    if not option.in_json or fault is None:
        return None
    return StartRefusal(fault, has_nic=True, refused_from=Version(11, 1))


def _wrong_property(device: str, given: Options, text: str, place: Board) -> StartRefusal | None:
    if not is_device(device):
        return None
    own = {name: value for name, value in given.items() if name not in ("driver", "id")}
    if own.get("bus") in place.conventional:
        own["bus"] = "pci.0"  # as for virtio-pci, where only the kind of bus matters
    if place.arch in S390 and device in VIRTIO_PCI and number(own.get("vectors")) == 0:
        return StartRefusal("vectors=0 switches off MSI-X, which a PCI device needs on s390x")
    if text.lstrip()[:1] == "{" and (fault := next(json_faults(device, text), None)) is not None:
        return StartRefusal(fault)
    found = property_refusal(device, own)
    zpci = device == "virtio-net-pci" and place.arch in S390
    if found is None or not zpci or not may_be_modern_zpci(place.machine):
        return found
    later = property_refusal(device, {"disable-legacy": "on", **own})
    return later or replace(found, starts_from=MODERN_ZPCI, has_nic=True)


def global_refusal(given: Iterable[Global], place: Board, *, by_board: bool) -> StartRefusal | None:
    """The reason why a ``-global`` for PCI NICs that the guest need not have is refused: pc and q35
    try each of them when they start (``qemu_get_nic_models``; measured with 10.0 and 11.1). 7.2
    does so only ``by_board``: if the machine makes a NIC itself (``pci_nic_init_nofail``)."""
    if place.root is None or place.arch not in X86 or (place.machine or "").startswith("microvm"):
        return None
    for driver, name, text in given:
        if bus_of(driver) != PCI or unfilled(text) is not None:
            continue
        found = property_refusal(driver, {name: text})
        if found is not None and found.starts_from is None:
            first = found.refused_from
            if not by_board:
                first = max(first or _TRIES_ALL, _TRIES_ALL)
            return replace(found, reason=f"-global: {found.reason}", refused_from=first)
    return None


def _no_such_device(driver: str, device: str, place: Board) -> StartRefusal | None:
    shown = shown_model(driver)
    if device in VIRTIO:
        return StartRefusal(f"{shown} is libvirt's name for a model: QEMU has no such device")
    if device not in QEMU_MODELS:
        return StartRefusal(f"{shown} is not a QEMU NIC", certain=False)
    if place.arch not in S390 | X86:
        return None
    if absent_on(device, place.arch) or bus_of(device) is None:
        return StartRefusal(f"{shown} does not exist on {place.arch}")
    return _too_new(device, place)


def _too_new(device: str, place: Board) -> StartRefusal | None:
    since = first_with(device, place.arch)
    if since is None:
        return None
    if place.arch in S390:  # it is unknown which version introduced it
        why = f"{device} does not exist on {place.arch}"
    else:
        why = f"{device} came with QEMU {since.major}.{since.minor}"
    return StartRefusal(why, since, has_nic=True)


def _no_bus(device: str, given: Options, place: Board, turn: int) -> StartRefusal | None:
    needed, named = bus_of(device), given.get("bus")
    express = place.arch in ARM and not place.more and _VIRT.fullmatch(place.machine or "")
    if named == "pci.0" and named not in place.ids and express:
        return StartRefusal("this machine has no bus pci.0")
    if place.buses is None or needed in (None, XEN):
        return None
    if (
        named is not None
        and unfilled(named) is None
        and named.partition(".")[0] in ("pci", "pcie")
        and named not in place.ids
    ):
        if needed in (ISA, VIRTIO_BUS, CCW):
            return StartRefusal(f"{device} cannot go on a PCI bus")
        if named in ("pci.0", "pcie.0") and named != place.root and not place.more:
            return StartRefusal(f"this machine has no bus {named}")
    if named in place.ids and needed in (ISA, VIRTIO_BUS, CCW):
        return StartRefusal(f"{device} cannot go on a PCI bus")
    if named is not None and _is_nowhere(named, place):
        return StartRefusal(f"there is no bus {named[:40]!r}")
    if named is not None and place.ids.get(named, -1) > turn:
        return StartRefusal(f"bus {named[:40]!r} belongs to a device that comes later")
    usb = place.usb is not None and place.usb < turn
    if usb if needed == USB else needed in place.buses:
        return None
    word = {USB: "a USB controller before it", PCI: "a PCI bus", ISA: "an ISA bus"}
    return StartRefusal(
        f"{device} needs {word.get(needed, needed)}, which {_called(place)} does not have"
    )


def _is_nowhere(named: str, place: Board) -> bool:
    """True if a bus belongs neither to the machine nor to a device: ``pci.7`` is the id of a
    device, as named by libvirt; ``x.0`` belongs to the device ``x``."""
    if not place.only_named_buses or unfilled(named) is not None or not named or "/" in named:
        return False
    if named in place.ids or named.rpartition(".")[0] in place.ids:
        return False
    return _BUILT_IN.match(named) is None or (
        named.startswith(("pci.", "pcie.")) and named not in ("pci.0", "pcie.0")
    )


def _slot_refusal(device: str, given: Options, place: Board) -> StartRefusal | None:
    addr = given.get("addr", "")
    machine = place.machine or "pc"
    if bus_of(device) != PCI or place.arch not in X86 or machine.startswith("microvm"):
        return None
    if place.more or not is_taken(addr, given.get("bus", ""), place.root, vga=place.vga):
        return None
    return StartRefusal(f"PCI slot {addr[:40]!r} is used by the machine itself")


def _called(place: Board) -> str:
    return f"machine {place.machine}" if place.machine else "the machine"


def nic_refusal(
    option: str, driver: str, given: Options, preset: Options, place: Board
) -> StartRefusal | None:
    """The reason why ``-nic`` or ``-net nic`` creates no NIC, of the device ``driver`` with the
    properties ``preset`` by ``-global``."""
    for fault in nic_faults(option, given):
        return StartRefusal(fault)
    known = place.buses is not None
    missing = next(_not_created(option, given.get("model"), place, known=known), None)
    return missing or property_refusal(driver, preset)


def _not_created(
    option: str, model: str | None, place: Board, *, known: bool
) -> Iterator[StartRefusal]:
    if place.buses is not None and (place.buses == frozenset() or VIRTIO_BUS in place.buses):
        yield StartRefusal(f"{_called(place)} creates no NIC for -{option}", NEVER)
    elif model == "virtio-net":
        yield StartRefusal(f"virtio-net is not a model for -{option}; virtio is", NIC_REWORK)
    elif model is None or (model == "virtio" and place.arch in S390) or place.buses is None:
        return
    elif place.arch in S390:
        made = model == "virtio-net-ccw"
        yield StartRefusal(
            f"{shown_model(model)} is not a model for -{option} on {place.arch}, virtio is",
            NIC_REWORK,
            has_nic=made,
        )
    elif not _by_nic(model, place):
        yield StartRefusal(
            f"{shown_model(model)} is not a model for -{option} on {_called(place)}",
            NIC_REWORK,
            certain=known and model in QEMU_MODELS,
        )
    elif (new := _too_new(model, place)) is not None:
        yield new


def _by_nic(model: str, place: Board) -> bool:
    """True if an x86 machine creates this model for ``-nic``, where aliases of devices are
    refused."""
    buses = place.buses or frozenset()
    if model in _NOT_BY_NIC or absent_on(model, place.arch) or model == "e1000-82540em":
        return False
    if model == "virtio":
        return PCI in buses
    return bus_of(model) in buses
