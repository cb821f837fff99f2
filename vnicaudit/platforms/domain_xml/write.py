"""Convert a change of a NIC to edits of its domain XML, leaving everything else as it is.

The rows of ``fields.py``, which reading uses too, say where each field is written. All other
settings of a NIC are kept, above all its MAC and PCI address, which libvirt would otherwise choose
anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from vnicaudit.errors import OwnedError, RefusedError
from vnicaudit.model.finding import Change
from vnicaudit.model.location import Location
from vnicaudit.platforms.domain_xml import markup
from vnicaudit.platforms.domain_xml.changeable import (
    ATTRIBUTES,
    ENTAILED,
    REQUIRED,
    WHOLE,
    attribute_value,
)
from vnicaudit.platforms.domain_xml.elements import interface_at, interface_from, root_at
from vnicaudit.platforms.domain_xml.fields import XPATH, Field
from vnicaudit.platforms.domain_xml.pieces import (
    for_attach,
    interface_number,
    interface_of,
    with_interface,
)
from vnicaudit.platforms.domain_xml.source import XmlSource, source_of
from vnicaudit.platforms.domain_xml.spans import Span, spans
from vnicaudit.platforms.domain_xml.tags import Element, attributes
from vnicaudit.platforms.domain_xml.template_tags import harmless, may_be_template
from vnicaudit.text.edits import Edit, applied

__all__ = [
    "ENTAILED",
    "OWNER_REWRITES",
    "SHARED",
    "all_rewritten",
    "edits_for",
    "for_attach",
    "interface_number",
    "interface_of",
    "rewritten",
    "text_of",
    "with_interface",
]

SHARED: frozenset[str] = frozenset()
"""Fields that one setting decides for all NICs: none."""

OWNER_REWRITES = True
"""Nova, KubeVirt and oVirt redefine a domain at each start."""

_PLACE = re.compile(
    r"/(?P<root>\w+)(?:\[(?P<ordinal>\d{1,9})\])?(?P<inner>/domain)?"
    r"/devices/interface\[(?P<number>\d{1,9})\](?:/.*)?"
)
_SWITCHES = {"host_off": b"host", "guest_off": b"guest"}
_LEAD = 1024
"""Number of bytes before a NIC that show how it is indented."""
_WRITTEN_BY_LIBVIRT = b"AUTO-GENERATED FILE"
_SAVED = b"LibvirtQemud"


def edits_for(data: bytes, place: Location, change: Change) -> list[Edit]:
    """The edits that make ``change`` of the NIC at ``place``.

    Raises OwnedError if libvirt owns the text, RefusedError if the change cannot be written there:
    the NIC is not an ``<interface>``, or the field is not stored in it.
    """
    source, interface = _source_and_element(data, place)
    return source.carried(list(_edits(source.data, interface, change)))


def rewritten(data: bytes, place: Location, changes: Iterable[Change]) -> bytes:
    """The text with all changes of one NIC made, one after another: equal to applying
    :func:`edits_for` for each, without searching for the NIC again. Raises the same errors."""
    return all_rewritten(data, [(place, changes)])


def all_rewritten(data: bytes, wanted: Iterable[tuple[Location, Iterable[Change]]]) -> bytes:
    """The text with the changes of several NICs, each at its own place, made at once: the file is
    not searched again after each. Raises the errors of :func:`edits_for`."""
    found = [(_source_and_element(data, place), changes) for place, changes in wanted]
    edits = [
        edit for (source, interface), changes in found
        for edit in source.carried([_whole_interface_edit(source, interface, changes)])
    ]  # fmt: skip
    return applied(data, edits)


def _whole_interface_edit(source: XmlSource, interface: Element, changes: Iterable[Change]) -> Edit:
    """One edit that replaces a NIC by itself with all its changes."""
    before = source.data[max(0, interface.start - _LEAD) : interface.start]
    piece = before + source.data[interface.start : interface.end]
    for change in changes:
        element = interface_from(piece, len(before))
        piece = applied(piece, _edits(piece, element, change))
    return Edit(interface.start, interface.end, piece[len(before) :])


def text_of(data: bytes) -> str:
    """The file's text for display."""
    return source_of(data).text


