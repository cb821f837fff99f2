"""The difference between two definitions, for review."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from vnicaudit.text.diff import NO_NEWLINE, Hunk, hunks, lines_of, one_hunk

_AROUND = 16
"""Lines compared on both sides of a difference: more than a diff shows."""


TextOf = Callable[[bytes], str]
"""Bytes of a definition -> its text, whatever the encoding; undecodable bytes as surrogates."""


def unified_diff(before: bytes, after: bytes, name: str, text_of: TextOf) -> str:
    """A unified diff of two definitions; undecodable bytes as escapes, secrets as stars. Empty if
    they are equal.

    Of two long texts only the part that differs is masked and compared, with some lines around it:
    a file may hold a thousand definitions, and each of their steps changes a line.
    """
    old, new = _readable(before, text_of), _text(after, text_of)
    part = _differing(old.text, new)
    above = old.text.count("\n", 0, part.start)
    lines = _lines(old.text[part.start : part.old_end])
    if lines == list(old.lines[above : above + len(lines)]):
        changed = _lines(new[part.start : part.new_end])
    else:  # earlier lines decide what is a secret here
        above, lines, changed = 0, list(old.lines), _lines(new)
    return _headed(name, _unified(lines, changed, above))


def is_diff_of(before: bytes, after: bytes, name: str, text_of: TextOf, diff: str) -> bool:
    """True if ``diff`` is the result of :func:`unified_diff` for them, or the same without masked
    secrets. Two shortcuts: most definitions have no secret near a NIC, so nothing has to be masked,
    and most differ in one place, so no best difference has to be searched for."""
    old, new = _readable(before, text_of).text, _text(after, text_of)
    part = _differing(old, new)
    lines = lines_of(old[part.start : part.old_end])
    changed = lines_of(new[part.start : part.new_end])
    above = old.count("\n", 0, part.start)
    return (
        diff == _headed(name, _unified(lines, changed, above, one_hunk(lines, changed)))
        or diff == _headed(name, _unified(lines, changed, above))
        or diff == unified_diff(before, after, name, text_of)
    )


def _headed(name: str, unified: Iterable[str]) -> str:
    shown = "".join(unified)
    return f"--- {name}\n+++ {name}\n{shown}" if shown else ""


class _Part(NamedTuple):
    """The compared part of two texts: both begin at ``start``, at the beginning of a line."""

    start: int
    old_end: int
    new_end: int


class _Readable:
    """A definition as text, and its lines with secrets as stars, made only when needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines of the definition, with secrets as stars."""
        return tuple(_lines(self.text))


@lru_cache(maxsize=1)
def _readable(before: bytes, text_of: TextOf) -> _Readable:
    """The definition as text, cached for the next step: all steps of one definition or file start
    with the same text."""
    return _Readable(_text(before, text_of))


def _text(data: bytes, text_of: TextOf) -> str:
    return text_of(data).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _lines(text: str) -> list[str]:
    from vnicaudit.text.secrets import masked  # slow to import, and seldom needed

    return lines_of(masked(text))


def _differing(old: str, new: str) -> _Part:
    """The part in which the texts differ, with whole lines around it."""
    most = min(len(old), len(new))
    same = _longest(most, lambda low, high: old[low:high] == new[low:high])
    old_last, new_last = len(old), len(new)
    behind = _longest(
        most - same,
        lambda low, high: (
            old[old_last - high : old_last - low] == new[new_last - high : new_last - low]
        ),
    )
    start, end = same, old_last - behind
    for _ in range(_AROUND):
        start = max(0, old.rfind("\n", 0, start))
        end = old.find("\n", end) + 1 or old_last
    start = old.rfind("\n", 0, start) + 1
    return _Part(start, end, end + new_last - old_last)


def _longest(most: int, alike: Callable[[int, int], bool]) -> int:
    """The largest number of characters, up to ``most``, that two texts have in common; ``alike``
    compares them from one position to another. It compares slices: a loop over characters takes a
    hundred times as long."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _unified(
    old: Sequence[str], new: Sequence[str], above: int, shown: Iterable[Hunk] | None = None
) -> Iterator[str]:
    """The hunks of a part of a text with ``above`` lines before it; ``shown``: these hunks; None:
    find the best ones."""
    for hunk in hunks(old, new) if shown is None else shown:
        for mark, line in hunk.lines(old, new, above):
            yield line if mark == "@" else f"{mark}{line}"
            if not line.endswith("\n"):
                yield f"\n{NO_NEWLINE}"
