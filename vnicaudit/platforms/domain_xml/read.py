"""Domain XML -> :class:`~vnicaudit.model.domain.Domain`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lxml import etree
from msgspec.structs import replace

from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.commandline import TAG as _COMMANDLINE
from vnicaudit.platforms.domain_xml.commandline import commandline_nics
from vnicaudit.platforms.domain_xml.documents import Document, documents
from vnicaudit.platforms.domain_xml.nics import hostdev_nic, interface_nic
from vnicaudit.platforms.domain_xml.owner import owner_of
from vnicaudit.platforms.domain_xml.readiness import TRANSITIONAL, readiness_of
from vnicaudit.platforms.domain_xml.spans import ROOTS

SUPPRESS_NAMESPACE = "https://vnicaudit.org/xmlns/1"
"""Namespace of ``<vnicaudit:suppress>`` in a domain's ``<metadata>``."""

_SESSION = "/.config/libvirt/qemu/"
"""Where an unprivileged libvirt keeps its definitions (``$XDG_CONFIG_HOME``, by default)."""

_OSINFO = "{http://libosinfo.org/xmlns/libvirt/domain/1.0}"
_AUTO_GENERATED = b"AUTO-GENERATED FILE"
_CONFIGS_MAX = 4096
_configs: dict[tuple[Any, ...], DomainConfig] = {}


def read_bytes(data: bytes, *, target: str, file: str | None) -> Iterator[Domain]:
    """Every domain in ``data`` (one or several documents, a save image, a snapshot).

    Raises TargetError, with file and line, at the first document that cannot be parsed.
    """
    dumped = _AUTO_GENERATED in data
    for document in documents(data, file or target):
        yield from _domains(document, target, file, dumped=dumped)


def read_text(text: str, *, target: str, form: str) -> Domain:
    """The domain in XML that a live libvirt gave. ``form`` is ``dump`` or ``live``.

    Raises TargetError when it is not a domain.
    """
    for document in documents(text.encode(), target):
        return domain_of(document.root, Location(target), 0, form=form)
    raise AssertionError("documents() yields or raises")


def _domains(
    document: Document, target: str, file: str | None, *, dumped: bool
) -> Iterator[Domain]:
    root = document.root
    suffix = f"[{document.ordinal}]" if document.ordinal else ""
    if root.tag == "domain":
        form = "live" if root.get("id") else "dump" if dumped else "raw"
        yield domain_of(
            root, Location(target, file, xpath=f"/domain{suffix}"), document.line_base, form=form
        )
    elif root.tag in ROOTS:
        form = "live" if root.tag == "domstatus" else "dump"
        for child in root.iterchildren("domain"):
            place = Location(target, file, xpath=f"/{root.tag}{suffix}/domain")
            yield domain_of(child, place, document.line_base, form=form)


def domain_of(root: etree._Element, place: Location, base: int, *, form: str) -> Domain:
    """The domain whose ``<domain>`` element is ``root``; ``place.xpath`` is the path to it (live
    API: None) and ``base`` the number of lines before its document."""
    name = uuid = None
    facts = _Facts()
    devices = None
    for child in root.iterchildren(*_INTERESTING):
        tag: Any = child.tag  # str: only elements are iterated over
        if tag == "name":
            name = name or child.text
        elif tag == "uuid":
            uuid = uuid or child.text
        elif tag == "devices":
            devices = child if devices is None else devices
        else:
            _READERS[tag](facts, child)
    nics: tuple[Nic, ...] = ()
    if devices is not None:
        nics = _nics(devices, facts, place, base)
    if facts.commandline is not None:
        nics += tuple(commandline_nics(facts.commandline, len(nics), place, base))
    config = _config(root.get("type", "qemu"), facts, nics, form)
    if config.readiness == TRANSITIONAL and devices is not None:
        config = replace(config, pcie_ports=_pcie_ports(devices))
    if place.file is not None and _SESSION in place.file:
        config = replace(config, session=True)
    return Domain(
        name=(name or "").strip() or "(no name)",
        uuid=uuid.strip().lower() if uuid else None,
        declared=config,
        location=Location(
            place.target, place.file, base + (root.sourceline or 1) if place.file else None,
            place.xpath,
        ),
        nics=nics,
        suppressions=tuple(facts.suppressions),
    )  # fmt: skip


class _Facts:
    """What the walk over a domain gathers before the record is made."""

    __slots__ = (
        "arch", "cells", "commandline", "machine", "memory_shared", "namespaces", "os_id",
        "product", "security", "suppressions", "vcpus", "vcpus_max", "virtio_disk", "windows",
    )  # fmt: skip

    def __init__(self) -> None:
        self.arch: str | None = None
        self.commandline: etree._Element | None = None
        self.machine: str | None = None
        self.vcpus: str | None = "1"  # virDomainVcpuParse: no <vcpu> means one
        self.vcpus_max: str | None = "1"
        self.namespaces: tuple[str, ...] = ()
        self.product: str | None = None
        self.os_id: str | None = None
        self.windows = False
        self.virtio_disk = False
        self.memory_shared = False
        self.cells: tuple[str | None, ...] = ()
        self.security: str | None = None
        self.suppressions: list[str] = []


def _child(element: etree._Element, tag: str) -> etree._Element | None:
    """The first child of that name; ``find`` does the same at three times the price."""
    return next(element.iterchildren(tag), None)


def _read_vcpu(facts: _Facts, element: etree._Element) -> None:
    facts.vcpus_max = element.text
    facts.vcpus = element.get("current") or element.text


def _read_os(facts: _Facts, element: etree._Element) -> None:
    kind = _child(element, "type")
    if kind is not None:
        facts.arch = kind.get("arch")
        facts.machine = kind.get("machine")


