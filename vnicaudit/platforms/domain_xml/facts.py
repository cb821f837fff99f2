"""Facts that a ``<domain>`` states outside its devices, as far as they affect NICs."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from lxml import etree

from vnicaudit.knowledge.backends import is_opennebula, owner_of
from vnicaudit.knowledge.readiness import TRANSITIONAL, readiness_of
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import DefinitionForm, KnownOwner
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.refusals import count, word

SUPPRESS_NAMESPACE = "https://vnicaudit.org/xmlns/1"
"""Namespace of ``<vnicaudit:suppress>`` in a domain's ``<metadata>``."""

_SUPPRESS = f"{{{SUPPRESS_NAMESPACE}}}suppress"
_PRODUCT_ENTRIES = ("manufacturer", "family", "product")
_OSINFO = "{http://libosinfo.org/xmlns/libvirt/domain/1.0}"


_NONE = etree.Element("none")
"""Stands for a child that a domain lacks."""


NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
"""The namespace of what passes to QEMU unchanged."""
_COMMANDLINE = f"{{{NAMESPACE}}}commandline"
_OVERRIDE = f"{{{NAMESPACE}}}override"

_UNITS = {
    "b": 1, "bytes": 1, "KB": 1000, "k": 1024, "KiB": 1024, "MB": 10**6, "M": 2**20, "MiB": 2**20,
    "GB": 10**9, "G": 2**30, "GiB": 2**30, "TB": 10**12, "T": 2**40, "TiB": 2**40,
}  # fmt: skip
"""``<memory unit=…>`` (libvirt.org/formatdomain.html, Memory Allocation); libvirt writes KiB."""


class DomainFacts(msgspec.Struct):
    """Facts gathered on the walk over a domain, before the record is made."""

    name: str | None = None
    uuid: str | None = None
    devices: etree._Element | None = None
    arch: str | None = None
    commandlines: list[etree._Element] = []
    overrides: list[etree._Element] = []
    machine: str | None = None
    vcpus: str | None = "1"  # virDomainVcpuParse: no <vcpu> means one
    vcpus_max: str | None = "1"
    namespaces: tuple[str, ...] = ()
    product: str | None = None
    os_id: str | None = None
    windows: bool = False
    acpi: bool = False
    boot_device: bool = False
    """``<os>`` has ``<boot dev=…>``."""
    encrypted: bool = False
    virtio_disk: bool = False
    memory_shared: bool = False
    huge_kib: int | None = None
    cells: tuple[str | None, ...] = ()
    suppressions: list[str] = []


def child(element: etree._Element, tag: str) -> etree._Element | None:
    """The first child of that name; ``find`` does the same but takes three times as long."""
    return next(element.iterchildren(tag), None) if len(element) else None


def kib_of(element: etree._Element | None) -> int | None:
    """The size in ``<memory>``, in KiB; None: there is none."""
    text = "" if element is None else (element.text or "").strip()
    if element is None or not text.isdecimal() or len(text) > 20:
        return None
    return int(text) * _UNITS.get(element.get("unit", "KiB"), 1024) // 1024


def gathered(domain: etree._Element) -> DomainFacts:
    """The facts of a ``<domain>``. Of several equal children the first counts, if libvirt reads
    only one; all of SMBIOS and firmware count, and ``./qemu:commandline/qemu:arg``."""
    facts = DomainFacts()
    first: dict[str, etree._Element] = {}
    for element in domain:  # twice as fast as letting lxml search for the names
        tag: object = element.tag  # not a string for an entity
        if not isinstance(tag, str):
            continue
        first.setdefault(tag, element)
        if tag == "sysinfo":
            _read_sysinfo(facts, element)
        elif tag == _COMMANDLINE:
            facts.commandlines.append(element)
        elif tag == _OVERRIDE:
            facts.overrides.append(element)
    _read_settings(facts, first)
    return facts


def _read_settings(facts: DomainFacts, first: Mapping[str, etree._Element]) -> None:
    """The facts in children of which libvirt reads only the first."""
    facts.name, facts.uuid = first.get("name", _NONE).text, first.get("uuid", _NONE).text
    facts.devices = first.get("devices")
    facts.encrypted = "launchSecurity" in first
    if (vcpu := first.get("vcpu")) is not None:
        facts.vcpus_max = vcpu.text
        facts.vcpus = vcpu.get("current") or vcpu.text
    system, features = first.get("os", _NONE), first.get("features", _NONE)
    if (kind := child(system, "type")) is not None:
        facts.arch, facts.machine = kind.get("arch"), kind.get("machine")
    facts.boot_device = child(system, "boot") is not None
    facts.acpi = child(features, "acpi") is not None
    local_time = first.get("clock", _NONE).get("offset") == "localtime"
    facts.windows = local_time or child(features, "hyperv") is not None
    backing = first.get("memoryBacking", _NONE)
    if child(backing, "hugepages") is not None:
        facts.huge_kib = kib_of(first.get("memory"))
    access = child(backing, "access")
    facts.memory_shared = access is not None and access.get("mode") == "shared"
    if (numa := child(first.get("cpu", _NONE), "numa")) is not None:
        facts.cells = tuple(cell.get("memAccess") for cell in numa.iterchildren("cell"))
    _read_metadata(facts, first.get("metadata", _NONE))


