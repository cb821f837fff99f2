"""What a structured format says, with places: the common form of HCL, JSON and YAML."""

from __future__ import annotations

from typing import Literal, NamedTuple

from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Property

MAX_DEPTH = 60
"""Deeper nesting is not looked into."""


class Node(NamedTuple):
    """One value. ``scalar``: ``text`` is what it says; ``certain`` False: something is filled in
    there. ``map`` and ``list``: ``entries`` (a list has empty keys), not certain when it may have
    more than is seen. ``other``: an expression, as ``text``."""

    kind: Literal["scalar", "map", "list", "other"]
    line: int
    column: int
    text: str = ""
    entries: tuple[tuple[Node | None, Node], ...] = ()
    certain: bool = True

    def get(self, *path: str) -> Node | None:
        """The value under these keys, one after the other; of several the last."""
        found: Node | None = self
        for name in path:
            if found is None or found.kind != "map":
                return None
            pairs = [value for key, value in found.entries if key is not None and key.text == name]
            found = pairs[-1] if pairs else None
        return found

    def scalar(self, *path: str) -> str | None:
        """The text of a scalar that is certain; None for anything else."""
        found = self.get(*path)
        if found is None or found.kind != "scalar" or not found.certain:
            return None
        return found.text

    def items(self) -> tuple[Node, ...]:
        """The values of a list; nothing for anything else."""
        return tuple(value for _key, value in self.entries) if self.kind == "list" else ()


def properties_of(node: Node | None, where: Location) -> tuple[Property, ...]:
    """The scalar entries of a map, each at its key."""
    if node is None or node.kind != "map":
        return ()
    return tuple(
        Property(key.text, value.text, place(key, where), value.certain and value.kind == "scalar")
        for key, value in node.entries
        if key is not None and key.certain and key.kind == "scalar"
    )


def is_open(node: Node | None) -> bool:
    """Whether a map may have entries that are not seen."""
    if node is None:
        return False
    return (
        node.kind != "map"
        or not node.certain
        or any(key is None or not key.certain for key, _value in node.entries)
    )


def place(node: Node, where: Location) -> Location:
    """Where a node stands."""
    return Location(where.target, where.file, node.line, where.xpath, node.column)
