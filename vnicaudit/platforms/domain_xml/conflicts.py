"""NICs that libvirt refuses because of the rest of the definition: an address, a boot order, an
alias or a device on the host that another device has as well, and PCI slots that a bus lacks.

Measured with libvirt 9.0 and QEMU 7.2 (``qemuDomainAssignPCIAddresses``,
``virDomainPCIAddressSetGrow``): every controller on ``pc`` and ``q35``, and buses without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from lxml import etree
from msgspec.structs import replace

from vnicaudit.knowledge.models import BOOT_ROMS, LIBVIRT_MODELS, default_model
from vnicaudit.knowledge.systems import PciSlot, is_i440fx, is_q35, is_virt, pci_slot
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import ARM, PPC64, RISCV, S390
from vnicaudit.model.host import Version
from vnicaudit.model.nic import DefinitionRefusal, Nic, NicConfig
from vnicaudit.platforms.domain_xml.facts import DomainFacts
from vnicaudit.platforms.domain_xml.refusals import TAPS, count, is_chosen, number

_Slots = tuple[int, int]
"""The first and the last slot of a bus."""

_CONVENTIONAL, _PORT = (1, 31), (0, 0)
_SLOTS: dict[str, _Slots] = {
    "pci-root": _CONVENTIONAL, "pcie-root": _CONVENTIONAL, "pci-bridge": _CONVENTIONAL,
    "pcie-to-pci-bridge": _CONVENTIONAL, "dmi-to-pci-bridge": (0, 31), "pci-expander-bus": (0, 31),
    "pcie-root-port": _PORT, "pcie-switch-downstream-port": _PORT,
}  # fmt: skip
"""Model of a controller -> the slots of its bus."""
_NO_DEVICES = frozenset({"pcie-switch-upstream-port", "pcie-expander-bus"})
_CONVENTIONAL_MODELS = LIBVIRT_MODELS - {"virtio", "virtio-non-transitional", "e1000e", "igb"}
"""Models for which libvirt adds PCI bridges; it adds PCI Express ports for all others, also for
names that it does not know."""
_TAKEN = {"pc": {(1, 0), (1, 1), (1, 2), (1, 3)}, "q35": {(31, 0), (31, 2), (31, 3)}}
"""Slots and functions on the root bus that belong to the machine's own devices."""
_USB_OF_PC = (1, 2)
_MOST_ACPI = 16383
_EVERYWHERE = Version(10)
"""The first QEMU that is known to check ACPI indexes on every machine: 10.0 does, 7.2 does not."""
_MOST_SLOTS = 32
_ADDRESSES = etree.XPath("*/address")
_NAMES_AND_NUMBERS = etree.XPath("*/boot | */acpi | */alias")
_OWN_ALIAS = "ua-"
"""libvirt keeps an alias only if it begins like this."""


def with_conflicts(
    nics: tuple[Nic, ...], facts: DomainFacts, domain: DomainConfig
) -> tuple[Nic, ...]:
    """The NICs of a domain, with the refusals that follow from its other devices. What libvirt
    wrote it has defined; only ACPI indexes show at the start."""
    if facts.devices is None or domain.form == "live" or not nics:
        return nics
    if domain.form != "raw" and all(nic.declared.acpi is None for nic in nics):
        return nics
    around = _Surroundings(facts.devices, facts, domain, nics)
    found = list(nics)
    for place, nic in enumerate(nics):
        if nic.declared.origin == "interface" and (more := tuple(around.refusals(nic))):
            refused = (*nic.declared.refused, *more)
            found[place] = replace(nic, declared=replace(nic.declared, refused=refused))
    return tuple(found)


