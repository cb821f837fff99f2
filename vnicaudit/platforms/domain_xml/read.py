"""Read domain XML into :class:`~vnicaudit.model.domain.Domain`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from lxml import etree
from msgspec.structs import replace

from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Content, Item
from vnicaudit.model.finding import DefinitionForm, Location
from vnicaudit.model.names import NAMELESS
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.domain_xml.conflicts import with_conflicts
from vnicaudit.platforms.domain_xml.documents import (
    XmlDocument,
    documents,
    harmless,
    has_tag,
    may_be_template,
    parsed,
)
from vnicaudit.platforms.domain_xml.facts import DomainFacts, child, config_of, gathered, root_ports
from vnicaudit.platforms.domain_xml.holes import (
    Holes,
    holes_of,
    may_hold_bare,
    shows_bare,
    texts_between,
)
from vnicaudit.platforms.domain_xml.nics import hostdev_nic, interface_nic
from vnicaudit.platforms.domain_xml.recognise import ROOTS, lone_interfaces

# The architecture of a definition that names none.
#
# libvirt uses the host's (``virDomainDefParseCaps``), and then refuses the definition if its
# emulator is for another architecture, or has no such machine (``qemuValidateDomainDef``; 9.0 and
# 11.3, read). So if the definition can be used at all, the emulator's name or the machine tells.


_EMULATOR = re.compile(r"\.?qemu-system-([a-z0-9_]+)(?:[-.].*)?", re.DOTALL)
_TARGETS = {"i386": "i686", "arm": "armv7l"} | {
    name: name
    for name in (
        "x86_64", "aarch64", "ppc64", "ppc64le", "s390x", "riscv32", "riscv64", "loongarch64",
    )
}  # fmt: skip
"""The end of QEMU's name -> libvirt's name of the architecture. A 64-bit binary also runs 32-bit
guests, on a 32-bit host; their NICs are the same. ``qemu-kvm`` and ``kvm`` exist on every
architecture."""

_MACHINES = (
    (re.compile(r"(?:pc|q35)(?:-.*)?|isapc|microvm", re.DOTALL), "x86_64"),
    (re.compile(r"s390-ccw-virtio(?:-.*)?", re.DOTALL), "s390x"),
    (re.compile(r"pseries(?:-.*)?", re.DOTALL), "ppc64"),
)
"""Machine types that only one architecture has."""

_SAME_MACHINES = {"i686": "x86_64", "ppc64le": "ppc64"}


def arch_of(emulator: str | None, machine: str | None) -> str | None:
    """The guest's architecture in libvirt's terms, by the emulator's path and the machine type;
    None if neither names one or the two contradict each other."""
    match = _EMULATOR.fullmatch((emulator or "").rpartition("/")[2])
    by_name = None if match is None else _TARGETS.get(match[1])
    machine = machine or ""
    by_machine = next((arch for kind, arch in _MACHINES if kind.fullmatch(machine)), None)
    if by_name is None or by_machine is None:
        return by_name or by_machine
    return by_name if _SAME_MACHINES.get(by_name, by_name) == by_machine else None


_SESSION = "/.config/libvirt/qemu/"
"""Folder where an unprivileged libvirt keeps its definitions (``$XDG_CONFIG_HOME``, by default)."""
_SYSTEM = re.compile(r"/(?:etc|run|var/lib)/libvirt/qemu/")
"""Folders where the system's libvirt keeps definitions, status, save images and snapshots: on this
host, or in a copy of one."""

_AUTO_GENERATED = b"AUTO-GENERATED FILE"
_QEMU = ("kvm", "qemu", "hvf")
_NICS = ("interface", "hostdev")


def read_content(content: Content) -> Iterator[Item]:
    """The domains in a file's content, and their parts that cannot be read."""
    for domain in read_bytes(content.data, target=content.target, file=content.path):
        yield domain
        yield from domain.unread


def read_bytes(data: bytes, *, target: str, file: str | None) -> Iterator[Domain]:
    """Every domain in ``data`` (one or several documents, a save image, a snapshot).

    Raises TargetError, with file and line, after all readable domains: for the first document that
    is not readable.
    """
    dumped = b"!" in data and _AUTO_GENERATED in data  # in a comment
    for document in documents(data, file or target):
        for element, domain in _declared_in(document, target, file, dumped=dumped):
            yield _with_holes(document, element, domain)


_LONE_UNSEEN = (
    "domain", "guest", "inserted", "machine", "memory", "os", "together", "type", "vcpus",
)  # fmt: skip
_ALONE = (
    "{} without its domain: not judged where the rest of the domain matters (vCPUs, machine, guest "
    "system, owner, other NICs); give the whole definition (virsh dumpxml)"
)
_DIFF = "an <interface> with text between its elements, as in a diff: not judged"
_CUT = (
    "an <interface> that is cut off: not judged; give all of it, better the whole definition "
    "(virsh dumpxml)"
)


def read_lone(content: Content) -> Iterator[Item]:
    """Each NIC outside of a domain, as a domain of which nothing else is known."""
    data, file = content.data, content.path
    found = list(lone_interfaces(data))
    whole = [one.lines + 1 for one in found if not one.is_cut]
    if whole:
        what = "an <interface>" if len(whole) == 1 else f"{len(whole):,} <interface> elements, each"
        yield NotJudged(_ALONE.format(what), file, whole[0])
    for number, one in enumerate(found, 1):
        line = one.lines + 1
        if one.is_cut:
            yield ReadError(_CUT, file, line)
            continue
        text = data[one.start : one.end]
        root = parsed(text)
        if root is None:
            root = parsed(harmless(text)) if may_be_template(text) else None
        if root is None:
            yield ReadError("not well-formed XML: an <interface>", file, line)
        elif any(part.strip() and not has_tag(part) for part in texts_between(root)):
            yield ReadError(_DIFF, file, line)
        else:
            yield _lone(root, Location(content.target, file, line, f"/interface[{number}]"))


