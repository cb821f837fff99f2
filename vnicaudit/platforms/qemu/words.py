"""Text -> words: shell text with its quoting, ``ps`` output without any."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_COMMAND = 4 << 20
"""Characters of one command line that are looked at; Linux allows arguments of 2 MiB."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+)
      | (?P<joint>\\\r?\n)
      | (?P<end>\n|\#(?<![^\s]\#)|[;|&>])
      | '(?P<single>[^']*)'
      | "(?P<double>[^"\\]*)"
      | \\(?P<escaped>.)
      | (?P<raw>[^\s'"\\;|&>]+)
      | (?P<open>['"\\])
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTE_OR_ESCAPE = re.compile(r"[\"\\]")
_BARE_JSON = re.compile(r"\{[ \t]{0,8}\"")
_IN_DOUBLE = re.compile(r"\\(\n|[$`\"\\])")


class Words(NamedTuple):
    """The words of one command and where it ends in the text. ``problem`` says why the list may
    be incomplete, None when it is not.

    ``bare``: a word is JSON without quotes around it (``{"driver": …``), which a shell would
    spoil: the quotes were lost. ``kept``: a word is JSON with quotes around it: they were not."""

    words: list[str]
    end: int
    problem: str | None = None
    bare: bool = False
    kept: bool = False


def shell_words(text: str, start: int, most: int = MAX_COMMAND) -> Words:
    """Split as a POSIX shell does, from ``start`` to the end of the command (a newline that is
    not escaped, ``;``, ``|``, ``&``, ``>``, a comment, the end of the text), looking at ``most``
    characters.

    Nothing is expanded: ``$VAR`` stays as it is.
    """
    words: list[str] = []
    parts: list[str] = []  # of the word being read; joined once: a word may have millions
    bare = kept = False
    position = start
    limit = min(len(text), start + most)
    while position < limit:
        match = _TOKEN.match(text, position, limit)
        if match is None:
            break
        kind = match.lastgroup
        if kind == "open" and (end := _closing(text, match, limit)) >= 0:
            plain = _IN_DOUBLE.sub(_unescape, text[match.end() : end])
            kept = kept or (not parts and plain.startswith("{"))
            parts.append(plain)
            position = end + 1
            continue
        if kind == "open":
            mark = _unfinished(match.group())
            return Words(_done(words, parts), limit, mark, bare, kept)
        if kind == "end":
            return Words(_done(words, parts), match.start(), None, bare, kept)
        position = match.end()
        if kind == "space":
            words = _done(words, parts)
            parts = []
        elif kind != "joint":
            plain = match.group(kind or 0)
            if not parts:
                bare = bare or _BARE_JSON.match(text, match.start(), limit) is not None
                kept = kept or (kind != "raw" and plain.startswith("{"))
            parts.append(plain)
    problem = "a command line of more than 4 MiB" if limit < len(text) else None
    if text[:limit].rstrip(" \t").endswith("\\\n"):
        problem = "ends in a continued line"
    return Words(_done(words, parts), position, problem, bare, kept)


def _closing(text: str, opening: re.Match[str], limit: int) -> int:
    """Where the text in double quotes that has escapes in it ends; negative: nowhere."""
    position = opening.end()
    while opening.group() == '"':
        found = _QUOTE_OR_ESCAPE.search(text, position, limit)
        if found is None:
            break
        if found.group() == '"':
            return found.start()
        position = found.end() + 1
    return -1


def _unescape(match: re.Match[str]) -> str:
    return "" if match.group(1) == "\n" else match.group(1)


def _done(words: list[str], parts: list[str]) -> list[str]:
    if parts:  # an empty word ('') has one part, which is empty
        words.append("".join(parts))
    return words


def _unfinished(mark: str) -> str:
    return "ends in a continued line" if mark == "\\" else f"a quotation mark {mark} is not closed"