class _Surroundings:
    """The other devices of a domain, with the number of devices for each value that no two of them
    may share, and the buses of its machine."""

    def __init__(
        self,
        devices: etree._Element,
        facts: DomainFacts,
        domain: DomainConfig,
        nics: tuple[Nic, ...],
    ) -> None:
        self._addresses: Counter[tuple[str, tuple[int, ...]]] = Counter()
        self._orders: Counter[int] = Counter()
        self._indexes: Counter[str] = Counter()
        self._aliases: Counter[str] = Counter()
        self._nic_aliases: Counter[str] = Counter()
        self._controllers: dict[int, str] = {}
        self._usb: set[str] = set()
        """The models of the USB controllers, ``""`` for the machine's own."""
        self._other_buses: set[int] = set()
        """The PCI buses of devices that are not NICs."""
        self._note_controllers(devices)
        self._note_shared_values(devices)
        self._facts = facts
        self._domain = domain
        self._nics = nics
        self._machine = "q35" if is_q35(domain) else "pc" if is_i440fx(domain) else ""
        self._names = Counter(nic.target_dev for nic in nics if nic.declared.type in TAPS)
        self._roms = Counter(_rom_in_firmware(nic.declared, domain) for nic in nics)

    def _note_controllers(self, devices: etree._Element) -> None:
        for controller in devices.iterchildren("controller"):
            kind, model = controller.get("type"), controller.get("model", "")
            if kind == "usb":
                self._usb.add(model)
            elif kind == "pci" and (index := count(controller.get("index", ""))) is not None:
                self._controllers.setdefault(index, model)

    def _note_shared_values(self, devices: etree._Element) -> None:
        for address in _ADDRESSES(devices):
            place = _address(tuple(address.items()))
            if place is not None:
                self._addresses[place] += 1
                if place[0] == "pci" and address.getparent().tag != "interface":
                    self._other_buses.add(place[1][1])
        for part in _NAMES_AND_NUMBERS(devices):
            if part.tag == "boot":
                self._orders[count(part.get("order", "")) or 0] += 1
            elif part.tag == "acpi":
                self._indexes[part.get("index", "")] += 1
            elif (name := part.get("name", "")).startswith(_OWN_ALIAS):
                self._aliases[name] += 1
                self._nic_aliases[name] += part.getparent().tag == "interface"

    def _slots_of(self, bus: int) -> _Slots | None:
        """The slots of a bus, None if unknown. Where the definition has no controller, libvirt adds
        the buses up to that of a NIC, of the kind that this NIC needs."""
        domain, controllers = self._domain, self._controllers
        express = self._machine == "q35" or (
            domain.arch in ARM | RISCV and is_virt(domain.machine or "virt")
        )
        if not (express or self._machine or domain.arch in S390 | PPC64):
            return None
        if bus == 0:
            return _CONVENTIONAL
        if bus in controllers:
            return _SLOTS.get(controllers[bus])
        last = max(controllers, default=0)
        if not express:
            return _CONVENTIONAL
        if bus < last:
            return _PORT
        if any(other > last for other in self._other_buses):
            return None
        slots = ((pci_slot(nic), nic) for nic in self._nics)
        first = next(nic for slot, nic in slots if slot is not None and slot.bus >= bus)
        return _kind_of_bus(first, domain)

    def refusals(self, nic: Nic) -> Iterator[DefinitionRefusal]:
        """The refusals of a NIC because of the other devices, or of the machine's buses."""
        slot = pci_slot(nic)
        if slot is not None and nic.declared.address_type == "pci":
            yield from self._of_slot(slot)
            if nic.declared.multifunction == "on" and self._domain.arch in S390:
                why = "multifunction='on' is not for zPCI"
                yield DefinitionRefusal("address/@multifunction", why, at_start=True)
        if nic.declared.address_type == "ccw" and nic.address is not None:
            ccw = tuple(int(part, 16) for part in nic.address.split("."))
            if self._addresses.get(("ccw", ccw), 0) > 1:
                yield _twice("address", "its channel address")
        yield from self._of_usb(nic)
        yield from self._of_rom(nic)
        yield from self._of_names(nic)
        yield from self._of_boot_order(nic)
        yield from self._of_acpi(nic)

    def _of_slot(self, slot: PciSlot) -> Iterator[DefinitionRefusal]:
        if slot.domain:
            why = "only PCI domain 0 exists"
            yield DefinitionRefusal("address/@domain", f"{why}, and its address is in another one")
            return
        if self._addresses.get(("pci", tuple(slot)), 0) > 1:
            yield _twice("address", "its PCI address")
        yield from self._of_machine(slot)
        if self._controllers.get(slot.bus) in _NO_DEVICES:
            why = f"the controller of PCI bus {slot.bus} takes no NIC"
            yield DefinitionRefusal("address/@bus", why)
        slots = self._slots_of(slot.bus)
        if slots is not None and not slots[0] <= slot.slot <= slots[1] and slot.slot < _MOST_SLOTS:
            only = "only slot 0" if slots == _PORT else f"slots {slots[0]} to {slots[1]}"
            why = f"PCI bus {slot.bus} has {only}, and its address is in slot {slot.slot}"
            yield DefinitionRefusal("address/@slot", why)

    def _of_machine(self, slot: PciSlot) -> Iterator[DefinitionRefusal]:
        place = (slot.slot, slot.function)
        if slot.bus or place not in _TAKEN.get(self._machine, ()):
            return
        if place != _USB_OF_PC or "none" not in self._usb:
            why = f"PCI slot {slot.slot}.{slot.function} belongs to {self._machine} itself"
            yield DefinitionRefusal("address/@slot", why)

    def _of_usb(self, nic: Nic) -> Iterator[DefinitionRefusal]:
        """A NIC on USB, where the domain has none: libvirt adds a controller on ``pc``, ``q35``,
        pseries and ``versatilepb``, and has none of its own on s390x."""
        controllers, arch = self._usb, self._domain.arch
        known = bool(self._machine) or arch in ARM | RISCV | S390 | PPC64
        if nic.declared.model != "usb-net" or not known:
            return
        added = bool(self._machine) or arch in PPC64 or self._domain.machine == "versatilepb"
        real = controllers - {""} if arch in S390 else controllers
        if "none" in controllers or not (real or added):
            why = "the domain has no USB controller"
            yield DefinitionRefusal("model", why, at_start=True)

    def _of_rom(self, nic: Nic) -> Iterator[DefinitionRefusal]:
        """ROMs that QEMU passes to the firmware by their names: ``duplicate fw_cfg file name``."""
        rom = _rom_in_firmware(nic.declared, self._domain)
        if self._machine and rom is not None and self._roms[rom] > 1:
            yield _twice("rom/@bar", "the ROM that bar='off' passes to the firmware", at_start=True)

    def _of_names(self, nic: Nic) -> Iterator[DefinitionRefusal]:
        alias = nic.alias or ""
        if alias.startswith(_OWN_ALIAS) and self._aliases.get(alias, 0) > 1:
            # QEMU tells them apart later than libvirt
            at_start = self._nic_aliases.get(alias, 0) < 2
            yield _twice("alias/@name", "its alias", at_start=at_start)
        name = nic.target_dev
        on_host = nic.declared.type in TAPS
        if name and on_host and self._names[name] > 1 and not is_chosen(name):
            yield _twice("target/@dev", "its device on the host", at_start=True)

    def _of_boot_order(self, nic: Nic) -> Iterator[DefinitionRefusal]:
        order = nic.declared.boot_order
        if not order:
            return
        if self._facts.boot_device:
            yield DefinitionRefusal(
                "boot/@order", "<boot order> and <boot dev> (in <os>) exclude each other"
            )
        if self._orders.get(order, 0) > 1:
            yield _twice("boot/@order", "its boot order")

    def _of_acpi(self, nic: Nic) -> Iterator[DefinitionRefusal]:
        """ACPI indexes, where QEMU checks them: on q35, on pc if the guest has ACPI, and from 10.0
        on every machine."""
        index = nic.declared.acpi
        value = None if index is None else count(index)
        if index is None or value is None:
            return
        checks = self._machine == "q35" or (self._machine == "pc" and self._facts.acpi)
        since = None if checks else _EVERYWHERE
        if value > _MOST_ACPI:
            why = f"an ACPI index of {value} is above {_MOST_ACPI}"
            yield DefinitionRefusal("acpi/@index", why, at_start=True, since_qemu=since)
        elif self._indexes.get(index, 0) > 1:
            found = _twice("acpi/@index", "its ACPI index", at_start=True)
            yield replace(found, since_qemu=since)


