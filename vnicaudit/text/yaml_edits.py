"""Edits of YAML and JSON in the style of the surrounding text: layout, quotes, indentation.

They work on the nodes of :mod:`vnicaudit.text.yaml_nodes`. Text that a template fills in, and
values that are shared by an anchor or a merge, are not changed.
"""

from __future__ import annotations

import re

from vnicaudit.errors import RefusedError
from vnicaudit.text.edits import Edit
from vnicaudit.text.yaml_nodes import YamlPlace
from vnicaudit.text.yaml_source import Mapping, Node, Scalar, Sequence, YamlSource

_NUMBER = re.compile(r"[0-9]{1,9}")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_LINE_END = re.compile(r"[^\n]*?(?=\r?\n|\r?\Z)")
_BLANK = " \t\r\n"


def at_pointer(top: YamlPlace, pointer: str) -> YamlPlace | None:
    """The value that a JSON pointer names; it begins with the pointer of ``top``."""
    place: YamlPlace | None = top
    for step in pointer.removeprefix(top.pointer).split("/")[1:]:
        if place is None or not step:
            return place
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place.node, Sequence):
            place = place.item(int(key)) if _NUMBER.fullmatch(key) else None
        else:
            place = place.child(key)
    return place


def with_value(place: YamlPlace, value: str) -> Edit:
    """The edit that sets the scalar at a place to ``value``, with its current quotes.

    Raises RefusedError if it is not a scalar on one line, or its value is not certain.
    """
    _check(place)
    source, node = place.document.source, place.node
    if isinstance(node, Scalar) and place.text is None:
        raise RefusedError("a template fills this in: edit it by hand")
    written = source.written(node)
    if not isinstance(node, Scalar) or not written or written[0] in "|>&*!" or "\n" in written:
        raise RefusedError("this is not a simple value: edit it by hand")
    quote = 1 if written[0] in "'\"" else 0
    _check_value(value)
    return _edit(source, node.start + quote, node.end - quote, value)


def with_key(place: YamlPlace, key: str, value: str, after: tuple[str, ...]) -> Edit:
    """The edit that adds a key to the mapping at a place, behind the first of ``after`` that it
    has.

    Raises RefusedError if it has none of these, or if that key is not certain.
    """
    _check(place)
    mapping = place.node
    if not isinstance(mapping, Mapping) or not place.complete:
        raise RefusedError("a template may put more in here: edit it by hand")
    if _pair(mapping, key) is not None:
        raise RefusedError(f"{key} has no value: edit it by hand")
    _check_value(value)
    source = place.document.source
    sibling = next((found for name in after if (found := _pair(mapping, name))), None)
    if sibling is None:
        raise RefusedError(
            f"{key} cannot be added: there is no {', '.join(after)} to put it next to"
        )
    name, given = sibling
    if source.text[mapping.start : mapping.start + 1] == "{":
        return _in_flow(source, name, given, key, value)
    end = _last_position(source, name, given)
    column = source.line_column(name.start)[1] - 1
    match = _LINE_END.match(source.text, end)
    place_of = end if match is None else match.end()
    line_break = "\r\n" if source.text[place_of : place_of + 1] == "\r" else "\n"
    return _edit(source, place_of, place_of, f"{line_break}{' ' * column}{key}: {value}")


def _in_flow(source: YamlSource, name: Scalar, given: Node, key: str, value: str) -> Edit:
    text = source.text
    blank = text[_behind_text(text, name.start) : name.start] or " "
    if text[name.start : name.start + 1] == '"':
        key = f'"{key}"'
        value = value if value in ("true", "false") else f'"{value}"'
    end = _last_position(source, name, given)
    return _edit(source, end, end, f",{blank}{key}: {value}")


def _pair(mapping: Mapping, name: str) -> tuple[Scalar, Node] | None:
    """A key of the mapping itself, and its value."""
    for key, value in mapping.pairs:
        if isinstance(key, Scalar) and key.text == name:
            return key, value
    return None


def _last_position(source: YamlSource, name: Scalar, node: Node) -> int:
    """Where the text of a value ends, without the blanks and comments behind it. Raises
    RefusedError if it ends in an alias, whose text is elsewhere."""
    above = name.start
    while True:
        if node.start < above:
            raise RefusedError("this is an alias: edit it by hand")
        if isinstance(node, Scalar) or source.text[node.start : node.start + 1] in ("[", "{"):
            return max(node.start, _behind_text(source.text, node.end))
        above = node.start
        node = node.items[-1] if isinstance(node, Sequence) else node.pairs[-1][1]


def _behind_text(text: str, position: int) -> int:
    """Where the blanks before a position begin."""
    while position and text[position - 1] in _BLANK:
        position -= 1
    return position


def _check(place: YamlPlace) -> None:
    if not place.certain:
        raise RefusedError("a template fills this in: edit it by hand")
    if place.shared:
        raise RefusedError("an anchor shares this with other places: edit it by hand")


def _check_value(value: str) -> None:
    if _PLAIN.fullmatch(value) is None:
        raise RefusedError(f"{value[:40]!r} does not stand here literally: edit it by hand")


def _edit(source: YamlSource, start: int, end: int, new: str) -> Edit:
    return Edit(source.byte_offset(start), source.byte_offset(end), new.encode())
