"""Edits of a text; and the lines in which two texts differ, in hunks as in a unified diff: of
changed lines, what may be shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, NamedTuple

from vnicaudit.text.secrets import masked_line

# Replace parts of a text and leave every other byte unchanged.


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


# The differences of two lists of lines, in hunks, as in a unified diff.


_CONTEXT = 3
_SAME = 3
"""Number of equal lines at which two texts are aligned again."""
_FAR = 200
"""Number of lines after which the search for equal lines ends: an edit changes few."""

Mark = Literal["@", " ", "-", "+"]
NO_NEWLINE = "\\ No newline at end of file\n"
"""Marker behind a last line that has no line break."""


class LineChange(NamedTuple):
    """Lines ``old`` to ``old_end`` of one text become ``new`` to ``new_end`` of the other."""

    old: int
    old_end: int
    new: int
    new_end: int


class Hunk(NamedTuple):
    """Changes close to one another, and the range of lines shown of both texts."""

    changes: tuple[LineChange, ...]
    old: int
    old_end: int
    new: int
    new_end: int

    def lines(
        self, old: Sequence[str], new: Sequence[str], above: int = 0
    ) -> Iterator[tuple[Mark, str]]:
        """The header, then each line with its mark and what is shown of it; ``above`` is the number
        of lines that precede both lists."""
        yield (
            "@",
            (
                f"@@ -{_range(above + self.old, self.old_end - self.old)}"
                f" +{_range(above + self.new, self.new_end - self.new)} @@\n"
            ),
        )
        position = self.old
        for change in self.changes:
            yield from ((" ", line) for line in old[position : change.old])
            yield from (("-", masked_line(line)) for line in old[change.old : change.old_end])
            yield from (("+", masked_line(line)) for line in new[change.new : change.new_end])
            position = change.old_end
        yield from ((" ", line) for line in old[position : self.old_end])


def lines_of(text: str) -> list[str]:
    """Lines of a text with their line breaks; only LF is a line break."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    """The differing parts, in order; none where both texts are equal. The lines around a change are
    part of it up to the first of which something must be masked, so that ``patch`` can apply it."""
    group: list[LineChange] = []
    for change in _changes(old, new):
        between = old[group[-1].old_end : change.old] if group else ()
        if len(between) > 2 * _CONTEXT or _shown_whole(between) < len(between):
            yield _hunk(group, old)
            group = []
        group.append(change)
    if group:
        yield _hunk(group, old)


def _shown_whole(lines: Iterable[str]) -> int:
    """The number of lines before the first of which something must be masked."""
    return sum(1 for _ in takewhile(lambda line: masked_line(line) == line, lines))


def _best(old: Sequence[str], new: Sequence[str], part: LineChange) -> Iterator[LineChange]:
    """Differences within a part of both texts, as found by difflib."""
    i, i2, j, j2 = part
    for kind, a, a2, b, b2 in SequenceMatcher(None, old[i:i2], new[j:j2]).get_opcodes():
        if kind != "equal":
            yield LineChange(i + a, i + a2, j + b, j + b2)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[LineChange]:
    """Differences of two texts, in order, aligned again at the nearest equal lines; difflib finds
    the shortest within such a part, but its time grows with the square of the length."""
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
            continue
        i2, j2 = _meeting(old, new, i, j)
        change = LineChange(i, i2, j, j2)
        yield from _best(old, new, change) if max(i2 - i, j2 - j) <= _FAR else [change]
        i, j = i2, j2


def _meeting(old: Sequence[str], new: Sequence[str], i: int, j: int) -> tuple[int, int]:
    for far in range(1, _FAR):
        for gone in range(far + 1):
            x, y = i + gone, j + far - gone
            if x <= len(old) and y <= len(new) and old[x : x + _SAME] == new[y : y + _SAME]:
                return x, y
    return len(old), len(new)


def _hunk(group: list[LineChange], old: Sequence[str]) -> Hunk:
    first, last = group[0], group[-1]
    before = _shown_whole(reversed(old[max(0, first.old - _CONTEXT) : first.old]))
    behind = _shown_whole(old[last.old_end : last.old_end + _CONTEXT])
    return Hunk(
        tuple(group),
        first.old - before,
        last.old_end + behind,
        first.new - before,
        last.new_end + behind,
    )


def _range(start: int, length: int) -> str:
    """A range as GNU diff writes it: an empty one names the line before it."""
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
