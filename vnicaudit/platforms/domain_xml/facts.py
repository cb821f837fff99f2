"""Facts that a ``<domain>`` states outside its devices, as far as they bear on NICs."""

from __future__ import annotations

import json
from collections.abc import Callable

from lxml import etree

from vnicaudit.platforms.domain_xml.commandline import TAG as _COMMANDLINE
from vnicaudit.platforms.domain_xml.override import TAG as _OVERRIDE

SUPPRESS_NAMESPACE = "https://vnicaudit.org/xmlns/1"
"""Namespace of ``<vnicaudit:suppress>`` in a domain's ``<metadata>``."""

_SUPPRESS = f"{{{SUPPRESS_NAMESPACE}}}suppress"
_OSINFO = "{http://libosinfo.org/xmlns/libvirt/domain/1.0}"


class DomainFacts:
    """Facts gathered on the walk over a domain, before the record is made."""

    __slots__ = (
        "arch", "cells", "commandlines", "encrypted", "machine", "memory_shared", "namespaces",
        "os_id", "overrides", "product", "suppressions", "vcpus", "vcpus_max", "virtio_disk",
        "windows",
    )  # fmt: skip

    def __init__(self) -> None:
        self.arch: str | None = None
        self.commandlines: list[etree._Element] = []
        self.overrides: list[etree._Element] = []
        self.machine: str | None = None
        self.vcpus: str | None = "1"  # virDomainVcpuParse: no <vcpu> means one
        self.vcpus_max: str | None = "1"
        self.namespaces: tuple[str, ...] = ()
        self.product: str | None = None
        self.os_id: str | None = None
        self.windows = False
        self.encrypted = False
        self.virtio_disk = False
        self.memory_shared = False
        self.cells: tuple[str | None, ...] = ()
        self.suppressions: list[str] = []


def child(element: etree._Element, tag: str) -> etree._Element | None:
    """The first child of that name; ``find`` does the same at three times the price."""
    return next(element.iterchildren(tag), None)


def _read_vcpu(facts: DomainFacts, element: etree._Element) -> None:
    facts.vcpus_max = element.text
    facts.vcpus = element.get("current") or element.text


def _read_os(facts: DomainFacts, element: etree._Element) -> None:
    kind = child(element, "type")
    if kind is not None:
        facts.arch = kind.get("arch")
        facts.machine = kind.get("machine")


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
    """An entry that stands alone, or several in an element of their own."""
    return [
        json.dumps(dict(found.items()))
        for found in (entry, *entry.iterchildren("*"))
        if found.tag == _SUPPRESS
    ]


def _read_sysinfo(facts: DomainFacts, element: etree._Element) -> None:
    given = {
        entry.get("name"): (entry.text or "").strip() for entry in element.iterfind("system/entry")
    }
    if not given:
        return  # the firmware's
    # KubeVirt writes manufacturer and family, and a product named "None"
    kubevirt = "KubeVirt" in (given.get("manufacturer"), given.get("family"))
    facts.product = "KubeVirt" if kubevirt else given.get("product")


def _read_features(facts: DomainFacts, element: etree._Element) -> None:
    facts.windows = facts.windows or child(element, "hyperv") is not None


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


READERS: dict[str, Callable[[DomainFacts, etree._Element], None]] = {
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
"""Child of ``<domain>`` -> what reads it."""


def shared_memory(facts: DomainFacts) -> bool | None:
    """True where all guest memory is shared
    (``qemuValidateDomainDefVhostUserRequireSharedMemory``): a NUMA cell without a setting of its
    own follows the domain. None where ``<qemu:commandline>`` gives QEMU a memory backend of its
    own."""
    default = "shared" if facts.memory_shared else None
    if all((access or default) == "shared" for access in facts.cells or (None,)):
        return True
    given = (argument for element in facts.commandlines for argument in element.iterchildren("*"))
    own = any("memory-backend" in argument.get("value", "") for argument in given)
    return None if own else False
