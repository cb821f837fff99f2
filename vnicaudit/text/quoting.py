"""The line of a file that a finding is about, as a report may show it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from vnicaudit.base.opening import read_regular
from vnicaudit.text.secrets import masked_line

_MOST = 8 << 20
"""Maximum bytes of a file from which a line is shown."""
_LINES = 100
"""Lines of an ``<interface>`` in which an element is looked for."""
_WIDE = 300
"""Characters of a line, or of an element within a longer one, that are shown."""


class QuotedLine(NamedTuple):
    """A line with what may be secret masked. ``caret``: the column, from 0, of what is wrong in it;
    None: unknown, or it moved because something before it is masked."""

    number: int
    text: str
    caret: int | None


def quoted_line(file: str, line: int, column: int | None, xpath: str) -> QuotedLine | None:
    """The line; of a NIC in domain XML the one with the element that ``xpath`` names. None if the
    file cannot be read again, or has another form by now."""
    lines = _lines_of(file)
    if not 0 < line <= len(lines):
        return None
    at, start = line - 1, None if column is None else column - 1
    element = re.search(r"/interface(?:\[\d+\])?/(\w+)", xpath)
    if element is not None:
        tag = re.compile(rf"<{element[1]}(?=[\s/>])[^<>]*>?")
        for number in range(at, min(at + _LINES, len(lines))):
            found = tag.search(lines[number])
            if found is not None and len(lines[number]) > _WIDE:  # all on one line
                return QuotedLine(number + 1, masked_line(found[0])[:_WIDE], 0)
            if found is not None:
                at, start = number, found.start()
                break
            if "</interface" in lines[number]:
                break
    text = lines[at].rstrip("\r")
    if len(text) > _WIDE:
        return None
    shown = masked_line(text)
    indent = len(shown) - len(shown.lstrip())
    stays = start is not None and start >= indent and shown[:start] == text[:start]
    caret = start - indent if start is not None and stays else None
    return QuotedLine(at + 1, shown.strip(), caret)


@lru_cache(maxsize=1)  # the findings of a file follow each other
def _lines_of(file: str) -> tuple[str, ...]:
    """Empty if it is no text in UTF-8."""
    try:
        return tuple(read_regular(file, _MOST).decode("utf-8").split("\n"))
    except (OSError, UnicodeDecodeError):
        return ()
