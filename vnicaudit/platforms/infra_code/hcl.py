"""Parse HCL (Terraform, OpenTofu) into blocks of values. Nothing is evaluated.

Literals, maps and lists are values; any other expression is kept as text. So operators and
functions need not be known here, and text that Terraform refuses may be accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.platforms.infra_code.records import MAX_DEPTH, Value
from vnicaudit.text.beginning import LineIndex
from vnicaudit.text.comment_walk import CommentEntry, accepting_comments

# The tokens of HCL, following the specification of its native syntax (hashicorp/hcl, spec.md).


NAME = "name"
NUMBER = "number"
STRING = "string"
HEREDOC = "heredoc"
NEWLINE = "newline"
END = "end"

CLOSING = {"{": "}", "[": "]", "(": ")"}

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
    | (?P<newline>\n)
    | (?P<name>[^\W\d][\w-]*)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<quote>")
    | (?P<heredoc><<-?(?P<mark>[^\W\d][\w-]*)\r?\n(?:[^\n]*\n)*?
        [ \t]*(?P=mark)(?=[ \t\r]*(?:\n|\Z)))
    | (?P<sign>==|!=|>=|<=|=>|&&|\|\||::|\.\.\.|[{}\[\]()=:,.?!+\-*%~]|/(?!\*)|[<>](?!<))
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_PLAIN = re.compile(r'(?:[^"\\$%\n]+|\\[^\n]|\$\$\{|%%\{|[$%](?!\{))*')
"""Text of a quoted template up to its end, or to an interpolation."""


class Token(NamedTuple):
    """A token of the text. For a sign, ``kind`` is the sign itself. ``filled``: the string contains
    an interpolation (``${…}``, ``%{…}``)."""

    kind: str
    start: int
    end: int
    filled: bool = False


class UnexpectedError(Exception):
    """The text is not HCL from ``offset`` on."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def tokens(text: str) -> Iterator[Token]:
    """Every token except blanks and comments, and a final one of kind ``end``. Raises
    UnexpectedError."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise UnexpectedError(at)
        start, kind, filled = at, str(found.lastgroup), False
        at = found.end()
        if kind == "quote":
            at, filled = _string_end(text, start)
        if kind != "blank":
            kind = found[0] if kind == "sign" else STRING if kind == "quote" else kind
            yield Token(kind, start, at, filled)
    yield Token(END, at, at)


def _string_end(text: str, start: int) -> tuple[int, bool]:
    """Where the string that begins here ends, and whether it contains an interpolation.
    Interpolations may contain further strings; there is no recursion, since the text may be
    hostile."""
    inside, at, filled = ['"'], start + 1, False  # open quotes and braces, innermost last
    while inside:
        begin, found = at, (_PLAIN if inside[-1] == '"' else _TOKEN).match(text, at)
        if found is None:
            raise UnexpectedError(start)
        at = found.end()
        if found.re is _TOKEN:
            if found[0] in ('"', "{"):
                inside.append(found[0])
            elif found[0] == "}":
                inside.pop()
        elif text.startswith('"', at):
            inside.pop()
            at += 1
        elif text.startswith(("${", "%{"), at):
            inside.append("{")
            at, filled = at + 2, True
        else:  # the end of the line
            raise UnexpectedError(begin - 1)
    return at, filled


def hcl_comments(data: bytes, file: str) -> tuple[CommentEntry, ...]:
    """The comments of a file that accept findings; none from one that is not HCL."""
    del file  # the reader of the file reports what is wrong with it
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if len(text) > MAX_LENGTH:
        return ()
    try:
        return accepting_comments(_without_texts(text), "code")
    except UnexpectedError:
        return ()


def _without_texts(text: str) -> str:
    """The text with strings and other kinds of comments blanked, of the same length, so that ``#``
    only begins comments. Raises UnexpectedError."""
    parts: list[str] = []
    at = 0
    for token in tokens(text):
        parts.append(_COMMENT.sub(_blank_unless_hash, text[at : token.start]))
        parts.append(text[token.start : token.end].replace("#", "x"))
        at = token.end
    return "".join(parts)


def _blank_unless_hash(comment: re.Match[str]) -> str:
    written = comment[0]
    if written.startswith(("#", "//")):
        return written if written.startswith("#") else f" #{written[2:]}"
    return "".join("\n" if sign == "\n" else " " for sign in written)


MAX_LENGTH = 512 * 1024
"""Larger files are refused: the worst file of this size takes 3 s of CPU time and 150 MiB."""

_MAX_SOURCE = 200
"""Maximum number of characters kept of an expression."""

_BEGINS: Final = frozenset((NAME, NUMBER, STRING, HEREDOC, *CLOSING, "!", "-"))
"""Kinds of tokens with which an expression begins."""

_ESCAPE = re.compile(r'\\(["\\ntr])|([$%])[$%]\{')
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


class Block(NamedTuple):
    """``resource "type" "name" { … }``: the body's attributes are ``body``, a map that begins where
    the block does; blocks in it are skipped."""

    type: str
    labels: tuple[str, ...]
    body: Value


def blocks(text: str, file: str) -> list[Block]:
    """The blocks of a file. Raises TargetError, with the line, if it is not HCL, or if it is too
    large."""
    if len(text) > MAX_LENGTH:
        raise TargetError(f"larger than {MAX_LENGTH >> 10} KiB: not read", file=file)
    text = text.replace("\r\n", "\n")
    try:
        return list(_Reader(text).blocks())
    except UnexpectedError as error:
        raise _not_read(error.offset, text, file) from None


def _not_read(offset: int, source: str, file: str) -> TargetError:
    """The error for unexpected text, of which the first mark is quoted: a word may be a secret."""
    first = source[offset:].strip()[:1]
    shown = "text" if first.isalnum() else repr(first) if first else "end"
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
        self.lines = LineIndex(text)

    def place(self, token: Token) -> tuple[int, int]:
        """Line and column of a token, from 1."""
        return self.lines.line_column(token.start)

    def blocks(self) -> Iterator[Block]:
        """The blocks of the whole text."""
        for start, opening, end in self._statements(0, len(self.tokens) - 1):
            if self.tokens[opening].kind == "{":
                names = self.tokens[start:opening]
                attributes = tuple(
                    (self._key(key, equals), self._value(equals + 1, last, 0))
                    for key, equals, last in self._statements(opening + 1, end - 1)
                    if self.tokens[equals].kind == "="
                )
                body = Value("map", *self.place(names[0]), "", attributes)
                labels = tuple(self._label(token) for token in names[1:])
                yield Block(self._source(names[0], names[0]), labels, body)

    def _statements(self, at: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Each attribute and each block: where it begins, its equals sign or opening brace, and
        where it ends, which is the end of a line."""
        while (at := self._behind_newlines(at, end)) < end:
            self._expect(at, NAME)
            middle = at + 1
            if self.tokens[middle].kind == "=":
                last = self._expression_end(middle + 1, end, ",", NEWLINE)
            else:
                while self.tokens[middle].kind in (NAME, STRING):
                    middle += 1
                self._expect(middle, "{")
                last = self.closing[middle] + 1
            if last < end:
                self._expect(last, NEWLINE)
            yield at, middle, last
            at = last

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
    """The characters for an escape sequence in a string; one of Unicode stays as it is written."""
    letter, opening = escape.groups()
    return f"{opening}{{" if opening else _CONTROL.get(letter, letter)
