"""Build nodes from the events of ruamel.yaml's parser.

ruamel.yaml parses with its C parser if that is installed, which is 20 times as fast. The nodes are
built here because positions are needed, and recursion and expansion must not happen: an alias is
the node that it refers to, and a document whose aliases would expand to more than ``MAX_VALUES`` is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import NamedTuple, Protocol

import msgspec

from vnicaudit.text.yaml_source import Mapping, Node, Scalar, Sequence, YamlSource

MAX_DEPTH = 100
"""Levels of nesting, with aliases followed."""
MAX_VALUES = 500_000
"""Values of one document, with aliases followed."""


_JSON_TOKEN = re.compile(r"[\[\]{}]|\"[^\"\\]*(?:\\.[^\"\\]*)*\"?|[^\s\[\]{},:\"]+")
"""A token of valid JSON, except commas and colons."""


class _Mark(Protocol):
    index: int


class _Event(Protocol):
    """The used part of ruamel.yaml's events; only scalars have a value and a style."""

    start_mark: _Mark
    end_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str | None


class _Parser(Protocol):
    def check_event(self) -> bool: ...
    def get_event(self) -> _Event: ...


class NotYamlError(Exception):
    """Invalid YAML, with the position in the file."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position


class _ParserError(NotYamlError):
    """ruamel.yaml's parser error."""


class Composed(NamedTuple):
    """One document: its root (None if it is empty), and the keys that occur twice in a mapping,
    first and second. ``hashes``: ranges of quoted texts and blocks that contain ``#``, which begins
    no comment there."""

    root: Node | None
    duplicates: tuple[tuple[Scalar, Scalar], ...]
    hashes: tuple[tuple[int, int], ...] = ()


def composed(source: YamlSource, start: int, text: str) -> Composed:
    """Parse one document. JSON needs no parser of YAML. If the C parser refuses a document, the
    Python parser may read it or report the error better. Raises NotYamlError."""
    composer = _Composer(source, start, text)
    if _is_json(text):
        return composer.composed_json()
    c_parser = _c_parser()
    if c_parser is not None:
        try:
            return composer.composed(_c_events(c_parser(text)))
        except _ParserError:
            composer = _Composer(source, start, text)
    return composer.composed(_ruamel().YAML(typ="safe", pure=True).parse(text))


class _Frame:
    """A list or mapping that is being read."""

    __slots__ = ("anchor", "depth", "nodes", "size", "start")

    def __init__(self, start: int, anchor: str | None) -> None:
        self.start = start
        self.anchor = anchor
        self.nodes: list[Node] = []
        self.size = 1
        self.depth = 1


