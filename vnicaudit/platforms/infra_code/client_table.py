"""Tables of OpenStack's clients (``openstack image show``, ``glance image-show``) -> the values
that ``-f json`` prints.

Source: cliff's table formatter, which wraps a long value into rows without a field, and osc_lib's
``format_dict``: ``name='value', …``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.platforms.infra_code.records import Value

_HEADER = re.compile(r"[ \t]*\|[ \t]*(Field|Property)[ \t]*\|[ \t]*Value[ \t]*\|[ \t]*\r?")
_PAIR = r"([\w.:-]{1,255})='([^'\n]{0,1000})'"
_PAIRS = re.compile(rf"{_PAIR}(?:, {_PAIR})*")
_MOST_ROWS = 1_000


def is_table(head: bytes) -> bool:
    """True if a text has such a table."""
    return b"|" in head and _headers(head) is not None


def tables(data: bytes) -> Iterator[Value]:
    """The tables of a text as maps of their fields; of ``properties`` as a map of its own."""
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines):
        if (header := _HEADER.fullmatch(line)) is not None:
            rows, is_whole = _rows(lines, number + 1)
            pairs = tuple(_entry(*row) for row in rows)
            if header[1] == "Property":  # glance: each property is a row
                key = Value("scalar", number + 1, 1, "properties")
                pairs += ((key, Value("map", number + 1, 1, "", pairs)),)
            yield Value("map", number + 1, 1, "", pairs, is_whole)


def _headers(head: bytes) -> re.Match[bytes] | None:
    return re.search(rb"(?m)^[ \t]*\|[ \t]*(?:Field|Property)[ \t]*\|[ \t]*Value[ \t]*\|", head)


_Row = tuple[str, str, int, int]
"""Field, value, line and column of the value."""


def _rows(lines: list[str], start: int) -> tuple[list[_Row], bool]:
    """The rows from a line on, and True if the line that closes the table is there."""
    rows: list[_Row] = []
    for number, line in enumerate(lines[start : start + _MOST_ROWS], start + 1):
        text = line.strip()
        parts = text.split("|", 2)
        if text.startswith("+-") and not rows:
            continue
        if len(parts) < 3 or parts[0] or not text.endswith("|") or _HEADER.fullmatch(line):
            return rows, text.startswith("+-")
        field, value = parts[1].strip(), parts[2][:-1].strip()
        if field or not rows:
            rows.append((field, value, number, line.index("|", line.index("|") + 1) + 3))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {value}", *rows[-1][2:])
    return rows, False


def _entry(field: str, value: str, line: int, column: int) -> tuple[Value, Value]:
    key = Value("scalar", line, column, field)
    if field != "properties":
        return key, Value("scalar", line, column, value)
    if value and _PAIRS.fullmatch(value) is None:  # wrapped within a word, or another client
        return key, Value("other", line, column, value, certain=False)
    pairs = (
        (Value("scalar", line, column + pair.start(), pair[1]),
         Value("scalar", line, column + pair.start(2), pair[2]))
        for pair in re.finditer(_PAIR, value)
    )  # fmt: skip
    return key, Value("map", line, column, value, tuple(pairs))
