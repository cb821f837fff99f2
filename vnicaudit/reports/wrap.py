"""Lines that fit a terminal. Nothing is ever cut: a word wider than the line stands alone on it,
so that paths and ids can be copied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Piece(NamedTuple):
    """Text as it is measured (``plain``) and as it is written (``painted``), with its colour
    codes."""

    plain: str
    painted: str


def width_of(text: str) -> int:
    """Terminal columns (two for most East Asian characters)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # loaded for other scripts only

    return cell_len(text)


def wrap(text: str, width: int, first: str, rest: str) -> str:
    """``first`` and the text, broken between words, further lines indented by ``rest``; ends
    with a line break."""
    if len(first) + width_of(text) <= width:
        return f"{first}{text}\n"
    return fold([Piece(word, word) for word in text.split(" ")], width, first, rest, " ")


def with_lead(lead: Piece, text: str, width: int, first: str, rest: str) -> str:
    """``first``, words that may be coloured, and the text, wrapped as if all were one. Where the
    words themselves have to be broken, they are not coloured."""
    lines, head = wrap(f"{lead.plain}{text}", width, first, rest), f"{first}{lead.plain}"
    return f"{first}{lead.painted}{lines[len(head) :]}" if lines.startswith(head) else lines


def title_line(title: Piece, text: str, width: int) -> str:
    """A title and what is to be said of it: beside it, or wrapped below."""
    if width_of(title.plain) + 2 + width_of(text) <= width:
        return f"{title.painted}  {text}\n"
    return f"{title.painted}\n{wrap(text, width, '  ', '    ')}"


def fold(pieces: Iterable[Piece], width: int, first: str, rest: str, gap: str) -> str:
    """Pieces joined by ``gap``, never broken inside; further lines indented by ``rest``."""
    lines: list[str] = []
    line, used, filled = first, len(first), False
    for plain, shown in pieces:
        size = width_of(plain)
        if filled and used + len(gap) + size > width:
            lines.append(line.rstrip())
            line, used, filled = rest, len(rest), False
        line += f"{gap}{shown}" if filled else shown
        used += size + len(gap) * filled
        filled = True
    return "\n".join([*lines, line.rstrip(), ""])


def hidden(number: int, what: str = "") -> str:
    """The line in place of what is not shown: ``… 12 more (--verbose shows them)``."""
    return f"… {number:,} more{what and f' {what}'} (--verbose shows them)"