def _read_metadata(facts: DomainFacts, element: etree._Element) -> None:
    namespaces = []
    for entry in element.iterchildren("*"):
        tag = str(entry.tag)
        if not tag.startswith("{"):
            continue
        namespace = tag[1 : tag.index("}")]
        namespaces.append(namespace)
        if tag == f"{_OSINFO}libosinfo":
            found = entry.find(f"{_OSINFO}os")
            facts.os_id = None if found is None else found.get("id")
        elif namespace == SUPPRESS_NAMESPACE:
            facts.suppressions.extend(_suppressions(entry))
    facts.namespaces = tuple(namespaces)


def _suppressions(entry: etree._Element) -> list[str]:
    """One entry, or several in an element of their own."""
    return [
        msgspec.json.encode(dict(found.items())).decode()
        for found in (entry, *entry.iterchildren("*"))
        if found.tag == _SUPPRESS
    ]


def _read_sysinfo(facts: DomainFacts, element: etree._Element) -> None:
    entries = list(element.iterfind("system/entry"))
    if not entries:
        return  # these belong to the firmware
    # serial numbers differ for each guest, and are not read
    given = {
        name: (entry.text or "").strip() for entry in entries
        if (name := entry.get("name")) in _PRODUCT_ENTRIES
    }  # fmt: skip
    # KubeVirt writes manufacturer and family, and a product named "None"
    kubevirt = "KubeVirt" in (given.get("manufacturer"), given.get("family"))
    facts.product = "KubeVirt" if kubevirt else given.get("product")


def shared_memory(facts: DomainFacts) -> bool | None:
    """True if all guest memory is shared (``qemuValidateDomainDefVhostUserRequireSharedMemory``): a
    NUMA cell without its own setting follows the domain. None if ``<qemu:commandline>`` gives QEMU
    a separate memory backend."""
    if not (facts.cells or facts.commandlines):  # nearly always
        return facts.memory_shared
    default = "shared" if facts.memory_shared else None
    if all((access or default) == "shared" for access in facts.cells or (None,)):
        return True
    given = (argument for element in facts.commandlines for argument in element.iterchildren("*"))
    own = any("memory-backend" in argument.get("value", "") for argument in given)
    return None if own else False


# Build a :class:`~vnicaudit.model.domain.DomainConfig` from the settings gathered from a domain.


_PORTS = ("pcie-root-port", "pcie-switch-downstream-port")


def config_of(
    kind: str,
    form: DefinitionForm,
    facts: DomainFacts,
    nics: tuple[Nic, ...],
    *,
    session: bool | None,
) -> DomainConfig:
    """The record of a ``<domain type=kind>``; ``form`` and ``session`` are as in the record."""
    readiness = readiness_of(
        facts.os_id,
        facts.arch,
        virtio_nic=any((nic.declared.model or "").startswith("virtio") for nic in nics),
        virtio_disk=facts.virtio_disk,
        windows_hint=facts.windows,
    )
    ports = None
    matter = readiness == TRANSITIONAL or any(nic.declared.iommu == "on" for nic in nics)
    if matter and facts.devices is not None:
        ports = pcie_ports(facts.devices)
    return DomainConfig(
        encrypted=facts.encrypted,
        type=word(kind),
        arch=_word(facts.arch),
        machine=_word(facts.machine),
        vcpus=count((facts.vcpus or "").strip()),
        vcpus_max=count((facts.vcpus_max or "").strip()),
        owner=_owner(facts),
        described_by=form,
        os_id=_word(facts.os_id),
        readiness=readiness,
        shared_memory=shared_memory(facts),
        session=session,
        nics=len(nics),
        pcie_ports=ports,
    )


def _owner(facts: DomainFacts) -> KnownOwner:
    owner = owner_of(facts.namespaces, facts.product)
    if owner == "libvirt" and facts.devices is not None:
        sources = (source for disk in facts.devices.iterchildren("disk")
                   for source in disk.iterchildren("source"))  # fmt: skip
        paths = (source.get("file") or source.get("dev") or "" for source in sources)
        return "opennebula" if is_opennebula(facts.name, paths) else owner
    return owner


def _word(text: str | None) -> str | None:
    return None if text is None else word(text)


def root_ports(devices: etree._Element) -> tuple[int, int] | None:
    """How many PCI Express ports have no device, and how many there are; None without any. libvirt
    attaches a virtio device to a port of its own, and fails with ``No more available PCI slots`` if
    none is free (measured with 9.0 on q35; docs/pci-hotplug.rst)."""
    ports = pcie_ports(devices)
    if not ports:
        return None
    buses = (address.get("bus", "") for address in devices.iterfind("*/address[@type='pci']"))
    taken = {int(bus, 0) for bus in buses if re.fullmatch(r"0x[0-9a-f]{1,2}", bus)}
    return len(set(ports) - taken), len(ports)


def pcie_ports(devices: etree._Element) -> tuple[int, ...] | None:
    """Indexes of the controllers that are PCI Express ports; None if the definition has no PCI
    controller (libvirt adds them when it is defined)."""
    controllers = [
        element for element in devices.iterchildren("controller") if element.get("type") == "pci"
    ]
    if not controllers:
        return None
    indexes = (
        count(element.get("index", "")) for element in controllers if element.get("model") in _PORTS
    )
    return tuple(index for index in indexes if index is not None)
