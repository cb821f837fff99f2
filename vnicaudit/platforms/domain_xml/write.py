"""Convert a change of a NIC to edits of its domain XML, leaving everything else as it is.

The rows of the table in ``nics.py``, which reading uses too, say where each field is written. All
other settings of a NIC are kept, above all its MAC and PCI address, which libvirt would otherwise
choose anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from vnicaudit.errors import OwnedElsewhereError, RefusedError
from vnicaudit.model.finding import Change, Location
from vnicaudit.platforms.domain_xml.documents import document_spans, harmless, may_be_template
from vnicaudit.platforms.domain_xml.nics import FIELDS, XPATH, Field
from vnicaudit.platforms.domain_xml.recognise import Span, is_foreign
from vnicaudit.platforms.domain_xml.source import (
    NOT_WRITTEN,
    Element,
    attributes,
    check_encoding,
    interface_at,
    interface_from,
    root_at,
    text_of,
)
from vnicaudit.text.edits import Edit, applied

# Fields of an ``<interface>`` that can be changed: where each is written, and the values it
# accepts.
#
# They are the rows of ``nics.py``, with which reading works, and those that are identity rather
# than settings: the network or device of a NIC. The list of children is that of libvirt 11.3's
# ``virDomainNetDefFormat``.


_MORE = (
    Field("type", "", "type", "word"),
    Field("trust_guest_rx_filters", "", "trustGuestRxFilters", "word"),
    Field("device", "source", "dev", "path"),
    Field("source_type", "source", "type", "word"),
    Field("source_path", "source", "path", "path"),
)
"""An empty path is the ``<interface>`` itself."""

ATTRIBUTES: dict[str, Field] = {
    row.name: row for row in (*FIELDS, *_MORE) if row.path != "address"
}  # fmt: skip
"""Field -> the attribute that holds it. Parts of an address are left out: it is changed as a
whole."""

REQUIRED = frozenset({"type"})
"""Fields that can be set but not removed."""

_CHILDREN = (
    "source", "virtualport", "bandwidth", "vlan", "port", "ip", "route", "script", "downscript",
    "target", "backend", "filterref", "tune", "teaming", "mtu", "coalesce", "acpi", "address",
)  # fmt: skip

WHOLE: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in _CHILDREN},
    "port_forward": ("portForward",),
    "address_type": ("address", "rom", "acpi"),
    "rom": ("rom", "acpi"),
}
"""Field -> the children to remove with it: the first must be there, and libvirt refuses the others
without it (``rom`` and ``acpi`` if the address is not PCI's)."""

ENTAILED: dict[str, tuple[str, ...]] = {
    "type": ("actual_type", "device", "ovs_socket", "reconnect"),
    "source": ("actual_type", "source_mode", "device", "ovs_socket", "reconnect"),
    "source_path": ("ovs_socket",),
    "backend": ("backend_type", "backend_vhost"),
    "address": ("address_type", "address_bus", "multifunction"),
    "address_type": ("address_bus", "multifunction", "rom", "rom_bar", "acpi"),
    "filterref": ("network_filter",),
    "rom": ("rom_bar", "acpi"),
    "rom_file": ("rom",),
}
"""Field -> facts of :class:`~vnicaudit.model.nic.NicConfig` that change with it."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
_NUMBER = re.compile(r"[0-9]{1,10}")
_DEVICE = re.compile(r"/[A-Za-z0-9_./:\\-]+")
"""An absolute ``deviceName`` in libvirt's schema (``basictypes.rng``)."""
_PATH = re.compile("/[\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
"""An ``absFilePath`` in the schema, without control characters and characters that XML cannot
hold."""

_ESCAPES = {
    ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("'"): "&apos;", ord('"'): "&quot;",
}  # fmt: skip


def attribute_value(field: str, value: str) -> bytes:
    """The value as written between quotes of either kind, in any encoding: ASCII, with references
    for XML's special characters and all other characters.

    Raises RefusedError for a value that the field cannot have.
    """
    pattern = {"path": _PATH, "count": _NUMBER}.get(ATTRIBUTES[field].kind, _PLAIN)
    if field == "device":
        pattern = _DEVICE
    if pattern.fullmatch(value) is None:
        raise RefusedError(f"{field} cannot be set to {value[:40]!r}")
    return value.translate(_ESCAPES).encode("ascii", "xmlcharrefreplace")


__all__ = [
    "ENTAILED",
    "OWNER_REWRITES",
    "SHARED",
    "edits_for",
    "text_of",
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

    Raises OwnedElsewhereError if libvirt owns the text, RefusedError if the change cannot be
    written there: the NIC is not an ``<interface>``, or the field is not stored in it.
    """
    return list(_edits(data, _element(data, place.xpath or ""), change))


def rewritten(data: bytes, xpath: str, changes: Iterable[Change]) -> bytes:
    """The text with all changes of the NIC at that path made, one after another: equal to applying
    :func:`edits_for` for each, without searching for the NIC again. Raises the same errors."""
    return all_rewritten(data, [(xpath, changes)])


def all_rewritten(data: bytes, wanted: Iterable[tuple[str, Iterable[Change]]]) -> bytes:
    """The text with the changes of several NICs, each at its own path, made at once: the file is
    not searched again after each. Raises the errors of :func:`edits_for`."""
    found = [(_element(data, xpath), changes) for xpath, changes in wanted]
    return applied(data, [_whole_interface_edit(data, *one) for one in found])


def _whole_interface_edit(data: bytes, interface: Element, changes: Iterable[Change]) -> Edit:
    """One edit that replaces a NIC by itself with all its changes."""
    before = data[max(0, interface.start - _LEAD) : interface.start]
    piece = before + data[interface.start : interface.end]
    for change in changes:
        element = interface_from(piece, len(before))
        piece = applied(piece, _edits(piece, element, change))
    return Edit(interface.start, interface.end, piece[len(before) :])


def _element(data: bytes, xpath: str) -> Element:
    """The NIC at that path. Raises OwnedElsewhereError, RefusedError."""
    where = _PLACE.fullmatch(xpath)
    if data.startswith(_SAVED):
        raise OwnedElsewhereError("a save image: change the domain, then save it again")
    if xpath.startswith("/interface["):
        raise RefusedError("the domain of this <interface> is not here: change it there")
    if where is None:
        raise RefusedError("the NIC is not an <interface>: change it by hand, where it is added")
    if where["root"] != "domain":
        raise OwnedElsewhereError(
            f"a <{where['root']}> describes a past state: change the domain's definition"
        )
    if _has_tags(data):
        raise RefusedError("a template with tags that are not XML: change it by hand")
    return interface_at(_domain(data, int(where["ordinal"] or 0)), int(where["number"]))


@lru_cache(maxsize=2)
def _has_tags(data: bytes) -> bool:
    """True if the data has template tags that are not valid XML. Cached for the last two files: the
    check runs for each of their NICs."""
    return may_be_template(data) and harmless(data) != data


@lru_cache(maxsize=2)
def _domain(data: bytes, ordinal: int) -> Element:
    """The domain with that number among the documents of the file (0: it is the only one). Raises
    OwnedElsewhereError or RefusedError if it must not or cannot be changed."""
    if _WRITTEN_BY_LIBVIRT in data:
        raise OwnedElsewhereError(
            "libvirt's own file, which it overwrites: change it with virsh edit"
        )
    if is_foreign(data):
        raise RefusedError(NOT_WRITTEN.format("UTF-16 or UTF-32"))
    if ordinal:
        places = document_spans(data)[ordinal - 1 : ordinal]
    else:  # comments before the root may quote a document
        places = (Span(0, len(data), 0), *document_spans(data)[:1])
    for start, end, _lines in places:
        root = root_at(data, start)
        if root is not None and root.name == b"domain" and root.end <= end:
            break
    else:
        raise RefusedError("the domain is no longer in the file")
    check_encoding(data, start, end)
    if any(found.name == b"id" for found in attributes(data, root)):
        raise OwnedElsewhereError(
            "the dump of a running domain: change its definition (virsh edit, or "
            "virsh dumpxml --inactive and virsh define)"
        )
    return root


def _edits(data: bytes, interface: Element, change: Change) -> Iterator[Edit]:
    field, new = change.field, change.new
    row = ATTRIBUTES.get(field)
    if new is None and field in _SWITCHES:
        yield from _switched_on(data, interface, _SWITCHES[field])
    elif new is None and field in WHOLE:
        first, *others = WHOLE[field]
        _child(interface, first)
        # including further ones of the same names: libvirt would read the next
        for tag in (first, *others):
            yield from (edit_to_remove(data, found) for found in _children_named(interface, tag))
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
        yield from with_child(data, interface, tag, name, value)
    else:
        yield with_attribute(data, found, name, value)


def _unset(data: bytes, interface: Element, row: Field) -> Edit:
    """Remove an attribute. Its element stays if removing it would make another of that name the
    first."""
    names = {row.attribute.encode()}
    if not row.path:
        return without_attributes(data, interface, names, keep=True)
    child = _child(interface, row.path)
    keep = len(_children_named(interface, row.path)) > 1
    return without_attributes(data, child, names, keep=keep)


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
    if alone and is_bare(data, child, off):
        yield edit_to_remove(data, driver)
    else:
        yield without_attributes(data, child, off)


def _children_named(interface: Element, tag: str) -> list[Element]:
    return [child for child in interface.children if child.name == tag.encode()]


def _child(interface: Element, tag: str) -> Element:
    found = interface.first(tag.encode())
    if found is None:
        raise RefusedError(f"there is no <{tag}> in the <interface>")
    return found


# Edits of one element in the style of the surrounding text: quotes, indentation, line ends.


_ORDER = (
    b"mac", b"source", b"actual", b"virtualport", b"bandwidth", b"vlan", b"port", b"ip", b"route",
    b"portForward", b"script", b"downscript", b"backenddomain", b"target", b"guest", b"model",
    b"driver", b"backend", b"filterref", b"tune", b"teaming", b"link", b"mtu", b"coalesce", b"boot",
    b"alias", b"rom", b"acpi", b"address",
)  # fmt: skip
"""Children of ``<interface>`` in the order in which libvirt writes them
(``virDomainNetDefFormat``). Readers accept any order."""

_LEAD_MARKUP = re.compile(rb"\r?\n[ \t]*\Z")
_LONGEST_LEAD = 1024
_REMARKS = re.compile(rb"(?:[ \t]*<!--(?:(?!-->)[^\n])*-->)+(?=[ \t]*\r?\n)")
_REST_OF_LINE = re.compile(rb"[ \t]*(?=\r?\n|\Z)")


def with_attribute(data: bytes, element: Element, name: bytes, value: bytes) -> Edit:
    """``name`` set to ``value``: in its current quotes, or as a new attribute after the last
    one."""
    given = attributes(data, element)
    for found in given:
        if found.name == name:
            return Edit(found.value_start, found.value_end, value)
    if not given:
        behind = element.start + 1 + len(element.name)
        return Edit(behind, behind, _assignment(b" ", name, value, b"'"))
    last = given[-1]
    blank, quote = data[last.start : last.name_start], data[last.value_end : last.end]
    return Edit(last.end, last.end, _assignment(blank, name, value, quote))


def with_child(
    data: bytes, parent: Element, tag: bytes, name: bytes, value: bytes
) -> Iterator[Edit]:
    """A new element ``<tag name='value'/>``, on a line of its own if its siblings are."""
    new = b"<" + tag + _assignment(b" ", name, value, _house_quote(data, parent)) + b"/>"
    before = _ORDER[: _ORDER.index(tag)]
    siblings = [child for child in parent.children if child.name in before]
    if siblings:
        place = _end_of_remarks(data, siblings[-1].end)
        yield Edit(place, place, _lead(data, siblings[-1].start) + new)
    elif parent.children:
        place = _end_of_remarks(data, parent.open_end)
        inside = data[parent.open_end : parent.children[0].start]
        first = parent.open_end + len(inside) - len(inside.lstrip())  # a comment, or a child
        yield Edit(place, place, _lead(data, first) + new)
    else:
        yield _opened(data, parent, new)


def without_attributes(
    data: bytes, element: Element, names: set[bytes], *, keep: bool = False
) -> Edit:
    """The element without these attributes; the element itself is removed if it is then empty,
    unless ``keep``.

    Raises RefusedError if one of them is missing.
    """
    given = attributes(data, element)
    gone = [found for found in given if found.name in names]
    if not gone or len(gone) < len(names):
        raise RefusedError("the attribute is not there")
    if not keep and is_bare(data, element, names):
        return edit_to_remove(data, element)
    start, end = gone[0].start, gone[-1].end
    kept = (found for found in given if start <= found.start < end and found.name not in names)
    return Edit(start, end, b"".join(data[found.start : found.end] for found in kept))


def is_bare(data: bytes, element: Element, names: set[bytes]) -> bool:
    """True if an element would be empty without these attributes."""
    left = [found for found in attributes(data, element) if found.name not in names]
    return not left and not data[element.open_end : element.close_start].strip()


def edit_to_remove(data: bytes, element: Element) -> Edit:
    """Remove the element, with its line if nothing else is on it."""
    lead = _lead(data, element.start)
    if lead and _REST_OF_LINE.match(data, element.end) is not None:
        return Edit(element.start - len(lead), element.end, b"")
    return Edit(element.start, element.end, b"")


def _opened(data: bytes, parent: Element, new: bytes) -> Edit:
    """Add a first child to an element without children."""
    lead = _lead(data, parent.start)
    inside = lead + (b"\t" if lead.endswith(b"\t") else b"  ") if lead else b""
    if not parent.is_single:
        place = _end_of_remarks(data, parent.open_end)
        closing = b"" if b"\n" in data[place : parent.close_start] else lead
        return Edit(place, place, inside + new + closing)
    tag = data[parent.start : parent.open_end].removesuffix(b"/>").rstrip()
    closing = lead + b"</" + parent.name + b">"
    return Edit(parent.start + len(tag), parent.end, b">" + inside + new + closing)


def _end_of_remarks(data: bytes, position: int) -> int:
    """The end of the comments that follow on the same line."""
    match = _REMARKS.match(data, position)
    return position if match is None else match.end()


def _lead(data: bytes, position: int) -> bytes:
    """The line break and indentation before a position; empty if other text precedes it on its
    line."""
    match = _LEAD_MARKUP.search(data[max(0, position - _LONGEST_LEAD) : position])
    return b"" if match is None else match.group()


def _house_quote(data: bytes, parent: Element) -> bytes:
    """The kind of quotes that the element and its children use."""
    for element in (*parent.children[:1], parent):
        if given := attributes(data, element):
            return data[given[0].value_end : given[0].end]
    return b"'"


def _assignment(blank: bytes, name: bytes, value: bytes, quote: bytes) -> bytes:
    return blank + name + b"=" + quote + value + quote
