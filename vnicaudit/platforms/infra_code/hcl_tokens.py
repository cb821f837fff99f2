"""The tokens of HCL, following the specification of its native syntax (hashicorp/hcl, spec.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
    | <<-?(?P<heredoc>[^\W\d][\w-]*)\r?\n
    | (?P<sign>==|!=|>=|<=|=>|&&|\|\||::|\.\.\.|[{}\[\]()=:,.?!+\-*/%<>~])
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
        token = _token(text, at)
        if token is None:
            at = _blank_end(text, at)
            continue
        yield token
        at = token.end
    yield Token(END, at, at)


def without_texts(text: str) -> str:
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


def _blank_end(text: str, at: int) -> int:
    found = _TOKEN.match(text, at)
    return at if found is None else found.end()


def _token(text: str, at: int) -> Token | None:
    """The token that begins here; None for a blank."""
    found = _match(text, at)
    if found is None:
        raise UnexpectedError(at)
    kind = str(found.lastgroup)
    if kind == "blank":
        return None
    if kind == "quote":
        end, filled = _string_end(text, at)
        return Token(STRING, at, end, filled)
    if kind == "heredoc":
        return Token(HEREDOC, at, _heredoc_end(text, found))
    return Token(found[0] if kind == "sign" else kind, at, found.end())


def _match(text: str, at: int) -> re.Match[str] | None:
    """The token or blank that begins here; None if none does, or if a comment has no end: otherwise
    every further comment sign would be searched up to the end of the text."""
    found = _TOKEN.match(text, at)
    has_no_end = found is not None and text.startswith("/*", at) and found[0][:2] != "/*"
    return None if has_no_end else found


def _heredoc_end(text: str, opening: re.Match[str]) -> int:
    """The end of the first line that holds only the mark."""
    at = opening.end()
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].rstrip()
        if line.lstrip() == opening["heredoc"]:
            return at + len(line)
        at = end + 1
    raise UnexpectedError(opening.start())


def _string_end(text: str, start: int) -> tuple[int, bool]:
    """Where the string that begins here ends, and whether it contains an interpolation.
    Interpolations may contain further strings; there is no recursion, since the text may be
    hostile."""
    inside, at, filled = ['"'], start + 1, False
    while inside:
        if inside[-1] == '"':
            at = _plain_end(text, at)
            if text[at] == '"':
                inside.pop()
                at += 1
            else:
                inside.append("{")
                at, filled = at + 2, True
        else:
            at = _inside_braces(text, at, start, inside)
    return at, filled


def _plain_end(text: str, at: int) -> int:
    """Position of the next quote or interpolation. Raises UnexpectedError at the end of the
    line."""
    found = _PLAIN.match(text, at)
    end = at if found is None else found.end()
    if text[end : end + 1] == '"' or text[end : end + 2] in ("${", "%{"):
        return end
    raise UnexpectedError(at - 1)


def _inside_braces(text: str, at: int, start: int, inside: list[str]) -> int:
    """The end of the next token inside an interpolation. ``inside``: open brackets and quotes,
    innermost last."""
    found = _match(text, at)
    if found is None:
        raise UnexpectedError(start)
    if found.lastgroup == "heredoc":
        return _heredoc_end(text, found)
    if found[0] in ('"', "{"):
        inside.append(found[0])
    elif found[0] == "}":
        inside.pop()
    return found.end()