class _Composer:
    """Builds nodes from the parser's events without recursion."""

    def __init__(self, source: YamlSource, offset: int, text: str) -> None:
        self._duplicates: list[tuple[Scalar, Scalar]] = []
        self._hashes: list[tuple[int, int]] = []
        self._offset = offset
        self._text = text
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        self._stack: list[_Frame] = [_Frame(0, None)]
        self._template = source.template

    def composed_json(self) -> Composed:
        """The document made from valid JSON. Raises NotYamlError for too many values or levels."""
        for token in _JSON_TOKEN.finditer(self._text):
            start, end, text = self._offset + token.start(), self._offset + token.end(), token[0]
            if text in "{[":
                self._open(start, None)
            elif text == "}":
                self._close_mapping(end)
            elif text == "]":
                self._close_sequence(end)
            elif text[0] != '"':
                self._add(Scalar(start, end, text, True), 1, 1, None, start)
            else:
                value = str(msgspec.json.decode(text)) if "\\" in text else text[1:-1]
                if "#" in value:
                    self._hashes.append((start, end))
                self._add(Scalar(start, end, value, False), 1, 1, None, start)
        return self._whole()

    def composed(self, events: Iterator[_Event]) -> Composed:
        """The document made from the events. Raises NotYamlError."""
        errors = _ruamel().error
        reached = 0
        try:
            for event in events:
                self._take(event)
                reached = event.end_mark.index
        except errors.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or error.context or "it cannot be parsed"
            at = self._offset + (mark.index if mark is not None else 0)
            raise _ParserError(problem, at) from None
        except errors.YAMLError as error:
            at = getattr(error, "position", 0)
            problem = "a character that YAML does not allow"
            raise _ParserError(problem, self._offset + (at or 0)) from None
        except (ValueError, OverflowError):  # raised by chr() and int() in ruamel.yaml
            problem = "a number or an escape out of range, after this place"
            raise _ParserError(problem, self._offset + reached) from None
        return self._whole()

    def _whole(self) -> Composed:
        nodes = self._stack[0].nodes
        root = nodes[0] if nodes else None
        return Composed(root, tuple(self._duplicates), tuple(self._hashes))

    def _take(self, event: _Event) -> None:
        """Add what an event says; the begin and end of the stream and of the document say
        nothing."""
        start, end = self._offset + event.start_mark.index, self._offset + event.end_mark.index
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._take_scalar(event, start, end)
        elif kind == "AliasEvent":
            found = self._anchors.get(event.anchor or "")
            if found is None:
                raise NotYamlError("an alias whose anchor does not exist, or comes later", start)
            self._add(*found, None, start)
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            self._open(start, event.anchor)
        elif kind == "SequenceEndEvent":
            self._close_sequence(end)
        elif kind == "MappingEndEvent":
            self._close_mapping(end)

    def _take_scalar(self, event: _Event, start: int, end: int) -> None:
        text = without_surrogates(event.value)
        plain = not event.style and event.tag is None
        if event.style and "#" in text:
            at = event.start_mark.index
            if event.style in ("|", ">"):  # the text begins behind the first line
                at = max(at, self._text.find("\n", at))
            self._hashes.append((self._offset + at, end))
        node = Scalar(start, end, text, plain, event.anchor is not None)
        self._add(node, 1, 1, event.anchor, start)

    def _open(self, start: int, anchor: str | None) -> None:
        if len(self._stack) > MAX_DEPTH:
            raise NotYamlError(f"nested more than {MAX_DEPTH} levels deep", start)
        self._stack.append(_Frame(start, anchor))

    def _close_sequence(self, end: int) -> None:
        frame = self._stack.pop()
        node = Sequence(frame.start, end, frame.nodes, frame.anchor is not None)
        self._add(node, frame.size, frame.depth, frame.anchor, frame.start)

    def _close_mapping(self, end: int) -> None:
        frame = self._stack.pop()
        nodes = iter(frame.nodes)
        pairs = list(zip(nodes, nodes, strict=True))
        self._note_duplicates(pairs)
        for key, value in pairs:
            self._place_nothing(key, value)
        node = Mapping(frame.start, end, pairs, frame.anchor is not None)
        self._add(node, frame.size, frame.depth, frame.anchor, frame.start)

    def _add(self, node: Node, size: int, depth: int, anchor: str | None, at: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size, depth)
        frame = self._stack[-1]
        frame.nodes.append(node)
        frame.size += size
        frame.depth = max(frame.depth, depth + 1)
        if frame.size > MAX_VALUES:
            raise NotYamlError(f"more than {MAX_VALUES} values, with aliases expanded", at)
        if frame.depth > MAX_DEPTH + 1:
            raise NotYamlError(f"nested more than {MAX_DEPTH} levels deep", at)

    def _place_nothing(self, key: Node, value: Node) -> None:
        """Place the missing value of ``key:`` behind the colon; the parsers differ in this."""
        if not isinstance(value, Scalar) or value.text or not value.plain or value.anchored:
            return
        colon = self._text.find(":", key.end - self._offset, value.start - self._offset)
        value.start = value.end = self._offset + colon + 1 if colon >= 0 else key.end

    def _note_duplicates(self, pairs: list[tuple[Node, Node]]) -> None:
        if self._template:  # branches of a condition may set the same key
            return
        seen: dict[str, Scalar] = {}
        for key, _value in pairs:
            if isinstance(key, Scalar):
                first = seen.setdefault(key.text, key)
                if first is not key:
                    self._duplicates.append((first, key))


def without_surrogates(text: str) -> str:
    """The text with halves of surrogate pairs joined, or replaced where the other half is
    missing."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_json(text: str) -> bool:
    """True for valid JSON that is an object or a list. Its strings and numbers are the same in
    YAML, apart from a few characters that YAML refuses and Kubernetes reads."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False
    return True


def _c_events(parser: _Parser) -> Iterator[_Event]:
    while parser.check_event():
        yield parser.get_event()


def _ruamel() -> ModuleType:
    """ruamel.yaml; loaded on first use, because JSON needs none."""
    import ruamel.yaml

    return ruamel.yaml


@cache
def _c_parser() -> Callable[[str], _Parser] | None:
    """ruamel.yaml's C parser; None if it is not installed."""
    found: Callable[[str], _Parser] = _ruamel().YAML(typ="safe").Parser
    return None if found is _ruamel().parser.Parser else found
