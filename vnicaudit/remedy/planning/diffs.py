"""The difference between two definitions, as it is reviewed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from vnicaudit.remedy.contract import DOMAIN_XML, writer_of
from vnicaudit.text.secrets import masked

_AROUND = 16
"""Lines on both sides of what differs that are looked at: more than a diff shows."""
_HUNK = re.compile(r"@@ -(\d{1,12})((?:,\d{1,12})?) \+(\d{1,12})((?:,\d{1,12})?) @@")


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two definitions as text, whatever their encoding; undecodable bytes as
    escapes, secrets as stars. Empty where they are the same.

    Of two long texts only what differs is masked and compared, and some lines around it: a file
    may hold a thousand definitions, and each of their steps changes a line.
    """
    old, new = _shown(before), _text(after)
    part = _differing(old.text, new)
    above = old.text.count("\n", 0, part.start)
    lines = _lines(old.text[part.start : part.old_end])
    if lines == list(old.lines[above : above + len(lines)]):
        changed = _lines(new[part.start : part.new_end])
    else:  # what stands further up says what is a secret here
        above, lines, changed = 0, list(old.lines), _lines(new)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in _lowered(difflib.unified_diff(lines, changed, name, name), above)
    )


class _Shown(NamedTuple):
    """A definition as text, and its lines with secrets as stars."""

    text: str
    lines: tuple[str, ...]


class _Part(NamedTuple):
    """What of two texts is compared: both begin at ``start``, in a line of their own."""

    start: int
    old_end: int
    new_end: int


@lru_cache(maxsize=1)
def _shown(before: bytes) -> _Shown:
    """Of the steps of one definition or file each begins with the same text."""
    text = _text(before)
    return _Shown(text, tuple(_lines(text)))


def _text(data: bytes) -> str:
    text = writer_of(DOMAIN_XML).text_of(data)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _lines(text: str) -> list[str]:
    """Masked, by line feeds alone."""
    return [line for line in re.split(r"(?<=\n)", masked(text)) if line]


def _differing(old: str, new: str) -> _Part:
    """What differs, and whole lines around it."""
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
    """The largest number up to ``most`` of characters that two texts have in common; ``alike``
    says it of those from one number to another. It compares slices: a loop over characters takes a
    hundred times as long."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _lowered(lines: Iterable[str], above: int) -> Iterator[str]:
    """A diff of a part as one of the whole, with so many lines above it."""
    for line in lines:
        found = _HUNK.match(line)
        if found is None:
            yield line
        else:
            old, new = int(found[1]) + above, int(found[3]) + above
            yield f"@@ -{old}{found[2]} +{new}{found[4]} @@{line[found.end() :]}"
