"""Wraps lines for a terminal. Nothing is ever cut: a word wider than the line gets a line of its
own, so that paths and ids can be copied."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

import msgspec


class Piece(msgspec.Struct, frozen=True):
    """Text without (``plain``) and with colour codes (``painted``); its width is that of
    ``plain``."""

    plain: str
    painted: str


def width_of(text: str) -> int:
    """Width in terminal columns (two for most East Asian characters)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # loaded only for non-ASCII text

    return cell_len(text)


def wrap(text: str, width: int, first: str, rest: str) -> str:
    """``first`` and the text, broken between words, with further lines indented by ``rest``; ends
    with a line break."""
    if len(first) + width_of(text) <= width:
        return f"{first}{text}\n"
    return fold([Piece(word, word) for word in text.split(" ")], width, first, rest, " ")


def with_lead(lead: Piece, text: str, width: int, first: str, rest: str) -> str:
    """``first``, words that may be coloured, and the text, wrapped as one. If the words themselves
    must be broken, they are not coloured."""
    lines, head = wrap(f"{lead.plain}{text}", width, first, rest), f"{first}{lead.plain}"
    return f"{first}{lead.painted}{lines[len(head) :]}" if lines.startswith(head) else lines


def title_line(title: Piece, text: str, width: int) -> str:
    """A title and its text: side by side, or the text wrapped below."""
    if width_of(title.plain) + 2 + width_of(text) <= width:
        return f"{title.painted}  {text}\n"
    return f"{title.painted}\n{wrap(text, width, '  ', '    ')}"


def fold(pieces: Iterable[Piece], width: int, first: str, rest: str, gap: str) -> str:
    """Pieces joined by ``gap`` and never broken inside; further lines are indented by ``rest``."""
    lines: list[str] = []
    line, used, filled = first, len(first), False
    for piece in pieces:
        size = width_of(piece.plain)
        if filled and used + len(gap) + size > width:
            lines.append(line.rstrip())
            line, used, filled = rest, len(rest), False
        line += f"{gap}{piece.painted}" if filled else piece.painted
        used += size + len(gap) * filled
        filled = True
    return "\n".join([*lines, line.rstrip(), ""])


def padded(cell: Piece, width: int, *, right: bool = False) -> Piece:
    """A cell with blanks behind it, or before it (``right``), up to the width of its column."""
    pad = " " * (width - width_of(cell.plain))
    if right:
        return Piece(pad + cell.plain, pad + cell.painted)
    return Piece(cell.plain + pad, cell.painted + pad)


def aligned(
    rows: Sequence[Sequence[Piece]], *, least: Sequence[int] = (), numbers: Collection[int] = ()
) -> list[list[Piece]]:
    """The cells of all rows, padded to the width of their column, which is at least ``least``.
    ``numbers``: right-aligned columns."""
    longest = [max(width_of(cell.plain) for cell in column) for column in zip(*rows, strict=True)]
    widths = [max(pair) for pair in zip_longest(longest, least, fillvalue=0)]
    return [
        [padded(cell, widths[at], right=at in numbers) for at, cell in enumerate(row)]
        for row in rows
    ]


def hidden(number: int, what: str = "") -> str:
    """The line that replaces what is not shown: ``… 12 more (--verbose shows them)``."""
    return f"… {number:,} more{what and f' {what}'} (--verbose shows them)"
