"""Elements of a document whose shape is known: the parts common to the shape, stored once, and the
values of this document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TypeVar, overload

import msgspec

T = TypeVar("T")

_STEP = r"(?:\{[^{}]*\})?[^/{}]+"


class ShapedNode(msgspec.Struct, gc=False, eq=False):
    """An element of a shape, compared by identity. ``attributes`` and ``text`` are positions among
    the values; a text that is the same in all documents is stored itself. ``by_name``: the
    children, by their names."""

    tag: str
    line: int
    attributes: dict[str, int]
    text: int | str | None
    children: tuple[ShapedNode, ...]
    by_name: dict[str, list[ShapedNode]]


class ShapedElement(msgspec.Struct, frozen=True, gc=False):
    """An element of a document, with the interface of
    :class:`~vnicaudit.platforms.domain_xml.xml_element.XmlElement`."""

    node: ShapedNode
    values: list[str]

    @property
    def tag(self) -> str:
        """The name, with its namespace in braces."""
        return self.node.tag

    @property
    def sourceline(self) -> int:
        """The line of the element in its document."""
        return self.node.line

    @property
    def text(self) -> str | None:
        """The text before its first child."""
        text = self.node.text
        return self.values[text] if isinstance(text, int) else text

    def __len__(self) -> int:
        return len(self.node.children)

    def __iter__(self) -> Iterator[ShapedElement]:
        return map(ShapedElement, self.node.children, repeat(self.values))

    @overload
    def get(self, key: str, /) -> str | None: ...

    @overload
    def get(self, key: str, default: T, /) -> str | T: ...

    def get(self, key: str, default: T | None = None, /) -> str | T | None:
        """The value of an attribute."""
        slot = self.node.attributes.get(key)
        return default if slot is None else self.values[slot]

    def items(self) -> list[tuple[str, str]]:
        """Attributes, in document order."""
        values = self.values
        return [(name, values[slot]) for name, slot in self.node.attributes.items()]

    def find(self, path: str, /) -> ShapedElement | None:
        """The first of :meth:`iterfind`."""
        return next(self.iterfind(path), None)

    def iterfind(self, path: str, /) -> Iterator[ShapedElement]:
        """The elements at a path of names."""
        nodes = [self.node]
        for step in re.findall(_STEP, path):
            nodes = [child for node in nodes for child in node.by_name.get(step, ())]
        return map(ShapedElement, nodes, repeat(self.values))

    def iterchildren(self, *tags: str) -> Iterator[ShapedElement]:
        """The children of these names; ``*``: all."""
        children: Sequence[ShapedNode] = self.node.children
        if "*" not in tags:
            by_name = self.node.by_name
            kinds = [by_name[tag] for tag in tags if tag in by_name]
            if len(kinds) < 2:
                children = kinds[0] if kinds else ()
            else:
                children = [child for child in children if child.tag in tags]
        return map(ShapedElement, children, repeat(self.values))

    def first(self, tag: str) -> ShapedElement | None:
        """The first child of that name."""
        nodes = self.node.by_name.get(tag)
        return None if nodes is None else ShapedElement(nodes[0], self.values)

    def iter(self, tag: str, /) -> Iterator[ShapedElement]:
        """The element itself and all elements inside it that have this name."""
        if self.node.tag == tag:
            yield self
        for child in self:
            yield from child.iter(tag)