def _lone(interface: etree._Element, place: Location) -> Domain:
    domain = etree.Element("domain")
    etree.SubElement(domain, "devices").append(interface)
    holes = holes_of(domain) or Holes()
    holes.unseen.update(_LONE_UNSEEN)
    base = (place.line or 1) - (interface.sourceline or 1)
    within = replace(place, xpath="/domain/devices/interface[1]")
    nics = (interface_nic(interface, 0, within, base),)
    declared = config_of("kvm", "raw", DomainFacts(), nics, session=None)
    name = f"interface at line {place.line}"
    found = holes.applied(Domain(name, declared, place, nics, has_name=False))
    return replace(found, nics=tuple(replace(nic, location=place) for nic in found.nics))


def definition_root(definition: str) -> etree._Element:
    """The root of a definition that libvirt returned. Raises TargetError."""
    return next(documents(definition.encode(), "libvirt")).root


def _with_holes(
    document: XmlDocument, element: etree._Element, domain: Callable[[], Domain]
) -> Domain:
    """The domain declared in ``element``; in a template, with the parts marked that are still to be
    filled in."""
    if document.tag:
        return Holes(document.tag, unfit=True).applied(domain())
    found = domain()
    bare = may_hold_bare(found) and shows_bare(element)
    holes = holes_of(element, bare=bare) if document.template or bare else None
    return found if holes is None else holes.applied(domain())


def _declared_in(
    document: XmlDocument, target: str, file: str | None, *, dumped: bool
) -> list[tuple[etree._Element, Callable[[], Domain]]]:
    """Each ``<domain>`` of a document, with a function that reads it."""
    root = document.root
    suffix = f"[{document.ordinal}]" if document.ordinal else ""
    if root.tag == "domain":
        form: DefinitionForm = "live" if root.get("id") else "dump" if dumped else "raw"
        place = Location(target, file, xpath=f"/domain{suffix}")
        return [(root, partial(domain_of, root, place, document.line_base, form=form))]
    if root.tag not in ROOTS:
        return []
    form = "live" if root.tag == "domstatus" else "dump"
    place = Location(target, file, xpath=f"/{root.tag}{suffix}/domain")
    return [
        (element, partial(domain_of, element, place, document.line_base, form=form))
        for element in root.iterchildren("domain")
    ]


def domain_of(root: etree._Element, place: Location, base: int, *, form: DefinitionForm) -> Domain:
    """The domain whose ``<domain>`` element is ``root``; ``place.xpath`` is the path to it (live
    API: None) and ``base`` the number of lines before its document."""
    facts = gathered(root)
    kind = root.get("type", "qemu")
    if not facts.arch and kind in _QEMU:
        emulator = None if facts.devices is None else child(facts.devices, "emulator")
        path = None if emulator is None else (emulator.text or "").strip()
        facts.arch = arch_of(path, facts.machine)
    nics = () if facts.devices is None else _nics(facts.devices, facts, place, base)
    unread: tuple[ReadError, ...] = ()
    if facts.overrides or facts.commandlines:  # the readers of QEMU's arguments, seldom needed
        from vnicaudit.platforms.domain_xml.override import overridden, read_commandlines

        nics = overridden(
            nics, facts.overrides, facts.commandlines, arch=facts.arch, live=form == "live"
        )
        added, unread = read_commandlines(facts, len(nics), place, base)
        nics += added
    name = (facts.name or "").strip()
    declared = config_of(kind, form, facts, nics, session=_session(place.file))
    nics = with_conflicts(nics, facts, declared)
    return Domain(
        name=name or NAMELESS,
        uuid=facts.uuid.strip().lower() if facts.uuid else None,
        declared=declared,
        location=Location(
            place.target, place.file, base + (root.sourceline or 1) if place.file else None,
            place.xpath,
        ),
        nics=nics,
        suppressions=tuple(facts.suppressions),
        unread=unread,
        root_ports=root_ports(facts.devices)
        if form == "live" and facts.devices is not None
        else None,
        has_name=bool(name),
        huge_kib=facts.huge_kib,
    )  # fmt: skip


def _session(file: str | None) -> bool | None:
    """True if a file's path shows that a session libvirt keeps it, False for the system's; None if
    the path shows neither. False without a file: the definition came from libvirt, and is the
    system's unless libvirt says otherwise."""
    if file is None or _SYSTEM.search(file) is not None:
        return False
    return True if _SESSION in file else None


def _nics(
    devices: etree._Element, facts: DomainFacts, place: Location, base: int
) -> tuple[Nic, ...]:
    nics: list[Nic] = []
    facts.virtio_disk = any(
        (target := child(disk, "target")) is not None and target.get("bus") == "virtio"
        for disk in devices.iterchildren("disk")
    )
    interfaces = hostdevs = 0
    for element in devices.iterchildren(*_NICS):
        if element.tag == "interface":
            interfaces += 1
            where = _place(place, f"interface[{interfaces}]", element, base)
            nics.append(interface_nic(element, len(nics), where, base))
        else:
            hostdevs += 1
            address = element.find("address")
            # taken from the host, but not given to the guest
            kept_back = address is not None and address.get("type") == "unassigned"
            if element.get("type") == "pci" and not kept_back:
                where = _place(place, f"hostdev[{hostdevs}]", element, base)
                nics.append(hostdev_nic(element, len(nics), where))
    return tuple(nics)


def _place(place: Location, step: str, element: etree._Element, base: int) -> Location:
    line = base + (element.sourceline or 0) if place.file else None
    return Location(place.target, place.file, line, f"{place.xpath or '/domain'}/devices/{step}")
