"""Parse documents that differ only in their values once.

Documents of one program have few shapes: the same elements and attributes, line by line, with other
names and addresses in them. A document is cut into its shape (everything outside of quotes that is
not text) and its values. If a shape is known, so are its elements, and nothing is parsed.

This is done only for plain documents, in which no value can affect the structure: no value contains
``<``, ``&``, a quote or an unprintable character. A shape is known once lxml has parsed a document
of it with a mark in place of each value, and every mark was found again as a whole attribute or a
whole text. All other documents are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import msgspec
from lxml import etree

from vnicaudit.platforms.domain_xml.documents import parsed
from vnicaudit.platforms.domain_xml.lookup_budget import PER_HIT, LookupBudget
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode
from vnicaudit.platforms.domain_xml.template_tags import may_be_template

LARGEST = 64 * 1024
"""Maximum number of characters of a document: hardly any is larger."""
ROOM = 8 << 20
"""Maximum number of bytes that known shapes take, estimated."""
_ELEMENT_BYTES = 500
_ENOUGH = 4
"""Number of documents after which a shape is learned: learning takes as long as parsing several."""
_MOST_SEEN = 4096
"""Maximum number of shapes that are counted but not learned yet."""

_PLAIN = bytes(set(range(0x20, 0x7F)) - set(b"<{$@%(["))
_TEXT = re.compile(r""">([^<>\s'"][^<>\n'"]*)<""")
_NAMESPACE = r"\sxmlns(?::[^\s=]+)?\s*=\s*\Z"
_REFUSED = ("<!DOCTYPE", "<!ENTITY", "xml:", "\0")
"""XML's own attributes do not accept a mark as value, and UTF-16 may look like text."""


class _Cut(NamedTuple):
    """A document, cut. ``shape`` has a quote for each value in quotes and ``&`` for each text
    including the brackets around it; ``values`` are those in quotes, then the texts."""

    shape: str
    quote: str
    values: list[str]


class _Shape(msgspec.Struct):
    """A known shape. ``root`` None: its documents have to be parsed. ``namespaces``: values that
    must be exactly these. ``elements``: the number of its elements."""

    root: ShapedNode | None
    namespaces: tuple[tuple[int, str], ...] = ()
    elements: int = 0


_UNUSABLE = _Shape(None)


class Shapes:
    """The known shapes, limited in size. ``on_clear`` are called when all shapes are dropped, for
    caches that keep their elements alive."""

    def __init__(self, *on_clear: Callable[[], None]) -> None:
        self._on_clear = on_clear
        self._shapes: dict[str, _Shape] = {}
        self._seen: dict[int, int] = {}
        self.size = 0
        """Bytes that known shapes take, estimated."""
        self._budget = LookupBudget()
        """Limit on cutting documents, which takes a tenth of the time of parsing, for nothing if no
        two are alike."""

    @property
    def are_common(self) -> bool:
        """True if more than one in four documents so far had a known shape."""
        return self._budget.is_earned

    def root(self, text: str) -> ShapedElement | None:
        """The root of a document, if its shape is known; None if it has to be parsed, or may be a
        template."""
        if len(text) > LARGEST or self._budget.is_used_up or (cut := _cut(text)) is None:
            return None
        shape = self._shapes.get(cut.shape) or self._learned_when_frequent(cut)
        if shape.root is None:
            self._budget.add_miss()
            return None
        self._budget.spent -= PER_HIT
        if any(cut.values[slot] != name for slot, name in shape.namespaces):
            return None
        return ShapedElement(shape.root, cut.values)

    def _learned_when_frequent(self, cut: _Cut) -> _Shape:
        """The shape of a document, once it has occurred often enough."""
        mark = hash(cut.shape)
        number = self._seen.get(mark, 0) + 1
        if number < _ENOUGH:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            self._seen[mark] = number
            return _UNUSABLE
        shape = _learned(cut)
        size = len(cut.shape) + _ELEMENT_BYTES * shape.elements
        if self.size + size > ROOM:
            self._clear()  # refilled as needed
        self._shapes[cut.shape] = shape
        self.size += size
        return shape

    def _clear(self) -> None:
        self._shapes.clear()
        self.size = 0
        for clear in self._on_clear:
            clear()


def _cut(text: str) -> _Cut | None:
    """The document, cut; None if a value may affect the structure."""
    if "&" in text:
        return None
    quote = "'" if '"' not in text else '"'
    pieces = text.split(quote)
    if not len(pieces) & 1:
        return None
    parts = _TEXT.split(quote.join(pieces[::2]))
    values = pieces[1::2] + parts[1::2]
    return _Cut("&".join(parts[::2]), quote, values) if _are_plain("".join(values)) else None


def _are_plain(values: str) -> bool:
    """True if all characters of the values are printable, and none begins a tag or a
    placeholder."""
    data = values.encode()
    if not data.translate(None, _PLAIN) and b"__" not in data:
        return True  # nearly always, and checked in a third of the time
    return "<" not in values and values.isprintable() and not may_be_template(data)


def _learned(cut: _Cut) -> _Shape:
    """The shape, learned from lxml's parse of one of its documents."""
    if any(part in cut.shape for part in _REFUSED) or may_be_template(cut.shape.encode()):
        return _UNUSABLE
    marked = _marked(cut)
    root = parsed(marked.text.encode())
    if root is None or root.tag != "domain":
        return _UNUSABLE
    learner = _Learner(marked.slots)
    try:
        node = learner.node(root)
    except _UnusableError:
        return _UNUSABLE
    if marked.slots:
        return _UNUSABLE
    return _Shape(node, marked.namespaces, learner.elements)


class _MarkedDocument(NamedTuple):
    """A document with marks in place of its values, except for namespaces. ``slots``: each mark,
    and the position of its value."""

    text: str
    slots: dict[str, int]
    namespaces: tuple[tuple[int, str], ...]


def _marked(cut: _Cut) -> _MarkedDocument:
    outside = cut.shape.split(cut.quote)
    quoted = len(outside) - 1
    namespaces = {
        slot: cut.values[slot]
        for slot, before in enumerate(outside[:-1])
        if "xmlns" in before and re.search(_NAMESPACE, before) is not None
    }
    marks = [namespaces.get(slot, f"#{slot};") for slot in range(len(cut.values))]
    attributes = (f"{cut.quote}{mark}{cut.quote}" for mark in marks[:quoted])
    texts = (f">{mark}<" for mark in marks[quoted:])
    text = _filled(_filled(cut.shape, "&", texts), cut.quote, attributes)
    slots = {mark: slot for slot, mark in enumerate(marks) if slot not in namespaces}
    return _MarkedDocument(text, slots, tuple(namespaces.items()))


def _filled(text: str, sign: str, parts: Iterator[str]) -> str:
    """The text with each ``sign`` replaced by the next part."""
    first, *others = text.split(sign)
    return "".join([first, *chain.from_iterable(zip(parts, others, strict=True))])


class _UnusableError(Exception):
    """An attribute whose value is not exactly one of the document's values."""


class _Learner:
    """Builds the elements of a shape, and removes each mark that it finds from ``slots``."""

    def __init__(self, slots: dict[str, int]) -> None:
        self._slots = slots
        self.elements = 0

    def node(self, element: etree._Element) -> ShapedNode:
        """An element with everything inside it. Raises _UnusableError."""
        self.elements += 1
        attributes = self._attributes(element)
        text = self._slots.pop(element.text or "", element.text)
        children = tuple(map(self.node, element))
        by_name: dict[str, list[ShapedNode]] = {}
        for child in children:
            by_name.setdefault(child.tag, []).append(child)
        line = element.sourceline or 0
        return ShapedNode(str(element.tag), line, attributes, text, children, by_name)

    def _attributes(self, element: etree._Element) -> dict[str, int]:
        try:
            return {str(name): self._slots.pop(str(text)) for name, text in element.items()}
        except KeyError:
            raise _UnusableError from None
