"""Replace parts of a text and leave every other byte unchanged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Bytes ``start`` to ``end`` (exclusive) become ``new``. An empty range is an insertion, an
    empty ``new`` a removal."""

    start: int
    end: int
    new: bytes


class TextPosition(NamedTuple):
    """A position in a text: line and column from 1, the column in characters."""

    line: int
    column: int


class Replacement(NamedTuple):
    """The text from ``start`` to ``end`` (exclusive) becomes ``new``."""

    start: TextPosition
    end: TextPosition
    new: str


class LineStarts:
    """Where the lines of a UTF-8 text begin."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0]
        while (end := data.find(b"\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)

    def replacement(self, edit: Edit) -> Replacement:
        """An edit of bytes as a replacement in the text."""
        return Replacement(self._position(edit.start), self._position(edit.end), edit.new.decode())

    def _position(self, offset: int) -> TextPosition:
        line = bisect_right(self._starts, offset)
        before = self._data[self._starts[line - 1] : offset]
        return TextPosition(line, len(before.decode()) + 1)


class OverlappingEditsError(ValueError):
    """Two edits change the same bytes, so they cannot both be made."""


def applied(data: bytes, edits: Iterable[Edit]) -> bytes:
    """``data`` with all edits made; their positions refer to the original.

    Raises OverlappingEditsError; equal edits count as one. Raises ValueError for a range outside
    ``data``.
    """
    parts: list[bytes] = []
    position = 0
    for edit in sorted(set(edits)):
        if not 0 <= edit.start <= edit.end <= len(data):
            raise ValueError(f"bytes {edit.start} to {edit.end} of {len(data)}")
        if edit.start < position:
            raise OverlappingEditsError(f"two edits of byte {edit.start}")
        parts += [data[position : edit.start], edit.new]
        position = edit.end
    return b"".join([*parts, data[position:]])
