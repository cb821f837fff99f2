"""A change of a NIC -> edits of the domain XML it stands in, and of nothing else in it.

What is written where is said by the rows of ``fields.py`` that reading uses. Kept is all that
domain XML may say of a NIC beside what is changed: its MAC and PCI address above all, without
which libvirt would make up others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from vnicaudit.errors import OwnedError, RefusedError
from vnicaudit.model.finding import Change
from vnicaudit.model.location import Location
from vnicaudit.platforms.domain_xml import markup
from vnicaudit.platforms.domain_xml.fields import FIELDS, XPATH
from vnicaudit.platforms.domain_xml.source import Source, source_of
from vnicaudit.platforms.domain_xml.spans import Span, spans
from vnicaudit.platforms.domain_xml.tags import Element, attributes, tree
from vnicaudit.text.edits import Edit

_OF_PCI = ("rom", "acpi")
"""Children, and fields of the same names, that libvirt refuses where the address is not PCI's."""
ENTAILED = {"address_type": ("address_bus", *_OF_PCI), "rom": ("acpi",)}
"""Field -> others that go with it."""
SHARED: frozenset[str] = frozenset()
"""Fields that one setting decides for all NICs: none."""

_PLACE = re.compile(
    r"/(?P<root>\w+)(?:\[(?P<ordinal>\d+)\])?(?P<inner>/domain)?"
    r"/devices/interface\[(?P<number>\d+)\](?:/.*)?"
)
_ROW = {field.name: field for field in FIELDS}
_SWITCHES = {"host_off": b"host", "guest_off": b"guest"}
_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
_WRITTEN_BY_LIBVIRT = b"AUTO-GENERATED FILE"
_SAVED = b"LibvirtQemud"


def edits_for(data: bytes, place: Location, change: Change) -> list[Edit]:
    """The edits that make ``change`` of the NIC at ``place``.

    Raises OwnedError where libvirt owns the text, RefusedError where the change cannot be written
    there: a NIC that is no ``<interface>``, a field that stands nowhere in it.
    """
    where = _PLACE.fullmatch(place.xpath or "")
    if data.startswith(_SAVED):
        raise OwnedError("a save image: change the domain, then save it again")
    if where is None:
        raise RefusedError("the NIC is no <interface>: change it by hand, where it is added")
    if where["root"] != "domain":
        raise OwnedError(f"a <{where['root']}> says what was: change the domain's definition")
    source = source_of(data)
    domain = _domain(source, int(where["ordinal"] or 0))
    interface = _interface(domain, int(where["number"]))
    return source.carried(list(_edits(source.data, interface, change)))


def text_of(data: bytes) -> str:
    """The file's text, to be shown."""
    return source_of(data).text


@lru_cache(maxsize=2)
def _domain(source: Source, ordinal: int) -> Element:
    """The document with that place among those of the file (0: it is the only one), if it is one
    to be changed."""
    data = source.data
    if _WRITTEN_BY_LIBVIRT in data:
        raise OwnedError("libvirt's own file, which it overwrites: change it with virsh edit")
    found = _spans(source)
    # comments before the root of the only document may quote another
    places = found[ordinal - 1 : ordinal] if ordinal else [Span(0, len(data), 0), *found[:1]]
    for start, end, _lines in places:
        root = tree(data, start, (b"devices", b"interface"))
        if root is not None and root.name == b"domain" and root.end <= end:
            break
    else:
        raise RefusedError("the domain is not found again")
    source.check_declared(start, end)
    if any(found.name == b"id" for found in attributes(data, root)):
        raise OwnedError(
            "the dump of a running domain: change its definition (virsh edit, or "
            "virsh dumpxml --inactive and virsh define)"
        )
    return root


@lru_cache(maxsize=2)
def _spans(source: Source) -> list[Span]:
    return list(spans(source.data))


def _interface(domain: Element, number: int) -> Element:
    devices = domain.first(b"devices")
    found = [] if devices is None else devices.children
    if not 0 < number <= len(found):
        raise RefusedError("the <interface> is not found again")
    return found[number - 1]


def _edits(data: bytes, interface: Element, change: Change) -> Iterator[Edit]:
    row = _ROW.get(change.field)
    if change.field in _SWITCHES and change.new is None:
        yield from _switched_on(data, interface, _SWITCHES[change.field])
    elif change.field in ("address_type", *_OF_PCI) and change.new is None:
        yield from _off_pci(data, interface, change.field)
    elif row is None:
        what = XPATH.get(change.field, change.field)
        raise RefusedError(f"{what} is not changed in place: edit it by hand")
    elif change.new is None:
        child = _child(interface, row.path)
        yield markup.without_attributes(data, child, {row.attribute.encode()})
    elif _PLAIN.fullmatch(change.new) is None:
        raise RefusedError(f"{change.new[:40]!r} cannot be a value of {change.field}")
    else:
        name, value = row.attribute.encode(), change.new.encode()
        found = interface.first(row.path.encode())
        if found is None:
            yield from markup.with_child(data, interface, row.path.encode(), name, value)
        else:
            yield markup.with_attribute(data, found, name, value)


def _off_pci(data: bytes, interface: Element, field: str) -> Iterator[Edit]:
    """The address taken out, or what is for PCI alone; in either case no such thing is left."""
    yield markup.without(data, _child(interface, field.removesuffix("_type")))
    for name in _OF_PCI:
        found = interface.first(name.encode())
        if found is not None and name != field:
            yield markup.without(data, found)


def _switched_on(data: bytes, interface: Element, name: bytes) -> Iterator[Edit]:
    """Offloads are on where nothing says otherwise: every ``off`` in ``<driver><host>`` goes."""
    driver = _child(interface, "driver")
    child = driver.first(name)
    if child is None:
        raise RefusedError(f"there is no <{name.decode()}> in <driver>")
    off = {
        found.name for found in attributes(data, child)
        if data[found.value_start : found.value_end] == b"off"
    }  # fmt: skip
    alone = len(driver.children) == 1 and not attributes(data, driver)
    if alone and markup.is_bare(data, child, off):
        yield markup.without(data, driver)
    else:
        yield markup.without_attributes(data, child, off)


def _child(interface: Element, path: str) -> Element:
    found = interface.first(path.encode())
    if found is None:
        raise RefusedError(f"there is no <{path}> in the <interface>")
    return found
