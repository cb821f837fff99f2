"""The difference between two definitions, for review."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from vnicaudit.platforms.domain_xml.source import text_of
from vnicaudit.text.edits import NO_NEWLINE, hunks, lines_of

_AROUND = 16
"""Lines compared on both sides of a difference: more than a diff shows."""


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two definitions; undecodable bytes as escapes, what may be secret as stars.
    Empty if they are equal.

    Of two long texts only the part that differs is compared, with some lines around it: a file may
    hold a thousand definitions, and each of their steps changes a line.
    """
    old, new = _text(before), _text(after)
    start, old_end, new_end = _differing(old, new)
    lines, changed = lines_of(old[start:old_end]), lines_of(new[start:new_end])
    shown = "".join(_unified(lines, changed, old.count("\n", 0, start)))
    return f"--- {name}\n+++ {name}\n{shown}" if shown else ""


@lru_cache(maxsize=2)  # all steps of one definition or file start with the same text
def _text(data: bytes) -> str:
    return text_of(data).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _differing(old: str, new: str) -> tuple[int, int, int]:
    """The part in which the texts differ, with whole lines around it: where it starts in both, at
    the beginning of a line, and where it ends in each."""
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
    return start, end, end + new_last - old_last


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


def _unified(old: Sequence[str], new: Sequence[str], above: int) -> Iterator[str]:
    """The hunks of a part of a text with ``above`` lines before it."""
    for hunk in hunks(old, new):
        for mark, line in hunk.lines(old, new, above):
            yield line if mark == "@" else f"{mark}{line}"
            if not line.endswith("\n"):
                yield f"\n{NO_NEWLINE}"
