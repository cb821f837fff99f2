"""Tables of Open vSwitch's database as ovs-vsctl prints them: JSON, the text of ``list``, ``show``.

Source: ovs-vsctl(8) and lib/table.c, lib/ovsdb-data.c of Open vSwitch (d6a632a): JSON in OVSDB
notation (RFC 7047, 5.1: sets and maps are tagged arrays, a set of one is its element), one document
a table; in text ``[a, b]`` and ``{key=value}``, with strings in quotes as in JSON unless they are
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.model.decoding import json_as

Value = str | tuple[str, ...] | dict[str, str]
"""An atom, a set or a map. Numbers and booleans are as the text form has them."""
Row = dict[str, Value]

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s,=\[\]{}"]+|=')
"""Each begins where one matches, so that no text is looked through twice."""
_COLUMN = re.compile(r"([a-z_]{1,64})[ \t]*: ?(.*)")
_SHOWN = re.compile(r"[ \t]+(Bridge|Port|Interface) (.+)")
_CLOSING = {"[": "]", "{": "}", '"': '"'}


class JsonTable(msgspec.Struct, frozen=True):
    """A table in JSON."""

    headings: list[str]
    data: list[list[object]]


def rows_of(text: str) -> list[Row]:
    """The rows of all tables in a text, in either form. A row that is cut off lacks its last
    columns."""
    rows: list[Row] = []
    row: Row = {}
    for line in text.splitlines():
        if line.startswith('{"'):
            rows += _in_json(line)
            continue
        match = _COLUMN.fullmatch(line)
        if match is None or match[1] in row:
            if row:
                rows.append(row)
            row = {}
        if match is not None and (value := value_of(match[2])) is not None:
            row[match[1]] = value
    return [*rows, row] if row else rows


def value_of(text: str) -> Value | None:
    """A value in text; None if it is cut off."""
    text = text.strip()
    closing = _CLOSING.get(text[:1])
    if closing is not None and (len(text) < 2 or not text.endswith(closing)):
        return None
    if text.startswith("["):
        return tuple(_plain(atom) for atom in _TOKENS.findall(text) if atom != "=")
    if text.startswith("{"):
        tokens = _TOKENS.findall(text)
        places = (at for at, word in enumerate(tokens) if word == "=")
        pairs = (tokens[max(at - 1, 0) : at + 2] for at in places)
        return {_plain(pair[0]): _plain(pair[2]) for pair in pairs if len(pair) == 3}
    return _plain(text)


def bridges_shown(text: str) -> dict[str, str]:
    """Interface -> its bridge, from ``ovs-vsctl show``."""
    found: dict[str, str] = {}
    bridge = ""
    for line in text.splitlines():
        match = _SHOWN.fullmatch(line)
        if match is not None and match[1] == "Bridge":
            bridge = _plain(match[2])
        elif match is not None and match[1] == "Interface" and bridge:
            found[_plain(match[2])] = bridge
    return found


def _in_json(line: str) -> Iterator[Row]:
    try:
        table = json_as(line, JsonTable)
    except (msgspec.MsgspecError, RecursionError):
        return
    for cells in table.data:
        yield dict(zip(table.headings, map(_cell, cells), strict=False))


def _cell(cell: object) -> Value:
    match cell:
        case ["map", list(pairs)]:
            return dict(_pairs(pairs))
        case ["set", list(atoms)]:
            return tuple(_atom(atom) for atom in atoms)
        case _:
            return _atom(cell)


def _pairs(pairs: Iterable[object]) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        match pair:
            case [key, value]:
                yield _atom(key), _atom(value)


def _atom(atom: object) -> str:
    match atom:
        case ["uuid" | "named-uuid", str(uuid)]:
            return uuid
        case bool():
            return "true" if atom else "false"
        case _:
            return str(atom)


def _plain(atom: str) -> str:
    """An atom without its quotes."""
    if not atom.startswith('"'):
        return atom
    try:
        return json_as(atom, str)
    except msgspec.MsgspecError:
        return atom.strip('"')
