"""Is a document a template, to be filled in before it is a definition?

Only what decides about NICs counts. Names, bridges, paths and descriptions may hold what looks like
a placeholder (``vnet%d`` is libvirt's own), so there only what no name holds is taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from vnicaudit.platforms.domain_xml.fields import CHILDREN
from vnicaudit.text.placeholders import opened, whole

_JUDGED = ("interface", "hostdev", "vcpu", "os", "name", "uuid")
"""Elements in which, and in all below them, the beginning of a placeholder is one."""

_ATTRIBUTES = {
    path: frozenset(field.attribute for field in fields) for path, fields in CHILDREN.items()
} | {"mac": frozenset({"address"})}
"""Child of ``<interface>`` -> attributes that are judged."""
_OF_INTERFACE = frozenset({"type", "trustGuestRxFilters"})
_OF_OS_TYPE = frozenset({"arch", "machine"})

_TAGS = ((b"<%", b"%>"), (b"{%", b"%}"), (b"{{", b"}}"))
"""How a template tag begins and ends."""


class Placeholder(NamedTuple):
    """What is to be filled in, and its 1-based line in the document."""

    text: str
    line: int


def may_be_template(data: bytes) -> bool:
    """Whether there is anything that a placeholder can begin with: a quick look."""
    # one byte is found far faster than two, and most documents have none of the first
    return (
        b"{" in data
        or b"$" in data
        or b"@" in data
        or b"%" in data
        or (b"(" in data and b"((" in data)
        or (b"[" in data and b"[[" in data)
        or (b"&" in data and b"&lt;" in data)
        or b"__" in data
    )


def placeholder_in(root: etree._Element) -> Placeholder | None:
    """The first placeholder in what decides about NICs; None: it is no template."""
    for element, text in _decisive(root):
        if whole(text):
            return Placeholder(text, element.sourceline or 1)
    for top in root.iter(*_JUDGED):
        for part in top.iter():
            for text in (*map(str, part.values()), part.text or ""):
                if opened(text):
                    return Placeholder(text, part.sourceline or 1)
    return None


def tag_in(data: bytes) -> Placeholder | None:
    """The first template tag in what is not well-formed; None where there is none."""
    found = []
    for opening, closing in _TAGS:
        start = data.find(opening)
        # where the first is not closed no later one is: nothing is looked through twice
        end = data.find(closing, start + 2) if start >= 0 else -1
        if end >= 0:
            found.append((start, end + 2))
    if not found:
        return None
    start, end = min(found)
    return Placeholder(data[start:end].decode("utf-8", "replace"), data.count(b"\n", 0, start) + 1)


def _decisive(root: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    """Values that are judged, none of which is a name or a path."""
    yield from ((root, str(value)) for value in root.values())
    for element in root.iter("domain", "vcpu", "os", "interface"):
        if element.tag == "interface":
            yield from _of_interface(element)
        elif element.tag == "os":
            for kind in element.iterchildren("type"):
                yield kind, kind.text or ""
                yield from _given(kind, _OF_OS_TYPE)
        else:
            yield from ((element, str(value)) for value in element.values())
            if element.tag == "vcpu":
                yield element, element.text or ""


def _of_interface(interface: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    yield from _given(interface, _OF_INTERFACE)
    for child in interface.iterchildren():
        yield from _given(child, _ATTRIBUTES.get(str(child.tag), frozenset()))
        if child.tag == "driver":
            for part in child.iterchildren():
                yield from ((part, str(value)) for value in part.values())


def _given(element: etree._Element, names: frozenset[str]) -> Iterator[tuple[etree._Element, str]]:
    return ((element, str(value)) for name, value in element.items() if name in names)