def _source_and_element(data: bytes, place: Location) -> tuple[XmlSource, Element]:
    where = _PLACE.fullmatch(place.xpath or "")
    if data.startswith(_SAVED):
        raise OwnedError("a save image: change the domain, then save it again")
    if where is None:
        raise RefusedError("the NIC is not an <interface>: change it by hand, where it is added")
    if where["root"] != "domain":
        raise OwnedError(
            f"a <{where['root']}> describes a past state: change the domain's definition"
        )
    if _has_tags(data):
        raise RefusedError("a template with tags that are not XML: change it by hand")
    source = source_of(data)
    domain = _domain(source, int(where["ordinal"] or 0))
    return source, interface_at(domain, int(where["number"]))


@lru_cache(maxsize=2)
def _has_tags(data: bytes) -> bool:
    """True if the data has template tags that are not valid XML. Cached for the last two files: the
    check runs for each of their NICs."""
    return may_be_template(data) and harmless(data) != data


@lru_cache(maxsize=2)
def _domain(source: XmlSource, ordinal: int) -> Element:
    """The domain with that number among the documents of the file (0: it is the only one). Raises
    OwnedError or RefusedError if it must not or cannot be changed."""
    data = source.data
    if _WRITTEN_BY_LIBVIRT in data:
        raise OwnedError("libvirt's own file, which it overwrites: change it with virsh edit")
    for start, end, _lines in _places(source, ordinal):
        root = root_at(source, start)
        if root is not None and root.name == b"domain" and root.end <= end:
            break
    else:
        raise RefusedError("the domain is no longer in the file")
    source.check_declared(start, end)
    if any(found.name == b"id" for found in attributes(data, root)):
        raise OwnedError(
            "the dump of a running domain: change its definition (virsh edit, or "
            "virsh dumpxml --inactive and virsh define)"
        )
    return root


def _places(source: XmlSource, ordinal: int) -> Iterator[Span]:
    """Candidates for the document with that number."""
    if ordinal:
        yield from _spans(source)[ordinal - 1 : ordinal]
    else:
        yield Span(0, len(source.data), 0)
        yield from _spans(source)[:1]  # comments before the root may quote a document


@lru_cache(maxsize=2)
def _spans(source: XmlSource) -> list[Span]:
    return list(spans(source.data))


def _edits(data: bytes, interface: Element, change: Change) -> Iterator[Edit]:
    field, new = change.field, change.new
    row = ATTRIBUTES.get(field)
    if new is None and field in _SWITCHES:
        yield from _switched_on(data, interface, _SWITCHES[field])
    elif new is None and field in WHOLE:
        yield from _edits_to_remove(data, interface, WHOLE[field])
    elif row is None or (new is None and field in REQUIRED):
        what = XPATH.get(field, field)
        raise RefusedError(f"{what} cannot be changed in place: edit it by hand")
    elif new is None:
        yield _unset(data, interface, row)
    else:
        yield from _edits_to_set(data, interface, row, attribute_value(field, new))


def _edits_to_set(data: bytes, interface: Element, row: Field, value: bytes) -> Iterator[Edit]:
    tag, name = row.path.encode(), row.attribute.encode()
    found = interface.first(tag) if tag else interface
    if found is None:
        yield from markup.with_child(data, interface, tag, name, value)
    else:
        yield markup.with_attribute(data, found, name, value)


def _unset(data: bytes, interface: Element, row: Field) -> Edit:
    """Remove an attribute. Its element stays if removing it would make another of that name the
    first."""
    names = {row.attribute.encode()}
    if not row.path:
        return markup.without_attributes(data, interface, names, keep=True)
    child = _child(interface, row.path)
    keep = len(_children_named(interface, row.path)) > 1
    return markup.without_attributes(data, child, names, keep=keep)


def _edits_to_remove(data: bytes, interface: Element, tags: Iterable[str]) -> Iterator[Edit]:
    """Remove these children, including further ones of the same names: libvirt would read the
    next."""
    first, *others = tags
    _child(interface, first)
    for tag in (first, *others):
        yield from (markup.edit_to_remove(data, found) for found in _children_named(interface, tag))


def _switched_on(data: bytes, interface: Element, name: bytes) -> Iterator[Edit]:
    """Offloads are on by default: remove every ``off`` in ``<driver><host>`` (or ``<guest>``)."""
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
        yield markup.edit_to_remove(data, driver)
    else:
        yield markup.without_attributes(data, child, off)


def _children_named(interface: Element, tag: str) -> list[Element]:
    return [child for child in interface.children if child.name == tag.encode()]


def _child(interface: Element, tag: str) -> Element:
    found = interface.first(tag.encode())
    if found is None:
        raise RefusedError(f"there is no <{tag}> in the <interface>")
    return found
