"""Values of a structured format with their places: the common form of HCL, JSON and YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from vnicaudit.knowledge.models import stands_for_model
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Property
from vnicaudit.text.beginning import is_only_placeholder
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents
from vnicaudit.text.yaml_source import Mapping, Scalar

MAX_DEPTH = 60
"""Maximum depth that is read."""

_MAX_DIGITS = 18
"""Maximum number of digits, so that a number fits into 64 bits; Python refuses to convert 4,301
digits."""


class Value(NamedTuple):
    """One value. ``scalar``: its content is ``text``; ``certain`` False: something is filled in.
    ``map`` and ``list``: ``entries`` (those of a list have empty keys); not certain if there may be
    further entries. ``other``: an expression, as ``text``."""

    kind: Literal["scalar", "map", "list", "other"]
    line: int
    column: int
    text: str = ""
    entries: tuple[tuple[Value | None, Value], ...] = ()
    certain: bool = True

    def get(self, *path: str) -> Value | None:
        """The value under these keys, one after the other; the last one if a key occurs several
        times."""
        found: Value | None = self
        for name in path:
            if found is None or found.kind != "map":
                return None
            pairs = [value for key, value in found.entries if key is not None and key.text == name]
            found = pairs[-1] if pairs else None
        return found

    def scalar(self, *path: str) -> str | None:
        """The text of a scalar that is certain; None for anything else."""
        found = self.get(*path)
        return None if found is None or not found.is_said else found.text

    @property
    def is_said(self) -> bool:
        """True for a scalar whose text is certain and final, not a placeholder."""
        return self.kind == "scalar" and self.certain and not is_only_placeholder(self.text)

    def items(self) -> tuple[Value, ...]:
        """The values of a list; nothing for anything else."""
        return tuple(value for _key, value in self.entries) if self.kind == "list" else ()


def properties_of(found: Value | None, where: Location) -> tuple[Property, ...]:
    """The scalar entries of a map, each with the place of its key."""
    if found is None or found.kind != "map":
        return ()
    return tuple(
        Property(key.text, value.text, place(key, where), _is_said(key.text, value))
        for key, value in found.entries
        if key is not None and key.certain and key.kind == "scalar"
    )


def _is_said(name: str, value: Value) -> bool:
    """True for a certain value, other than a placeholder for a NIC model."""
    return value.is_said and not (name == "hw_vif_model" and stands_for_model(value.text))


def is_open(found: Value | None) -> bool:
    """True if a map may have entries that cannot be seen."""
    if found is None:
        return False
    return (
        found.kind != "map"
        or not found.certain
        or any(key is None or not key.certain for key, _value in found.entries)
    )


def place(value: Value, where: Location) -> Location:
    """The place of a value."""
    return Location(where.target, where.file, value.line, where.xpath, value.column)


def whole_number(text: str | None) -> int | None:
    """A count in decimal digits; None for anything else."""
    if text is None or len(text) > _MAX_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


# Read YAML and JSON into values. Places, templates and limits are handled by
# :mod:`vnicaudit.text.yaml_nodes`.


def tops(
    data: bytes, file: str, wanted: Callable[[str], bool] | None = None
) -> Iterator[YamlPlace]:
    """The roots of the documents of a file. Raises TargetError at the first that is not YAML."""
    for found in documents(data, file, wanted):
        if not isinstance(found, YamlDocument):
            raise found
        yield found.top


def value_of(place: YamlPlace, depth: int = 0) -> Value:
    """A place with everything below it. A value that a template or a placeholder decides is not
    certain; nor is a map or a list into which a template inserts something."""
    line, column = place.line_column
    if isinstance(place.node, Scalar):
        return Value("scalar", line, column, place.node.text, certain=place.text is not None)
    if depth > MAX_DEPTH:
        return Value("other", line, column, certain=False)
    if isinstance(place.node, Mapping):
        pairs = tuple(_pairs(place, depth))
        return Value("map", line, column, "", pairs, place.complete and place.certain)
    items = tuple((None, value_of(item, depth + 1)) for item in place.items())
    return Value("list", line, column, "", items, place.complete and place.certain)


def _pairs(place: YamlPlace, depth: int) -> Iterator[tuple[Value, Value]]:
    children = place.node.children() if isinstance(place.node, Mapping) else {}
    for name, entry in children.items():
        value = place.child(name)
        if value is not None:
            line, column = place.document.source.line_column(entry.key.start)
            key = Value("scalar", line, column, name, certain=HOLE not in name)
            yield key, value_of(value, depth + 1)
