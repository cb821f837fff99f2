"""Domain XML -> :class:`~vnicaudit.model.domain.Domain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from lxml import etree

from vnicaudit.model.domain import DefinitionForm, Domain, DomainConfig
from vnicaudit.model.location import Location
from vnicaudit.model.names import NAMELESS
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.arch import arch_of
from vnicaudit.platforms.domain_xml.bare import may_hold_bare, shows_bare
from vnicaudit.platforms.domain_xml.commandline import TAG as _COMMANDLINE
from vnicaudit.platforms.domain_xml.commandline import read_commandlines
from vnicaudit.platforms.domain_xml.documents import XmlDocument, documents
from vnicaudit.platforms.domain_xml.domain_config import config_of
from vnicaudit.platforms.domain_xml.facts import READERS, DomainFacts, child
from vnicaudit.platforms.domain_xml.holes import Holes, holes_of
from vnicaudit.platforms.domain_xml.nics import hostdev_nic, interface_nic
from vnicaudit.platforms.domain_xml.override import TAG as _OVERRIDE
from vnicaudit.platforms.domain_xml.override import overridden
from vnicaudit.platforms.domain_xml.recognise import ROOTS

_SESSION = "/.config/libvirt/qemu/"
"""Where an unprivileged libvirt keeps its definitions (``$XDG_CONFIG_HOME``, by default)."""
_SYSTEM = ("/etc/libvirt/qemu/", "/run/libvirt/qemu/", "/var/lib/libvirt/qemu/")
"""Where the system's libvirt keeps definitions, status, save images and snapshots: on this host,
or in a copy of one."""

_AUTO_GENERATED = b"AUTO-GENERATED FILE"
_INTERESTING = frozenset({"name", "uuid", "devices", *READERS})
_QEMU = ("kvm", "qemu", "hvf")
_NICS = ("interface", "hostdev")
_SEVERAL = ("sysinfo", _COMMANDLINE, _OVERRIDE)
"""All of these count: SMBIOS and firmware; ``./qemu:commandline/qemu:arg`` to libvirt."""


def read_bytes(data: bytes, *, target: str, file: str | None) -> Iterator[Domain]:
    """Every domain in ``data`` (one or several documents, a save image, a snapshot).

    Raises TargetError, with file and line, when the readable ones have been yielded: for the
    first document that is not.
    """
    dumped = b"!" in data and _AUTO_GENERATED in data  # in a remark
    for document in documents(data, file or target):
        for element, domain in _declared_in(document, target, file, dumped=dumped):
            yield _with_holes(document, element, domain)


def _with_holes(
    document: XmlDocument, element: etree._Element, domain: Callable[[], Domain]
) -> Domain:
    """The domain that is declared in ``element``; in a template, with what is yet to be filled
    in."""
    if document.tag:
        return Holes(document.tag, unfit=True).applied(domain())
    found = domain()
    bare = may_hold_bare(found) and shows_bare(element)
    holes = holes_of(element, bare=bare) if document.template or bare else None
    return found if holes is None else holes.applied(domain())


def _declared_in(
    document: XmlDocument, target: str, file: str | None, *, dumped: bool
) -> list[tuple[etree._Element, Callable[[], Domain]]]:
    """Each ``<domain>`` of a document, and what reads it."""
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
    walk = _DomainWalk()
    for element in root:  # twice as fast as to have lxml look for the names
        if element.tag in _INTERESTING:
            walk.take(element)
    kind = root.get("type", "qemu")
    if not walk.facts.arch and kind in _QEMU:
        walk.facts.arch = arch_of(walk.emulator, walk.facts.machine)
    nics = walk.nics(place, base)
    if walk.facts.overrides or walk.facts.commandlines:
        facts = walk.facts
        nics = overridden(
            nics, facts.overrides, facts.commandlines, arch=facts.arch, live=form == "live"
        )
    unread: tuple[ReadError, ...] = ()
    if walk.facts.commandlines:
        added = read_commandlines(walk.facts, len(nics), place, base)
        nics, unread = nics + added.nics, added.unread
    name = (walk.name or "").strip()
    return Domain(
        name=name or NAMELESS,
        uuid=walk.uuid.strip().lower() if walk.uuid else None,
        declared=_declared(kind, form, walk, nics, place),
        location=Location(
            place.target, place.file, base + (root.sourceline or 1) if place.file else None,
            place.xpath,
        ),
        nics=nics,
        suppressions=tuple(walk.facts.suppressions),
        unread=unread,
        has_name=bool(name),
    )  # fmt: skip


def _declared(
    kind: str, form: DefinitionForm, walk: _DomainWalk, nics: tuple[Nic, ...], place: Location
) -> DomainConfig:
    session = _session(place.file)
    return config_of(kind, form, walk.facts, nics, walk.devices, session=session)


def _session(file: str | None) -> bool | None:
    """True where a file's path shows that a session libvirt keeps it, False where the system's
    does; None where the path shows neither. False without a file: the definition came from libvirt,
    the system's unless libvirt says otherwise."""
    if file is None or any(folder in file for folder in _SYSTEM):
        return False
    return True if _SESSION in file else None


class _DomainWalk:
    """Elements found on the walk over a domain's children. The first of several equal ones counts
    where libvirt reads only one."""

    __slots__ = ("devices", "facts", "name", "seen", "uuid")

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.name: str | None = None
        self.uuid: str | None = None
        self.devices: etree._Element | None = None
        self.facts = DomainFacts()

    def take(self, element: etree._Element) -> None:
        """Note what one child says."""
        tag = str(element.tag)  # only elements are iterated over
        if tag in self.seen and tag not in _SEVERAL:
            return
        self.seen.add(tag)
        if tag == "name":
            self.name = element.text
        elif tag == "uuid":
            self.uuid = element.text
        elif tag == "devices":
            self.devices = element
        else:
            READERS[tag](self.facts, element)

    @property
    def emulator(self) -> str | None:
        """The path of QEMU's binary, where the definition names one."""
        element = None if self.devices is None else child(self.devices, "emulator")
        return None if element is None else (element.text or "").strip()

    def nics(self, place: Location, base: int) -> tuple[Nic, ...]:
        """The NICs among the devices."""
        return () if self.devices is None else _nics(self.devices, self.facts, place, base)


def _nics(
    devices: etree._Element, facts: DomainFacts, place: Location, base: int
) -> tuple[Nic, ...]:
    nics: list[Nic] = []
    facts.virtio_disk = any(map(_is_on_virtio, devices.iterchildren("disk")))
    interfaces = hostdevs = 0
    for element in devices.iterchildren(*_NICS):
        if element.tag == "interface":
            interfaces += 1
            where = _place(place, f"interface[{interfaces}]", element, base)
            nics.append(interface_nic(element, len(nics), where, base))
        else:
            hostdevs += 1
            if element.get("type") == "pci" and not _kept_back(element):
                where = _place(place, f"hostdev[{hostdevs}]", element, base)
                nics.append(hostdev_nic(element, len(nics), where))
    return tuple(nics)


def _is_on_virtio(disk: etree._Element) -> bool:
    target = child(disk, "target")
    return target is not None and target.get("bus") == "virtio"


def _kept_back(element: etree._Element) -> bool:
    """A device taken from the host but not given to the guest."""
    address = element.find("address")
    return address is not None and address.get("type") == "unassigned"


def _place(place: Location, step: str, element: etree._Element, base: int) -> Location:
    line = base + (element.sourceline or 0) if place.file else None
    return Location(place.target, place.file, line, f"{place.xpath or '/domain'}/devices/{step}")
