"""The nodes of a YAML document: content and position."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Scalar(msgspec.Struct, gc=False):
    """A text. ``plain``: without quotes and tag, so it may be a number or a boolean."""

    start: int
    end: int
    text: str
    plain: bool
    anchored: bool = False


class Sequence(msgspec.Struct):
    """A list."""

    start: int
    end: int
    items: list[Node]
    anchored: bool = False


class Mapping(msgspec.Struct):
    """Keys and values as written, without applying merges (``<<``); see :meth:`children`."""

    start: int
    end: int
    pairs: list[tuple[Node, Node]]
    anchored: bool = False
    merged: dict[str, MappingEntry] | None = None

    def children(self) -> dict[str, MappingEntry]:
        """Key -> entry, with merges applied: the mapping's own keys win, then those merged first.
        If a key occurs twice, the last one counts."""
        if self.merged is None:
            self.merged = _children(self)
        return self.merged


Node = Scalar | Sequence | Mapping


class MappingEntry(NamedTuple):
    """One key of a mapping. ``merged``: it comes from another mapping, named by ``<<``."""

    key: Scalar
    value: Node
    merged: bool


def _children(mapping: Mapping) -> dict[str, MappingEntry]:
    own: dict[str, MappingEntry] = {}
    merged: dict[str, MappingEntry] = {}
    for key, value in mapping.pairs:
        if not isinstance(key, Scalar):
            continue
        if key.text == "<<" and key.plain:
            for source in value.items if isinstance(value, Sequence) else [value]:
                if isinstance(source, Mapping):
                    for name, entry in source.children().items():
                        merged.setdefault(name, entry._replace(merged=True))
        else:
            own[key.text] = MappingEntry(key, value, False)
    return own | {name: entry for name, entry in merged.items() if name not in own}
