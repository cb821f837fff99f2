"""JSON as kubectl prints it -> one document for each object, with its place in the file.

The objects of a list are split without decoding them, and read one by one: a list of all virtual
machines of a cluster has tens of megabytes. What an API answered, already decoded, is read by the
same places; they have no lines.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.text.yaml_compose import NotYamlError, composed
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, without_tabs
from vnicaudit.text.yaml_source import (
    FilePosition,
    Mapping,
    MappingEntry,
    Node,
    Scalar,
    Sequence,
    YamlSource,
)

MAX_STEPS = 10_000_000
"""Objects, lists and commas of a file: what bounds the time that its objects take."""

_NEXT_VALUE = re.compile(rb"(?<=\})[ \t\r]*\n\s*(?=\{)")
"""Between two values, as ``kubectl get --watch -o json`` prints them, and in JSON Lines: inside of
a value a comma stands there, and strings have no line breaks."""
_BETWEEN = re.compile(rb"[\s,]*")
_KEY_IN_TEXT = re.compile(rb"\"(?:[^\"\\]|\\.)*\"\s*:\s*")

_Value = dict[str, msgspec.Raw]


class JsonItem(NamedTuple):
    """One object of a file: the whole of a value, or an item of a list. ``number`` is that of the
    value, 1-based, and ``pointer`` leads from it to the object."""

    raw: msgspec.Raw
    at: FilePosition
    number: int
    several: bool
    pointer: str

    @property
    def top(self) -> str:
        """The pointer to the object, with the number of its value if there are several."""
        return (f"[{self.number}]" if self.several else "") + self.pointer

    @property
    def text(self) -> str:
        """The object as written."""
        return bytes(self.raw).decode("utf-8", "replace")

    def document(self, file: str) -> YamlDocument:
        """The object as a document. Raises TargetError if it is too large, too deep, or not
        UTF-8."""
        source = YamlSource(bytes(self.raw), file, at=self.at)
        try:
            root, duplicates, _hashes = composed(source, 0, without_tabs(source.mask.text))
        except NotYamlError as error:
            line, _column = source.line_column(error.position)
            raise TargetError(f"not read: {error.problem}", file=file, line=line) from None
        if root is None:
            raise TargetError("an object without content", file=file, line=self.at.line)
        return YamlDocument(source, self.number, self.several, root, duplicates, self.pointer)


def json_items(data: bytes) -> list[JsonItem] | None:
    """The objects of a file in order; None if it is anything but JSON objects, one or several.
    Raises TargetError if it has too many."""
    start = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
    if not data[start : start + 4096].lstrip().startswith(b"{"):
        return None
    if sum(map(data.count, (b",", b"{", b"["))) > MAX_STEPS:
        raise TargetError(f"JSON of more than {MAX_STEPS} values: not read")
    cuts = [(match.start(), match.end()) for match in _NEXT_VALUE.finditer(data, start)]
    starts, ends = [start, *(end for _, end in cuts)], [*(begin for begin, _ in cuts), len(data)]
    found: list[tuple[int, msgspec.Raw, int, str]] = []
    for number, (begin, end) in enumerate(zip(starts, ends, strict=True), 1):
        value = data[begin:end] if cuts or begin else data
        try:
            fields = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
            found += ((at + begin, raw, number, to) for at, raw, to in _objects(value, fields))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return None
    return list(_placed(data, found, several=bool(cuts)))


def _objects(value: bytes, fields: _Value) -> Iterator[tuple[int, msgspec.Raw, str]]:
    """Position, text and pointer of each item of a list, or else of the value itself."""
    kind, held = bytes(fields.get("kind", b"")), fields.get("items")
    start = None if held is None or not kind.endswith(b'List"') else _start_of(value, fields, held)
    if held is None or start is None:
        start = len(value) - len(value.lstrip())
        yield start, msgspec.Raw(value.strip()), ""
        return
    at = start + 1
    for number, raw in enumerate(msgspec.json.decode(held, type=list[msgspec.Raw])):
        at = _behind(_BETWEEN, value, at)
        yield at, raw, f"/items/{number}"
        at += len(memoryview(raw))


def _start_of(value: bytes, fields: _Value, held: msgspec.Raw) -> int | None:
    """Where the list ``items`` begins; None if it is no list, or if a key occurs twice."""
    at, start = value.index(b"{") + 1, 0
    for raw in fields.values():
        at = _behind(_KEY_IN_TEXT, value, _behind(_BETWEEN, value, at))
        start = at if raw is held else start
        at += len(memoryview(raw))
    is_whole = value[_behind(_BETWEEN, value, at) :].strip() == b"}"
    return start if is_whole and value[start : start + 1] == b"[" else None


def _behind(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _placed(
    data: bytes, found: list[tuple[int, msgspec.Raw, int, str]], *, several: bool
) -> Iterator[JsonItem]:
    """The objects with their lines and columns, counted from one to the next."""
    last, line, column = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0, 1, 1
    for start, raw, number, pointer in found:
        between = data[last:start]
        if lines := between.count(b"\n"):
            line, column = line + lines, 1
            between = between[between.rindex(b"\n") + 1 :]
        column += len(between.decode("utf-8", "replace"))
        last = start
        yield JsonItem(raw, FilePosition(line, column, start), number, several, pointer)


# What an API answered.


def decoded_place(value: object, target: str) -> YamlPlace:
    """The root of a decoded JSON value."""
    source = YamlSource(b"", target, at=FilePosition(0, 0, 0))
    return YamlDocument(source, 1, False, _node(value), decoded=True).top


class _DecodedMapping(Mapping, kw_only=True):
    """An object whose values become nodes when they are asked for: most of them never are."""

    values: dict[str, object]

    def entry(self, key: str) -> MappingEntry | None:
        """The entry of a key."""
        value = self.values.get(key)
        return None if value is None else MappingEntry(_KEY, _node(value), False)

    def names(self) -> list[str]:
        """The keys."""
        return list(self.values)

    def children(self) -> dict[str, MappingEntry]:
        """Key -> entry."""
        return {key: MappingEntry(_KEY, _node(value), False) for key, value in self.values.items()}


_KEY = Scalar(0, 0, "", False)
"""In a decoded value, keys are at no position."""


def _node(value: object, *, inside: bool = False) -> Node:
    """``inside``: of a list. Kubernetes has no lists of lists, so that one is taken for empty."""
    if isinstance(value, dict):
        return _DecodedMapping(0, 0, [], values=value)
    if isinstance(value, list):
        return Sequence(0, 0, [] if inside else [_node(each, inside=True) for each in value])
    if isinstance(value, str):
        return Scalar(0, 0, value, False)
    return Scalar(0, 0, str(value).lower() if isinstance(value, int) else json.dumps(value), True)
