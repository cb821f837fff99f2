"""Two texts of a file -> a unified diff, as ``patch`` reads it.

What is shown is harmless on a terminal: control characters of the file are written as escapes, but
for tabs and the carriage return before a line break. Secrets are shown as stars; a diff with such a
line says so, since ``patch`` cannot apply it.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.text.secrets import STARS, masked

_CONTEXT = 3
_SAME = 3
"""Lines that are alike where two texts meet again."""
_FAR = 200
"""Lines after which they are not looked for any more: an edit touches few."""
MASKED = f"# Secrets are shown as {STARS}: patch cannot apply this diff; use --fix"
"""Before the diff of a file. ``patch`` passes over what stands there."""
_STYLES = {"-": "removed", "+": "added"}


class _Change(NamedTuple):
    """Lines ``old`` to ``old_end`` of the one text are ``new`` to ``new_end`` of the other."""

    old: int
    old_end: int
    new: int
    new_end: int


def unified(before: str, after: str, path: str, paint: Paint) -> Iterator[str]:
    """The diff of a file's text, line by line, with line breaks; nothing where both are equal."""
    old, new = _lines(before), _lines(after)
    hunks = list(_hunks(list(_changes(old, new)), len(old), len(new)))
    if not hunks:
        return
    shown_old, shown_new = _lines(masked(before)), _lines(masked(after))
    name = safe(path)
    if any(_hides(hunk, (old, new), (shown_old, shown_new)) for hunk in hunks):
        yield paint("hunk", MASKED) + "\n"
    yield paint("name", f"--- {name}") + "\n"
    yield paint("name", f"+++ {name}") + "\n"
    for hunk in hunks:
        yield from _shown(hunk, shown_old, shown_new, paint)


def _lines(text: str) -> list[str]:
    """With their line breaks; only LF is one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _changes(old: list[str], new: list[str]) -> Iterator[_Change]:
    """What differs, in order. The texts meet again at the nearest lines that are alike: quick
    however long they are, and right, if not always the shortest answer."""
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
            continue
        i2, j2 = _meeting(old, new, i, j)
        yield from _finer(old, new, _Change(i, i2, j, j2))
        i, j = i2, j2


def _finer(old: list[str], new: list[str], change: _Change) -> Iterator[_Change]:
    """A change without the single lines in it that are alike."""
    i, i2, j, j2 = change
    if max(i2 - i, j2 - j) > _FAR:
        yield change
        return
    matcher = SequenceMatcher(None, old[i:i2], new[j:j2], autojunk=False)
    for kind, a, a2, b, b2 in matcher.get_opcodes():
        if kind != "equal":
            yield _Change(i + a, i + a2, j + b, j + b2)


def _meeting(old: list[str], new: list[str], i: int, j: int) -> tuple[int, int]:
    for far in range(1, _FAR):
        for gone in range(far + 1):
            x, y = i + gone, j + far - gone
            if x <= len(old) and y <= len(new) and old[x : x + _SAME] == new[y : y + _SAME]:
                return x, y
    return len(old), len(new)


class _Hunk(NamedTuple):
    """Changes close to one another, and the lines of both texts they are shown in."""

    changes: list[_Change]
    old: int
    old_end: int
    new: int
    new_end: int


def _hunks(changes: list[_Change], old_lines: int, new_lines: int) -> Iterator[_Hunk]:
    group: list[_Change] = []
    for change in changes:
        if group and change.old - group[-1].old_end > 2 * _CONTEXT:
            yield _hunk(group, old_lines, new_lines)
            group = []
        group.append(change)
    if group:
        yield _hunk(group, old_lines, new_lines)


def _hunk(group: list[_Change], old_lines: int, new_lines: int) -> _Hunk:
    before = min(_CONTEXT, group[0].old)
    behind = min(_CONTEXT, old_lines - group[-1].old_end, new_lines - group[-1].new_end)
    return _Hunk(
        group,
        group[0].old - before,
        group[-1].old_end + behind,
        group[0].new - before,
        group[-1].new_end + behind,
    )


def _hides(
    hunk: _Hunk, texts: tuple[list[str], list[str]], shown: tuple[list[str], list[str]]
) -> bool:
    """Whether what is shown of a hunk is not what stands in the file."""
    (old, new), (shown_old, shown_new) = texts, shown
    return (
        old[hunk.old : hunk.old_end] != shown_old[hunk.old : hunk.old_end]
        or new[hunk.new : hunk.new_end] != shown_new[hunk.new : hunk.new_end]
    )


def _shown(hunk: _Hunk, old: list[str], new: list[str], paint: Paint) -> Iterator[str]:
    ranges = f"-{_range(hunk.old, hunk.old_end)} +{_range(hunk.new, hunk.new_end)}"
    yield paint("hunk", f"@@ {ranges} @@") + "\n"
    position = hunk.old
    for change in hunk.changes:
        yield from _marked(" ", old[position : change.old], paint)
        yield from _marked("-", old[change.old : change.old_end], paint)
        yield from _marked("+", new[change.new : change.new_end], paint)
        position = change.old_end
    yield from _marked(" ", old[position : hunk.old_end], paint)


def _range(start: int, end: int) -> str:
    """As GNU diff: an empty one is behind the line it names."""
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: list[str], paint: Paint) -> Iterator[str]:
    for line in lines:
        text = line.removesuffix("\n")
        stop = "\r" if text.endswith("\r") and line != text else ""
        shown = "\t".join(map(safe, text.removesuffix(stop).split("\t")))
        yield paint(_STYLES.get(mark, ""), f"{mark}{shown}") + stop + "\n"
        if line == text:
            yield "\\ No newline at end of file\n"
