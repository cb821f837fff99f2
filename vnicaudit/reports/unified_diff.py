"""Two versions of a file -> a unified diff for ``patch``, safe to show on a terminal.

Control characters are written as escapes, except for tabs and the carriage return before a line
break. A diff in whose changed lines something is masked says so, since ``patch`` cannot apply it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from vnicaudit.reports.safe import Paint, safe
from vnicaudit.text.edits import NO_NEWLINE, Mark, hunks, lines_of
from vnicaudit.text.secrets import STARS, masked_line

MASKED = f"# Text that may be secret is shown as {STARS}: patch cannot apply this diff; use --fix"
"""Written before the diff of a file; ``patch`` ignores it."""
DIFF_STYLES = {"-": "removed", "+": "added", "@": "hunk"}


def diff_lines(before: str, after: str, path: str, paint: Paint) -> Iterator[str]:
    """The diff of a file's text, line by line, with line breaks; empty if both are equal."""
    old, new = lines_of(before), lines_of(after)
    found = list(hunks(old, new))
    if not found:
        return
    changed = chain.from_iterable(
        (*old[one.old : one.old_end], *new[one.new : one.new_end])
        for hunk in found
        for one in hunk.changes
    )
    if any(masked_line(line) != line for line in changed):
        yield paint("hunk", MASKED) + "\n"
    name = safe(path)
    yield paint("name", f"--- {name}") + "\n"
    yield paint("name", f"+++ {name}") + "\n"
    for hunk in found:
        for mark, line in hunk.lines(old, new):
            yield from _line_text(mark, line, paint)


def _line_text(mark: Mark, line: str, paint: Paint) -> Iterator[str]:
    text = line.removesuffix("\n")
    stop = "\r" if text.endswith("\r") and line != text else ""
    shown = tabbed(text.removesuffix(stop))
    yield paint(DIFF_STYLES.get(mark, ""), f"{'' if mark == '@' else mark}{shown}") + stop + "\n"
    if line == text:
        yield NO_NEWLINE


def tabbed(line: str) -> str:
    """A line made safe, except for its tabs."""
    return "\t".join(map(safe, line.split("\t")))
