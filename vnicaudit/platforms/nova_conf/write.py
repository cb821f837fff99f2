"""Convert a change of an option to edits of its nova.conf, leaving everything else as it is.

Source of the syntax: oslo.config ``iniparser.BaseParser``: the value is the text behind the first
``=`` or ``:``, without blanks and one pair of quotes, and the following lines that begin with a
blank; there are no comments behind a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from vnicaudit.errors import RefusedError
from vnicaudit.knowledge.nova_conf.resolve import is_placeholder
from vnicaudit.model.finding import Change, Location
from vnicaudit.text.beginning import is_only_placeholder
from vnicaudit.text.edits import Edit
from vnicaudit.text.template_walk import is_template

ENTAILED: dict[str, tuple[str, ...]] = {}
"""Field -> others that go with it: none."""
SHARED: frozenset[str] = frozenset()
"""Fields that one setting decides for all NICs: none."""
OWNER_REWRITES = False
"""nova.conf belongs to its administrator, and nothing rewrites it."""

_MARK = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"\[([^\]\n]*)\]")
_ASSIGNMENT = re.compile(
    rb"(?P<key>[^\s=:#;\[](?:[^=:\n]*[^=: \t\n])?)[ \t]*[=:]"
    rb"[ \t]*(?![ \t])(?P<value>(?:[^\n]*\S)?)\s*"
)
_QUOTED = re.compile(rb"(?P<quote>[\"'])(?P<inside>.*)(?P=quote)")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_REMARK = re.compile(rb"\s[#;]|\A[#;]")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/+-]+")
_IN_WORD = re.compile(rb"[^\s\"',;}\])<#\\]")


def edits_for(data: bytes, place: Location, change: Change) -> list[Edit]:
    """The edits that set the option at ``place`` to another value, or remove it with all its lines,
    there and wherever else its section has it: otherwise another occurrence would take effect.

    In another program's file (``place.xpath``) only a value is changed, where it is written.

    Raises RefusedError if it is not there, or not for certain (a template).
    """
    if place.line is None:
        raise RefusedError("the option is not in this file")
    if place.xpath is not None:
        return [_value_at(data, place.line, place.column, change)]
    if _LONE_RETURN.search(data):  # lines are counted differently there
        raise RefusedError("a carriage return ends a line of the file: edit it by hand")
    by_line, by_name = _assignments(data)
    chosen = by_line.get(place.line)
    if chosen is None:
        raise RefusedError(f"line {place.line} does not set an option")
    if change.new is None:
        gone = by_name[chosen.section, chosen.name]
    elif _PLAIN.fullmatch(change.new) is None:
        raise RefusedError(f"{change.field} cannot be set to {change.new[:40]!r}")
    else:
        gone = []
    for option in (chosen, *gone):
        value = data[slice(*option.value)].decode("utf-8", "replace").strip("\"'")
        # the finding's value may have been a reference to another option, which was resolved
        filled_in = is_placeholder(value) if option is chosen else is_only_placeholder(value)
        if filled_in or is_template(data[option.start : option.below].decode("utf-8", "replace")):
            raise RefusedError("a template fills this line in: edit it by hand")
    if change.new is None:
        return [Edit(option.start, option.below, b"") for option in gone]
    return _new_value(data, chosen, change.new.encode())


def _value_at(data: bytes, line: int, column: int | None, change: Change) -> Edit:
    """The edit of a value that stands in a file of any form, as it is."""
    if change.new is None or change.old is None:
        raise RefusedError("a setting is removed from a nova.conf only: remove it here by hand")
    start = len(_MARK) if data.startswith(_MARK) else 0
    for _ in range(line - 1):
        start = _line_end(data, start) + 1
    before = data[start : _line_end(data, start)].decode("utf-8", "replace")[: (column or 1) - 1]
    start += len(before.encode())
    end = start + len(change.old.encode())
    is_there = data[start:end] == change.old.encode() and not _IN_WORD.match(data, end)
    if column is None or not is_there or _PLAIN.fullmatch(change.new) is None:
        raise RefusedError("this is not a simple value, or an anchor shares it: edit it by hand")
    return Edit(start, end, change.new.encode())


def text_of(data: bytes) -> str:
    """The file's text for display; bytes that are not UTF-8 become surrogates."""
    return data.decode("utf-8-sig", "surrogateescape")


class _Option(NamedTuple):
    """An assignment: its line (1-based) and section, where it begins, where its value is, where the
    line ends, and where the first line begins that does not belong to it."""

    line: int
    section: bytes
    name: bytes
    start: int
    value: tuple[int, int]
    end: int
    below: int


@lru_cache(maxsize=1)
def _assignments(
    data: bytes,
) -> tuple[dict[int, _Option], dict[tuple[bytes, bytes], list[_Option]]]:
    """The assignments of a file by their lines, and by section and name; parsed once for all
    changes that are tried on one text."""
    by_line: dict[int, _Option] = {}
    by_name: dict[tuple[bytes, bytes], list[_Option]] = {}
    for option in _options(data):
        by_line[option.line] = option
        by_name.setdefault((option.section, option.name), []).append(option)
    return by_line, by_name


def _options(data: bytes) -> Iterator[_Option]:
    """The assignments, in order."""
    section = b""
    position = len(_MARK) if data.startswith(_MARK) else 0
    line = 0
    while position < len(data):
        line += 1
        end = _line_end(data, position)
        header = _HEADER.match(data, position, end)
        match = _ASSIGNMENT.fullmatch(data, position, end)
        if header is not None:
            section = header[1]
        elif match is not None:
            below = _below(data, end)
            value = match.span("value")
            yield _Option(line, section, match["key"], position, value, end, below)
        position = end + 1


def _new_value(data: bytes, option: _Option, new: bytes) -> list[Edit]:
    start, end = option.value
    value = data[start:end]
    quoted = _QUOTED.fullmatch(value)
    if quoted is not None:
        start, end = start + quoted.start("inside"), start + quoted.end("inside")
    elif _REMARK.search(value):
        raise RefusedError(
            "what looks like a comment after the value is part of it: edit it by hand"
        )
    edits = [Edit(start, end, new)]
    if option.end + 1 < option.below:  # the lines in which the old value continued
        edits.append(Edit(option.end + 1, option.below, b""))
    return edits


def _below(data: bytes, end: int) -> int:
    """Where the first line begins that does not continue the line that ends there."""
    below = min(end + 1, len(data))
    while data[below : below + 1] in (b" ", b"\t") and data[below : _line_end(data, below)].strip():
        below = min(_line_end(data, below) + 1, len(data))
    return below


def _line_end(data: bytes, start: int) -> int:
    found = data.find(b"\n", start)
    return len(data) if found < 0 else found
