"""Where each document of a YAML file begins and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKER = re.compile(r"^(---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_BLANK_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")
_OBJECT_LINE = re.compile(r"\{[^\n]*\}[ \t\r]*(?:\n|\Z)")
_NOTHING = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?(?:\n|\Z)|%[^\n]*(?:\n|\Z))*")


def ranges_of(text: str) -> Iterator[tuple[int, int]]:
    """The range of each document of a file. ``---`` and ``...`` at the beginning of a line are
    markers wherever they are (YAML 1.2, 9.1.2); in JSON Lines each line is a document."""
    lines = _json_lines(text)
    if len(lines) > 1:
        yield from lines
        return
    start, explicit = 0, False
    for match in _MARKER.finditer(text):
        filled = explicit or _NOTHING.fullmatch(text, start, match.start()) is None
        if match.group() == "---":
            if filled:
                yield start, match.start()
                start = match.start()
            explicit = True
        else:
            if filled:
                yield start, match.start()
            start, explicit = match.end(), False
    if explicit or _NOTHING.fullmatch(text, start) is None:
        yield start, len(text)


def _json_lines(text: str) -> list[tuple[int, int]]:
    """The range of each line that is not blank, if each holds a complete object; else nothing. No
    YAML document has two such lines."""
    if not text.lstrip().startswith("{"):
        return []
    lines, position = [], 0
    while position < len(text):
        match = _OBJECT_LINE.match(text, position)
        if match is not None:
            lines.append(match.span())
        else:
            match = _BLANK_LINE.match(text, position)
            if match is None:
                return []
        position = match.end()
    return lines
