"""Facts that a ``<domain>`` states outside its devices, as far as they affect NICs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from lxml import etree
from msgspec.structs import replace

from vnicaudit.knowledge.backends import is_opennebula, owner_of
from vnicaudit.knowledge.readiness import TRANSITIONAL, readiness_of
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import DefinitionForm, KnownOwner, Owner
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.combinations import count, word
from vnicaudit.platforms.domain_xml.commandline import TAG as _COMMANDLINE
from vnicaudit.platforms.domain_xml.override import TAG as _OVERRIDE

SUPPRESS_NAMESPACE = "https://vnicaudit.org/xmlns/1"
"""Namespace of ``<vnicaudit:suppress>`` in a domain's ``<metadata>``."""

_SUPPRESS = f"{{{SUPPRESS_NAMESPACE}}}suppress"
_PRODUCT_ENTRIES = ("manufacturer", "family", "product")
_OSINFO = "{http://libosinfo.org/xmlns/libvirt/domain/1.0}"


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
    cells: tuple[str | None, ...] = ()
    suppressions: list[str] = []


def child(element: etree._Element, tag: str) -> etree._Element | None:
    """The first child of that name; ``find`` does the same but takes three times as long."""
    return next(element.iterchildren(tag), None) if len(element) else None


def gathered(domain: etree._Element) -> DomainFacts:
    """The facts of a ``<domain>``. Of several equal children the first counts, if libvirt reads
    only one."""
    facts = DomainFacts()
    seen: set[str] = set()
    for element in domain:  # twice as fast as letting lxml search for the names
        tag: object = element.tag  # not a string for an entity
        reader = _READERS.get(tag) if isinstance(tag, str) else None
        if reader is None or tag in seen:
            continue
        if tag not in _SEVERAL:
            seen.add(str(tag))
        reader(facts, element)
    return facts


def _read_name(facts: DomainFacts, element: etree._Element) -> None:
    facts.name = element.text


def _read_uuid(facts: DomainFacts, element: etree._Element) -> None:
    facts.uuid = element.text


def _read_devices(facts: DomainFacts, element: etree._Element) -> None:
    facts.devices = element


def _read_vcpu(facts: DomainFacts, element: etree._Element) -> None:
    facts.vcpus_max = element.text
    facts.vcpus = element.get("current") or element.text