def _kind_of_bus(nic: Nic, domain: DomainConfig) -> _Slots | None:
    """The slots of a bus that libvirt adds for a NIC on PCI Express; None if unknown."""
    config = nic.declared
    if config.origin != "interface" or "hostdev" in (config.type, config.actual_type):
        return None
    return _CONVENTIONAL if _model(config, domain) in _CONVENTIONAL_MODELS else _PORT


def _rom_in_firmware(nic: NicConfig, domain: DomainConfig) -> str | None:
    if nic.rom_bar != "off" or nic.origin != "interface" or nic.type == "hostdev":
        return None
    return nic.rom_file or BOOT_ROMS.get(_model(nic, domain))


def _model(nic: NicConfig, domain: DomainConfig) -> str:
    return nic.model or default_model(domain.arch or "", domain.machine)


@lru_cache(maxsize=4096)  # guests have their devices at the same addresses
def _address(given: tuple[tuple[str, str], ...]) -> tuple[str, tuple[int, ...]] | None:
    """The kind and the numbers of a PCI or channel address, from its attributes; None for others,
    and for PCI's all-zero one."""
    texts = dict(given)
    kind = texts.get("type", "")
    if kind == "pci":
        parts = [number(texts.get(name, "0")) for name in ("domain", "bus", "slot", "function")]
    elif kind == "ccw":
        parts = [number(texts.get(name, "")) for name in ("cssid", "ssid", "devno")]
    else:
        return None
    numbers = tuple(part for part in parts if part is not None)
    if len(numbers) < len(parts) or (kind == "pci" and not any(numbers[:3])):
        return None
    return kind, numbers


def _twice(place: str, what: str, *, at_start: bool = False) -> DefinitionRefusal:
    return DefinitionRefusal(place, f"{what} is used twice", at_start=at_start, shared=True)
