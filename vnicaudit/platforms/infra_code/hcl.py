"""Parse HCL (Terraform, OpenTofu) into blocks of values. Nothing is evaluated.

Literals, maps and lists are values; any other expression is kept as text. So operators and
functions need not be known here, and text that Terraform refuses may be accepted.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.platforms.infra_code.hcl_tokens import (
    CLOSING,
    HEREDOC,
    NAME,
    NEWLINE,
    NUMBER,
    STRING,
    Token,
    UnexpectedError,
    tokens,
)
from vnicaudit.platforms.infra_code.value import MAX_DEPTH, Value
from vnicaudit.text.secrets import masked

MAX_LENGTH = 512 * 1024
"""Larger files are refused: the worst file of this size takes 3 s of CPU time and 150 MiB."""

_MAX_SOURCE = 200
"""Maximum number of characters kept of an expression."""

_MAX_SHOWN = 40
"""Maximum number of characters shown of unreadable text."""

_BEGINS: Final = frozenset((NAME, NUMBER, STRING, HEREDOC, *CLOSING, "!", "-"))
"""Kinds of tokens with which an expression begins."""

_ESCAPE = re.compile(r'\\(?:(["\\ntr])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))|([$%])[$%]\{')
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


class Block(NamedTuple):
    """``resource "type" "name" { … }``: the body's attributes are ``body``, a map; ``blocks`` are
    the blocks in it."""

    type: str
    labels: tuple[str, ...]
    line: int
    column: int
    body: Value
    blocks: tuple[Block, ...] = ()


def blocks(text: str, file: str) -> list[Block]:
    """The blocks of a file. Raises TargetError, with the line, if it is not HCL, or if it is too
    large."""
    if len(text) > MAX_LENGTH:
        raise TargetError(f"larger than {MAX_LENGTH >> 10} KiB: not read", file=file)
    text = text.replace("\r\n", "\n")
    try:
        reader = _Reader(text)
        return list(reader.body(0, len(reader.tokens) - 1, 0)[1])
    except UnexpectedError as error:
        raise _not_read(error.offset, text, file) from None


def _not_read(offset: int, source: str, file: str) -> TargetError:
    """The error for unexpected text, which is quoted unless it may be (part of) a secret."""
    text = source[offset:].strip().partition("\n")[0][:_MAX_SHOWN]
    shown = "text" if text not in masked(source) else repr(text) if text else "end"
    return TargetError(
        f"the HCL parser cannot read it: unexpected {shown}",
        file=file,
        line=source.count("\n", 0, offset) + 1,
    )


class _Reader:
    """The tokens of a text, the closing bracket of each opening one, and the beginnings of
    lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokens(text))
        self.closing = _closing(self.tokens)
        self.lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(self, token: Token) -> tuple[int, int]:
        """Line and column of a token, from 1."""
        line = bisect_right(self.lines, token.start)
        return line, token.start - self.lines[line - 1] + 1

    def body(
        self, at: int, end: int, depth: int
    ) -> tuple[tuple[tuple[Value, Value], ...], tuple[Block, ...]]:
        """Attributes and blocks of the tokens from ``at`` up to ``end``."""
        attributes: list[tuple[Value, Value]] = []
        inner: list[Block] = []
        while (at := self._behind_newlines(at, end)) < end:
            self._expect(at, NAME)
            if self.tokens[at + 1].kind == "=":
                last = self._expression_end(at + 2, end, ",", NEWLINE)
                attributes.append((self._key(at, at + 1), self._value(at + 2, last, 0)))
            else:
                last, block = self._block(at, depth)
                inner.append(block)
            if last < end:
                self._expect(last, NEWLINE)
            at = last
        return tuple(attributes), tuple(inner)

    def _block(self, at: int, depth: int) -> tuple[int, Block]:
        """The block that begins here, and where it ends."""
        opening = at + 1
        while self.tokens[opening].kind in (NAME, STRING):
            opening += 1
        self._expect(opening, "{")
        end, names = self.closing[opening], self.tokens[at:opening]
        place = self.place(names[0])
        attributes, inner = (
            self.body(opening + 1, end, depth + 1) if depth < MAX_DEPTH else ((), ())
        )
        labels = tuple(self._label(token) for token in names[1:])
        body = Value("map", *place, "", attributes)
        return end + 1, Block(self._source(names[0], names[0]), labels, *place, body, inner)

    def _label(self, token: Token) -> str:
        return self._string(token).text if token.kind == STRING else self._source(token, token)

    def _expect(self, at: int, kind: str) -> None:
        if self.tokens[at].kind != kind:
            raise UnexpectedError(self.tokens[at].start)

    def _behind_newlines(self, at: int, end: int) -> int:
        while at < end and self.tokens[at].kind == NEWLINE:
            at += 1
        return at

    def _expression_end(self, at: int, end: int, *ends: str) -> int:
        """Where the expression that begins here ends: at one of ``ends``, or before ``end``."""
        if at >= end or self.tokens[at].kind not in _BEGINS:
            raise UnexpectedError(self.tokens[at].start)
        while at < end and (kind := self.tokens[at].kind) not in ends:
            at = self.closing[at] + 1 if kind in CLOSING else at + 1
        return at

    def _value(self, at: int, end: int, depth: int) -> Value:
        """The value of the expression between these tokens."""
        first, last = self.tokens[at], self.tokens[end - 1]
        place, source = self.place(first), self._source(first, last)
        if end == at + 1 and first.kind == STRING:
            return self._string(first)
        if end == at + 1 and (first.kind == NUMBER or source in ("true", "false", "null")):
            return Value("other" if source == "null" else "scalar", *place, source)
        is_whole = first.kind in ("{", "[") and self.closing[at] == end - 1
        if not is_whole or depth > MAX_DEPTH or self._is_for(at):
            return Value("other", *place, source, certain=False)
        if first.kind == "{":
            return Value("map", *place, "", tuple(self._elements(at + 1, end - 1, depth)))
        return Value("list", *place, "", tuple(self._items(at + 1, end - 1, depth)))

    def _is_for(self, at: int) -> bool:
        """True for ``[for x in …]`` and ``{for …}``."""
        at = self._behind_newlines(at + 1, self.closing[at])
        return self._source(self.tokens[at], self.tokens[at]) == "for" and (
            self.tokens[at + 1].kind == NAME
        )

    def _items(self, at: int, end: int, depth: int) -> Iterator[tuple[None, Value]]:
        """Values of a list, in which line breaks have no meaning."""
        while (at := self._behind_newlines(at, end)) < end:
            comma = last = self._expression_end(at, end, ",")
            while self.tokens[last - 1].kind == NEWLINE:
                last -= 1
            yield None, self._value(at, last, depth + 1)
            at = comma + 1

    def _elements(self, at: int, end: int, depth: int) -> Iterator[tuple[Value, Value]]:
        while (at := self._behind_newlines(at, end)) < end:
            middle = self._expression_end(at, end, "=", ":", ",", NEWLINE)
            if self.tokens[middle].kind not in ("=", ":"):
                raise UnexpectedError(self.tokens[middle].start)
            start = self._behind_newlines(middle + 1, end)
            last = self._expression_end(start, end, ",", NEWLINE)
            yield self._key(at, middle), self._value(start, last, depth + 1)
            at = last + 1

    def _key(self, at: int, end: int) -> Value:
        """A key: a bare word or a string is itself; anything else is an expression."""
        first = self.tokens[at]
        if end == at + 1 and first.kind == STRING:
            return self._string(first)
        certain = end == at + 1 and first.kind in (NAME, NUMBER)
        source = self._source(first, self.tokens[end - 1])
        return Value("scalar", *self.place(first), source, certain=certain)

    def _string(self, token: Token) -> Value:
        """A quoted template: certain if nothing is filled in; otherwise as written."""
        inside = self.text[token.start + 1 : token.end - 1]
        text = inside[:_MAX_SOURCE] if token.filled else _ESCAPE.sub(_unescaped, inside)
        return Value("scalar", *self.place(token), text, certain=not token.filled)

    def _source(self, first: Token, last: Token) -> str:
        """The text of an expression, shortened."""
        return self.text[first.start : min(last.end, first.start + _MAX_SOURCE)]


def _closing(every: list[Token]) -> dict[int, int]:
    """Opening bracket -> its closing bracket. Raises UnexpectedError if they do not match."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(every):
        if token.kind in CLOSING:
            opened.append(at)
        elif token.kind in CLOSING.values():
            if not opened or CLOSING[every[opened[-1]].kind] != token.kind:
                raise UnexpectedError(token.start)
            found[opened.pop()] = at
    if opened:
        raise UnexpectedError(every[-1].start)
    return found


def _unescaped(escape: re.Match[str]) -> str:
    """The characters for an escape sequence in a string."""
    letter, short, long, opening = escape.groups()
    if opening:
        return f"{opening}{{"
    if letter:
        return _CONTROL.get(letter, letter)
    code = int(short or long, 16)
    is_character = code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF
    return chr(code) if is_character else escape[0]