def _read_metadata(facts: _Facts, element: etree._Element) -> None:
    namespaces = []
    for child in element.iterchildren("*"):
        tag: Any = child.tag
        if not tag.startswith("{"):
            continue
        namespace = tag[1 : tag.index("}")]
        namespaces.append(namespace)
        if tag == f"{_OSINFO}libosinfo":
            found = child.find(f"{_OSINFO}os")
            facts.os_id = None if found is None else found.get("id")
        elif namespace == SUPPRESS_NAMESPACE:
            entries = [child, *child.iterchildren("*")]
            facts.suppressions.extend(
                json.dumps(dict(entry.items()))
                for entry in entries
                if entry.tag == f"{{{SUPPRESS_NAMESPACE}}}suppress"
            )
    facts.namespaces = tuple(namespaces)


def _read_sysinfo(facts: _Facts, element: etree._Element) -> None:
    for entry in element.iterfind("system/entry"):
        if entry.get("name") == "product":
            facts.product = (entry.text or "").strip()


def _read_features(facts: _Facts, element: etree._Element) -> None:
    facts.windows = facts.windows or _child(element, "hyperv") is not None


def _read_clock(facts: _Facts, element: etree._Element) -> None:
    facts.windows = facts.windows or element.get("offset") == "localtime"


def _read_memory(facts: _Facts, element: etree._Element) -> None:
    access = _child(element, "access")
    facts.memory_shared = access is not None and access.get("mode") == "shared"


def _read_cpu(facts: _Facts, element: etree._Element) -> None:
    numa = _child(element, "numa")
    if numa is not None:
        facts.cells = tuple(cell.get("memAccess") for cell in numa.iterchildren("cell"))


def _read_security(facts: _Facts, element: etree._Element) -> None:
    facts.security = element.get("type")


def _read_commandline(facts: _Facts, element: etree._Element) -> None:
    facts.commandline = element


_READERS = {
    _COMMANDLINE: _read_commandline,
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
_INTERESTING = ("name", "uuid", "devices", *_READERS)
_DEVICES = ("disk", "interface", "hostdev")
_PORTS = ("pcie-root-port", "pcie-switch-downstream-port")


def _nics(devices: etree._Element, facts: _Facts, place: Location, base: int) -> tuple[Nic, ...]:
    nics: list[Nic] = []
    interfaces = hostdevs = 0
    for element in devices.iterchildren(*_DEVICES):
        tag = element.tag
        if tag == "disk":
            if not facts.virtio_disk:
                disk = _child(element, "target")
                facts.virtio_disk = disk is not None and disk.get("bus") == "virtio"
        elif tag == "interface":
            interfaces += 1
            where = _place(place, f"interface[{interfaces}]", element, base)
            nics.append(interface_nic(element, len(nics), where, base))
        else:
            hostdevs += 1
            if element.get("type") == "pci" and not _kept_back(element):
                where = _place(place, f"hostdev[{hostdevs}]", element, base)
                nics.append(hostdev_nic(element, len(nics), where))
    return tuple(nics)


def _kept_back(element: etree._Element) -> bool:
    """A device taken from the host but not given to the guest."""
    address = element.find("address")
    return address is not None and address.get("type") == "unassigned"


def _pcie_ports(devices: etree._Element) -> tuple[int, ...] | None:
    """Indexes of the controllers that are PCI Express ports; None when the definition shows no
    PCI controller (libvirt adds them when it is defined)."""
    controllers = [
        element for element in devices.iterchildren("controller") if element.get("type") == "pci"
    ]
    if not controllers:
        return None
    indexes = (
        _number(element.get("index")) for element in controllers if element.get("model") in _PORTS
    )
    return tuple(index for index in indexes if index is not None)


def _place(place: Location, step: str, element: etree._Element, base: int) -> Location:
    line = base + (element.sourceline or 0) if place.file else None
    return Location(place.target, place.file, line, f"{place.xpath or '/domain'}/devices/{step}")


def _config(kind: str, facts: _Facts, nics: tuple[Nic, ...], form: str) -> DomainConfig:
    virtio_nic = any((nic.declared.model or "").startswith("virtio") for nic in nics)
    owner = owner_of(facts.namespaces, facts.product)
    shared = _shared_memory(facts)
    key = (
        kind, facts.arch, facts.machine, facts.vcpus, facts.vcpus_max, owner, form, facts.os_id,
        facts.windows, facts.virtio_disk, virtio_nic, shared, facts.security, len(nics),
    )  # fmt: skip
    config = _configs.get(key)
    if config is None:
        if len(_configs) >= _CONFIGS_MAX:
            _configs.clear()
        config = _configs[key] = DomainConfig(
            type=kind,
            arch=facts.arch,
            machine=facts.machine,
            vcpus=_number(facts.vcpus),
            vcpus_max=_number(facts.vcpus_max),
            owner=owner,
            form=form,
            os_id=facts.os_id,
            windows_hint=facts.windows,
            readiness=readiness_of(
                facts.os_id,
                virtio_nic=virtio_nic,
                virtio_disk=facts.virtio_disk,
                windows_hint=facts.windows,
            ),
            shared_memory=shared,
            launch_security=facts.security,
            nics=len(nics),
        )
    return config


def _shared_memory(facts: _Facts) -> bool | None:
    """Whether all guest memory is shared (``qemuValidateDomainDefVhostUserRequireSharedMemory``):
    a NUMA cell that says nothing follows the domain. None: QEMU gets memory of its own making by
    ``<qemu:commandline>``."""
    default = "shared" if facts.memory_shared else None
    if all((access or default) == "shared" for access in facts.cells or (None,)):
        return True
    given = () if facts.commandline is None else facts.commandline.iterchildren("*")
    own = any("memory-backend" in argument.get("value", "") for argument in given)
    return None if own else False


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