def _read_os(facts: DomainFacts, element: etree._Element) -> None:
    kind = child(element, "type")
    if kind is not None:
        facts.arch = kind.get("arch")
        facts.machine = kind.get("machine")
    facts.boot_device = child(element, "boot") is not None


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
    import json  # rarely needed

    return [
        json.dumps(dict(found.items()))
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


def _read_features(facts: DomainFacts, element: etree._Element) -> None:
    facts.windows = facts.windows or child(element, "hyperv") is not None
    facts.acpi = child(element, "acpi") is not None


def _read_clock(facts: DomainFacts, element: etree._Element) -> None:
    facts.windows = facts.windows or element.get("offset") == "localtime"


def _read_memory(facts: DomainFacts, element: etree._Element) -> None:
    access = child(element, "access")
    facts.memory_shared = access is not None and access.get("mode") == "shared"


def _read_cpu(facts: DomainFacts, element: etree._Element) -> None:
    numa = child(element, "numa")
    if numa is not None:
        facts.cells = tuple(cell.get("memAccess") for cell in numa.iterchildren("cell"))


def _read_commandline(facts: DomainFacts, element: etree._Element) -> None:
    facts.commandlines.append(element)


def _read_override(facts: DomainFacts, element: etree._Element) -> None:
    facts.overrides.append(element)


def _read_security(facts: DomainFacts, element: etree._Element) -> None:
    del element
    facts.encrypted = True


_READERS: dict[str, Callable[[DomainFacts, etree._Element], None]] = {
    "name": _read_name,
    "uuid": _read_uuid,
    "devices": _read_devices,
    _COMMANDLINE: _read_commandline,
    _OVERRIDE: _read_override,
    "vcpu": _read_vcpu,
    "os": _read_os,
    "metadata": _read_metadata,
    "sysinfo": _read_sysinfo,
    "features": _read_features,
    "clock": _read_clock,
    "memoryBacking": _read_memory,
    "cpu": _read_cpu,
    "launchSecurity": _read_security,
}
"""Child of ``<domain>`` -> its reader."""
_SEVERAL = ("sysinfo", _COMMANDLINE, _OVERRIDE)
"""Children all of which count: SMBIOS and firmware; and ``./qemu:commandline/qemu:arg`` for
libvirt."""


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


_REMEMBERED = 4096
_LONG = 1024
"""Characters; a domain with more is unusual, and not cached."""
_PORTS = ("pcie-root-port", "pcie-switch-downstream-port")


class _Key(NamedTuple):
    """Everything that determines a record, as text where the definition has text."""

    kind: str
    form: DefinitionForm
    arch: str | None
    machine: str | None
    os_id: str | None
    owner: Owner
    vcpus: str | None
    vcpus_max: str | None
    windows: bool
    encrypted: bool
    virtio_disk: bool
    virtio_nic: bool
    shared: bool | None
    nics: int
    session: bool | None


_records: dict[_Key, DomainConfig] = {}
"""Cache: domains with equal settings share one record."""


def config_of(
    kind: str,
    form: DefinitionForm,
    facts: DomainFacts,
    nics: tuple[Nic, ...],
    *,
    session: bool | None,
) -> DomainConfig:
    """The record of a ``<domain type=kind>``; ``form`` and ``session`` are as in the record."""
    key = _key(kind, form, facts, nics, session)
    config = _records.get(key)
    if config is None:
        config = _record(key)
        if sum(len(text) for text in key if isinstance(text, str)) < _LONG:
            if len(_records) >= _REMEMBERED:
                _records.clear()  # bounded; refilled as needed
            _records[key] = config
    if facts.devices is None:
        return config
    if config.readiness == TRANSITIONAL or any(nic.declared.iommu == "on" for nic in nics):
        return replace(config, pcie_ports=pcie_ports(facts.devices))
    return config


def _key(
    kind: str, form: DefinitionForm, facts: DomainFacts, nics: tuple[Nic, ...], session: bool | None
) -> _Key:
    return _Key(
        kind,
        form,
        facts.arch,
        facts.machine,
        facts.os_id,
        _owner(facts),
        facts.vcpus,
        facts.vcpus_max,
        facts.windows,
        facts.encrypted,
        facts.virtio_disk,
        _has_virtio(nics),
        shared_memory(facts),
        len(nics),
        session,
    )


def _owner(facts: DomainFacts) -> KnownOwner:
    owner = owner_of(facts.namespaces, facts.product)
    if owner == "libvirt" and facts.devices is not None:
        sources = (source for disk in facts.devices.iterchildren("disk")
                   for source in disk.iterchildren("source"))  # fmt: skip
        paths = (source.get("file") or source.get("dev") or "" for source in sources)
        return "opennebula" if is_opennebula(facts.name, paths) else owner
    return owner


def _has_virtio(nics: tuple[Nic, ...]) -> bool:
    for nic in nics:  # a loop, not a generator: this runs for each domain
        model = nic.declared.model
        if model is not None and model.startswith("virtio"):
            return True
    return False


def _record(key: _Key) -> DomainConfig:
    return DomainConfig(
        encrypted=key.encrypted,
        type=word(key.kind),
        arch=_word(key.arch),
        machine=_word(key.machine),
        vcpus=count((key.vcpus or "").strip()),
        vcpus_max=count((key.vcpus_max or "").strip()),
        owner=key.owner,
        described_by=key.form,
        os_id=_word(key.os_id),
        readiness=readiness_of(
            key.os_id,
            key.arch,
            virtio_nic=key.virtio_nic,
            virtio_disk=key.virtio_disk,
            windows_hint=key.windows,
        ),
        shared_memory=key.shared,
        session=key.session,
        nics=key.nics,
    )


def _word(text: str | None) -> str | None:
    return None if text is None else word(text)


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
