"""Edits of one element in the style of the surrounding text: quotes, indentation, line ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.tags import Attribute, Element, attributes
from vnicaudit.text.edits import Edit

_ORDER = (
    b"mac", b"source", b"actual", b"virtualport", b"bandwidth", b"vlan", b"port", b"ip", b"route",
    b"portForward", b"script", b"downscript", b"backenddomain", b"target", b"guest", b"model",
    b"driver", b"backend", b"filterref", b"tune", b"teaming", b"link", b"mtu", b"coalesce", b"boot",
    b"alias", b"rom", b"acpi", b"address",
)  # fmt: skip
"""Children of ``<interface>`` in the order in which libvirt writes them
(``virDomainNetDefFormat``). Readers accept any order."""

_LEAD = re.compile(rb"\r?\n[ \t]*\Z")
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
    blank, quote = data[last.start : last.name_start], _quote(data, last)
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
        yield Edit(place, place, _lead(data, _first_inside(data, parent)) + new)
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


def _first_inside(data: bytes, parent: Element) -> int:
    """Where the content of an element begins: a comment, or its first child."""
    inside = data[parent.open_end : parent.children[0].start]
    return parent.open_end + len(inside) - len(inside.lstrip())


def _end_of_remarks(data: bytes, position: int) -> int:
    """The end of the comments that follow on the same line."""
    match = _REMARKS.match(data, position)
    return position if match is None else match.end()


def _lead(data: bytes, position: int) -> bytes:
    """The line break and indentation before a position; empty if other text precedes it on its
    line."""
    match = _LEAD.search(data[max(0, position - _LONGEST_LEAD) : position])
    return b"" if match is None else match.group()


def _house_quote(data: bytes, parent: Element) -> bytes:
    """The kind of quotes that the element and its children use."""
    for element in (*parent.children[:1], parent):
        if given := attributes(data, element):
            return _quote(data, given[0])
    return b"'"


def _quote(data: bytes, attribute: Attribute) -> bytes:
    return data[attribute.value_end : attribute.end]


def _assignment(blank: bytes, name: bytes, value: bytes, quote: bytes) -> bytes:
    return blank + name + b"=" + quote + value + quote
