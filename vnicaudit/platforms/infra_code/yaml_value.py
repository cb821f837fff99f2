"""Read YAML and JSON into values. Places, templates and limits are handled by
:mod:`vnicaudit.text.yaml_nodes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vnicaudit.platforms.infra_code.value import MAX_DEPTH, Value
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents
from vnicaudit.text.yaml_source import Mapping, Scalar


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
