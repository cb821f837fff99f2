"""Parts of a domain that a template decides, so that the rest can be judged.

A value is literal if nothing is filled in there. A placeholder in a judged value makes that value
unknown; a condition around an element makes the element's facts unknown; and a tag that inserts
something makes it unknown which other elements there are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from lxml import etree
from msgspec.structs import replace

from vnicaudit.knowledge.models import stands_for_model
from vnicaudit.knowledge.systems import KVM_OR_QEMU
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import ARM, RISCV
from vnicaudit.model.nic import Nic, NicConfig, place_of
from vnicaudit.platforms.domain_xml.documents import effect, has_tag
from vnicaudit.platforms.domain_xml.nics import CHILDREN
from vnicaudit.platforms.domain_xml.refusals import is_bare
from vnicaudit.text.beginning import is_only_placeholder, opened, placeholder_text

# Placeholders without brackets: ``NICDRIVER``, ``XXXXXXX``, also ``GUESTNAME`` or ``MEMORY``.
#
# A word in capitals may also be a misspelt model (``PCNET``), so more evidence is needed: the word
# itself is that of a placeholder, or other words in the definition are.


_NAMES = re.compile(r"X{3,}|[A-Z0-9_]*(?:GUEST|DOMAIN|VM|HOST|INSTANCE)_?NAME[A-Z0-9_]*|NAME")
_NEVER_WORDS = ("memory", "currentMemory", "vcpu", "uuid")
"""Elements of a domain that hold a number or a UUID: libvirt refuses a word there."""


def may_hold_bare(domain: Domain) -> bool:
    """Quick check whether a relevant value of the domain is in capitals."""
    return any(_may_be_bare(nic.declared) for nic in domain.nics)


@lru_cache(maxsize=4096)  # a fleet has many NICs but few kinds of them
def _may_be_bare(nic: NicConfig) -> bool:
    return bool(
        nic.invalid
        or nic.refused
        or is_bare(nic.model or "")
        or is_bare(nic.type)
        or is_bare(nic.driver_name or "")
    )


def shows_bare(domain: etree._Element) -> bool:
    """True if a definition shows that it uses words in capitals as placeholders."""
    for name in _NEVER_WORDS:
        if is_bare(domain.findtext(name) or ""):
            return True
    name = (domain.findtext("name") or "").strip()
    if is_bare(name) and _NAMES.fullmatch(name):
        return True
    models = (model.get("type") or "" for model in domain.iterfind("devices/interface/model"))
    return any(map(stands_for_model, models))


ALL = "*"
"""Field of a NIC: a template decides which elements it has."""

_FIELDS = {
    (path, field.attribute): field.name for path, fields in CHILDREN.items() for field in fields
} | {("mac", "address"): "mac"}
_OFFLOADS = (("driver", "host"), ("driver", "guest"))
_OF_MEMORY = ("memoryBacking", "cpu")
_OF_THE_GUEST = ("metadata", "features", "clock", "sysinfo", "devices")
"""Elements that show which system the guest runs."""
_FOR_QEMU = "{http://libvirt.org/schemas/domain/qemu/1.0}"
_ERB = re.compile(r"\{\{(-?=[^{}]*)\}\}")
"""A tag of ERB in its harmless form."""
_WITH_PATHS = ("vhostuser", "vdpa")
"""Types of interfaces whose ``<source>`` holds settings besides a name."""


class Holes(msgspec.Struct):
    """The unknown parts of one ``<domain>``. ``nics``: 1-based number of an interface -> fields
    that are unknown. ``filled``: the same for places without a field. ``first``: the placeholder or
    tag to name in a message."""

    first: str = ""
    unseen: set[str] = msgspec.field(default_factory=set)
    nics: dict[int, set[str]] = msgspec.field(default_factory=dict)
    filled: dict[int, set[str]] = msgspec.field(default_factory=dict)
    nameless: set[str] = msgspec.field(default_factory=set)
    unfit: bool = False
    """Nothing in it is certain."""
    bare: bool = False
    """Words in capitals are placeholders."""

    def is_open(self, text: str | None) -> bool:
        """True if a value is, or contains the start of, a placeholder that is still to be filled
        in."""
        if text is None:
            return False
        return is_only_placeholder(text) or opened(text) or (self.bare and is_bare(text))

    def note_placeholder(self, text: str) -> None:
        """Record a placeholder, if it is the first."""
        self.first = self.first or placeholder_text(text)

    def applied(self, domain: Domain) -> Domain:
        """The domain with its unknown parts marked."""
        nics = tuple(self._nic(nic) for nic in domain.nics)
        return replace(
            domain,
            name=_ERB.sub(r"<%\1%>", domain.name),
            uuid=None if "uuid" in self.nameless else domain.uuid,
            declared=self._config(domain.declared),
            nics=() if self.unfit else nics,
            template=self.first,
            unjudged=f"the rendered definition: here a template decides ({self.first})"
            if self.unfit
            else domain.unjudged,
        )

    def _nic(self, nic: Nic) -> Nic:
        number = _number(nic.location.xpath or "")
        nic = self._without_filled_refusals(nic, self.filled.get(number, set()))
        unseen = self.nics.get(number, set())
        if not unseen:
            return nic
        return replace(
            nic,
            mac=None if "mac" in unseen else nic.mac,
            declared=replace(nic.declared, unseen=tuple(sorted(unseen - {"mac"}))),
        )

    @staticmethod
    def _without_filled_refusals(nic: Nic, filled: set[str]) -> Nic:
        """Return the NIC without the refusals of values that are still to be filled in, or that
        two devices share which may never exist together."""
        left = tuple(
            one for one in nic.declared.refused if one.place not in filled and not one.shared
        )
        if left == nic.declared.refused:
            return nic
        return replace(nic, declared=replace(nic.declared, refused=left))

    def _config(self, config: DomainConfig) -> DomainConfig:
        unseen = self.unseen
        if "os" in unseen:
            config = replace(config, arch=None, machine=None)
        if "machine" in unseen:
            lost = config.arch in (*ARM, *RISCV)  # there the machine decides everything else
            config = replace(config, machine=None, arch=None if lost else config.arch)
        if "arch" in unseen:
            config = replace(config, arch=None)
        if "vcpus" in unseen:
            config = replace(config, vcpus=None, vcpus_max=None)
        if "memory" in unseen:
            config = replace(config, shared_memory=None)
        if "guest" in unseen:
            config = replace(config, readiness="unknown")
        if "type" in unseen:
            config = replace(config, type=KVM_OR_QEMU)
        return replace(config, unseen=tuple(sorted(unseen)))


def holes_of(domain: etree._Element, *, bare: bool = False) -> Holes | None:
    """The parts of a domain that a template decides; None if there are none. Placeholders are
    removed from the elements, so that they are not read as values. ``bare``: words in capitals are
    placeholders, too."""
    found = Holes(bare=bare)
    _values_of_domain(domain, found)
    for number, interface in enumerate(domain.iterfind("devices/interface"), 1):
        _values_of_nic(interface, number, found)
    _structure(domain, found)
    return found if found.first else None


def _values_of_domain(domain: etree._Element, found: Holes) -> None:
    if found.is_open(domain.get("type")):
        found.note_placeholder(str(domain.get("type")))
        found.unseen.add("type")
        domain.set("type", "kvm")
    for child in domain.iterchildren("*"):
        tag = str(child.tag)
        for text in _texts(child) if tag != "devices" else ():
            _value_of_domain(tag, text, found)
    for kind in domain.iterfind("os/type"):
        for name in ("arch", "machine"):
            if found.is_open(kind.get(name)):
                found.note_placeholder(kind.attrib.pop(name))
                found.unseen.add(name)


def _value_of_domain(tag: str, text: str, found: Holes) -> None:
    decides = found.is_open(text) if tag in ("vcpu", "uuid", "os") else opened(text)
    if not decides and not (found.bare and tag == "name" and is_bare(text)):
        return
    if tag == "vcpu":
        found.unseen.add("vcpus")
    elif tag == "uuid":
        found.nameless.add("uuid")
    elif tag in _OF_MEMORY:
        found.unseen.add("memory")
    elif tag in _OF_THE_GUEST:
        found.unseen.add("guest")
    elif tag.startswith(_FOR_QEMU):
        found.unfit = True
    elif tag not in ("name", "os"):
        return  # descriptions, titles, memory: nothing that is judged
    found.note_placeholder(text)


def _values_of_nic(interface: etree._Element, number: int, found: Holes) -> None:
    unseen: set[str] = set()
    for name in ("type", "trustGuestRxFilters"):
        if found.is_open(interface.get(name)):
            found.note_placeholder(str(interface.attrib.pop(name)))
            unseen.add("type" if name == "type" else "trust_guest_rx_filters")
    for child in interface.iterchildren("*"):
        unseen.update(_values_of_child(interface, child, found))
    if placed := next((text for text in texts_between(interface) if _is_placed(text, found)), None):
        found.note_placeholder(placed.strip())
        unseen.add(ALL)
    if unseen:
        found.nics[number] = unseen
    if found.bare and (filled := set(_filled(interface, found))):
        found.filled[number] = filled


def _filled(interface: etree._Element, found: Holes) -> Iterator[str]:
    """Places of words in capitals that remain because no field holds them."""
    for part in interface.iterdescendants("*"):
        outer = [str(step.tag) for step in part.iterancestors()]
        steps = [*reversed(outer[: outer.index("interface")]), str(part.tag)]
        for name, value in _attributes(part):
            if is_bare(value):
                found.note_placeholder(value)
                yield place_of("/".join(steps), name)


def _values_of_child(
    interface: etree._Element, child: etree._Element, found: Holes
) -> Iterator[str]:
    tag = str(child.tag)
    for name, value in _attributes(child):
        field = _FIELDS.get((tag, name))
        if field is not None and found.is_open(value):
            found.note_placeholder(value)
            del child.attrib[name]
            yield field
        elif field is None and (opened(value) or (tag == "address" and is_only_placeholder(value))):
            found.note_placeholder(value)
            if tag == "source" and interface.get("type") in _WITH_PATHS:
                yield "source"
    for part in child.iterchildren("*"):
        for name, value in _attributes(part):
            offload = (tag, str(part.tag)) in _OFFLOADS
            if opened(value) or (offload and is_only_placeholder(value)):
                found.note_placeholder(value)
            if offload and found.is_open(value):
                del part.attrib[name]
                yield f"{part.tag!s}_off"


def _attributes(element: etree._Element) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in element.attrib.items()]


def _structure(domain: etree._Element, found: Holes) -> None:
    """Conditions and insertions around the children of a domain and of its devices."""
    depth = _children(domain, 0, found)
    for devices in domain.iterchildren("devices"):
        _alternatives(devices, _children(devices, depth.get(devices, 0), found), found)


def _alternatives(devices: etree._Element, depths: dict[etree._Element, int], found: Holes) -> None:
    """Note NICs inside a condition, which may never exist together with the others; of two with the
    same MAC address only one exists."""
    interfaces = list(devices.iterchildren("interface"))
    macs = [_mac(interface) for interface in interfaces]
    uses = Counter(macs)
    for number, (interface, mac) in enumerate(zip(interfaces, macs, strict=True), 1):
        if not depths.get(interface):
            continue
        if len(interfaces) > 1:
            found.unseen.add("together")
        if mac and uses[mac] > 1:
            found.nics.setdefault(number, set()).add("mac")


def _mac(interface: etree._Element) -> str:
    element = interface.find("mac")
    return "" if element is None else str(element.get("address", "")).strip().lower()


def _children(parent: etree._Element, depth: int, found: Holes) -> dict[etree._Element, int]:
    """Note the children inside conditions; returns for each child how many conditions surround
    it."""
    depths: dict[etree._Element, int] = {}
    text = parent.text
    for child in (*parent.iterchildren("*"), None):
        text = _text_up_to(text, child, parent)
        now = effect(text, depth)
        placed = _is_placed(text, found)
        if placed:
            found.note_placeholder((text or "").strip())
        if now.inserts or (placed and not has_tag(text)):
            found.unseen |= {"inserted", "guest"}
            if str(parent.tag) == "domain":
                found.unseen |= {"memory"} | ({"vcpus"} if parent.find("vcpu") is None else set())
        depth = now.depth
        if child is None:
            break
        depths[child] = depth
        if depth:
            found.unseen |= set(_conditional(str(child.tag)))
            found.unfit = found.unfit or str(child.tag).startswith(_FOR_QEMU)
        text = child.tail
    return depths


def _text_up_to(text: str | None, until: etree._Element | None, parent: etree._Element) -> str:
    """The text up to an element (None: to the end), including text behind comments."""
    parts = [text or ""]
    last = parent[-1] if until is None and len(parent) else None
    step = last if until is None else until.getprevious()
    behind = []
    while step is not None and not isinstance(step.tag, str):
        behind.append(step.tail or "")
        step = step.getprevious()
    return "".join([*parts, *reversed(behind)])


def _is_placed(text: str | None, found: Holes) -> bool:
    """True if a text between elements, which libvirt ignores, contains a template tag or a
    placeholder."""
    if not text or text.isspace():
        return False
    return has_tag(text) or any(found.is_open(line.strip()) for line in text.split("\n") if line)


def _conditional(tag: str) -> Iterator[str]:
    """Names of the facts that are unknown if a condition surrounds an element with this tag."""
    if tag == "vcpu":
        yield "vcpus"
    elif tag == "os":
        yield from ("os", "machine", "arch")
    elif tag in _OF_MEMORY:
        yield "memory"
    elif tag in (*_OF_THE_GUEST, "disk", "controller", "interface"):
        yield "guest"


def texts_between(element: etree._Element) -> Iterator[str]:
    """The texts between the elements inside of an element, none of which is a value."""
    for part in element.iter("*"):
        yield part.text or ""
        if part is not element:
            yield part.tail or ""


def _texts(element: etree._Element) -> Iterator[str]:
    for part in element.iter("*"):
        yield from (str(value) for value in part.values())
        yield part.text or ""


def _number(xpath: str) -> int:
    """``/domain/devices/interface[3]`` -> 3; 0 if it is not an interface."""
    before, _, number = xpath.removesuffix("]").rpartition("[")
    return int(number) if before.endswith("/interface") and number.isdecimal() else 0
