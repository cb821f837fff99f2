"""Two versions of a file -> a unified diff for ``patch``, safe to show on a terminal.

Control characters are written as escapes, except for tabs and the carriage return before a line
break. Secrets are shown as stars; a diff with such a line says so, since ``patch`` cannot apply it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.text.diff import NO_NEWLINE, Hunk, Mark, hunks, lines_of
from vnicaudit.text.secrets import STARS, masked

MASKED = f"# Secrets are shown as {STARS}: patch cannot apply this diff; use --fix"
"""Written before the diff of a file; ``patch`` ignores it."""
_STYLES = {"-": "removed", "+": "added", "@": "hunk"}


def diff_lines(before: str, after: str, path: str, paint: Paint) -> Iterator[str]:
    """The diff of a file's text, line by line, with line breaks; empty if both are equal."""
    old, new = lines_of(before), lines_of(after)
    found = list(hunks(old, new))
    if not found:
        return
    shown_old, shown_new = lines_of(masked(before)), lines_of(masked(after))
    name = safe(path)
    if any(_hides(hunk, (old, new), (shown_old, shown_new)) for hunk in found):
        yield paint("hunk", MASKED) + "\n"
    yield paint("name", f"--- {name}") + "\n"
    yield paint("name", f"+++ {name}") + "\n"
    for hunk in found:
        for mark, line in hunk.lines(shown_old, shown_new):
            yield from _line_text(mark, line, paint)


def _hides(
    hunk: Hunk, texts: tuple[list[str], list[str]], shown: tuple[list[str], list[str]]
) -> bool:
    """True if the lines shown for a hunk differ from those in the file."""
    (old, new), (shown_old, shown_new) = texts, shown
    return (
        old[hunk.old : hunk.old_end] != shown_old[hunk.old : hunk.old_end]
        or new[hunk.new : hunk.new_end] != shown_new[hunk.new : hunk.new_end]
    )


def _line_text(mark: Mark, line: str, paint: Paint) -> Iterator[str]:
    text = line.removesuffix("\n")
    stop = "\r" if text.endswith("\r") and line != text else ""
    shown = "\t".join(map(safe, text.removesuffix(stop).split("\t")))
    yield paint(_STYLES.get(mark, ""), f"{'' if mark == '@' else mark}{shown}") + stop + "\n"
    if line == text:
        yield NO_NEWLINE
