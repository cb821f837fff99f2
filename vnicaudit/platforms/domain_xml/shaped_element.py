"""Elements of a document whose shape is known: what all of its shape have in common, once, and the
values of this one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar, overload

import msgspec

T = TypeVar("T")

_STEP = re.compile(r"(?:\{[^}]*\})?[^/{}]+")


class ShapedNode(msgspec.Struct, gc=False):
    """An element of a shape. ``attributes`` and ``text``: where among the values they stand; a text
    that all documents have alike itself. ``named``: the children, by their names."""

    tag: str
    line: int
    attributes: dict[str, int]
    text: int | str | None
    children: tuple[ShapedNode, ...]
    named: dict[str, list[ShapedNode]]


class ShapedElement(msgspec.Struct, frozen=True, gc=False):
    """An element of a document, as :class:`~vnicaudit.platforms.domain_xml.xml_element.XmlElement`
    describes it."""

    node: ShapedNode
    values: list[str]

    @property
    def tag(self) -> str:
        """Its name, with its namespace in braces."""
        return self.node.tag

    @property
    def sourceline(self) -> int:
        """Its line in the document."""
        return self.node.line

    @property
    def text(self) -> str | None:
        """The text before its first child."""
        text = self.node.text
        return self.values[text] if isinstance(text, int) else text

    def __len__(self) -> int:
        return len(self.node.children)

    def __iter__(self) -> Iterator[ShapedElement]:
        values = self.values
        return iter([ShapedElement(child, values) for child in self.node.children])

    @overload
    def get(self, key: str, /) -> str | None: ...

    @overload
    def get(self, key: str, default: T, /) -> str | T: ...

    def get(self, key: str, default: T | None = None, /) -> str | T | None:
        """The value of an attribute."""
        slot = self.node.attributes.get(key)
        return default if slot is None else self.values[slot]

    def items(self) -> list[tuple[str, str]]:
        """Its attributes, in their order."""
        values = self.values
        return [(name, values[slot]) for name, slot in self.node.attributes.items()]

    def find(self, path: str, /) -> ShapedElement | None:
        """The first of :meth:`iterfind`."""
        return next(self.iterfind(path), None)

    def iterfind(self, path: str, /) -> Iterator[ShapedElement]:
        """The elements at a path of names."""
        nodes: tuple[ShapedNode, ...] = (self.node,)
        for step in _STEP.findall(path):
            nodes = tuple(child for node in nodes for child in node.named.get(step, ()))
        return iter([ShapedElement(node, self.values) for node in nodes])

    def iterchildren(self, *tags: str) -> Iterator[ShapedElement]:
        """The children of these names; ``*`` for all."""
        node, values = self.node, self.values
        kinds = [node.named[tag] for tag in tags if tag in node.named]
        if len(kinds) == 1 or not (kinds or "*" in tags):
            return iter([ShapedElement(child, values) for kind in kinds for child in kind])
        every = "*" in tags
        children = [child for child in node.children if every or child.tag in tags]
        return iter([ShapedElement(child, values) for child in children])

    def iter(self, tag: str, /) -> Iterator[ShapedElement]:
        """The element itself and all that is inside of it, where they have this name."""
        if self.node.tag == tag:
            yield self
        for child in self:
            yield from child.iter(tag)
