"""Positions in a profile file (table, key and line), for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.errors import UsageError

_PARTS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' r"'''.*?'''" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|#[^\n]*",
    re.DOTALL,
)
_AROUND = " \t\"'"
_ASSIGNED = re.compile(r"""("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*[.=]""")


class TomlLines:
    """The lines of one file, which is known to be valid TOML."""

    def __init__(self, text: str) -> None:
        self._places: dict[tuple[str, int, str], int] = {}
        for place, number in _lines_by_key(text):
            self._places.setdefault(place, number)

    def of(self, table: str, nth: int, key: str) -> int | None:
        """The 1-based line of a key, or of the table it should be in. ``table`` is empty for keys
        of the file itself, ``nth`` counts ``[[table]]`` from 0. None if the text does not show
        it."""
        places = [(table, nth, key), (key, 0, ""), (table, nth, ""), ("", 0, table)]
        return next((self._places[place] for place in places if place in self._places), None)


def _lines_by_key(text: str) -> Iterator[tuple[tuple[str, int, str], int]]:
    """Each table and key with its line."""
    table, seen = "", {"": 0}
    for number, line in enumerate(_PARTS.sub(_without_comments, text).split("\n"), 1):
        line = line.strip()
        assigned = _ASSIGNED.match(line)
        if line.startswith("[") and line.endswith("]") and "=" not in line:
            table = line.strip("[]").strip(_AROUND)
            seen[table] = seen.get(table, -1) + 1
            yield (table, seen[table], ""), number
        elif assigned is not None:
            yield (table, seen[table], assigned.group(1).strip(_AROUND)), number


def _without_comments(match: re.Match[str]) -> str:
    """Blank the content of comments and long texts, which may look like keys."""
    part = match.group()
    if part.startswith("#"):
        return ""
    return "''" + "\n" * part.count("\n") if part.startswith(('"""', "'''")) else part


class TablePlace(NamedTuple):
    """One table of the file: the file's own, or the nth ``[[table]]``, from 0."""

    file: str
    lines: TomlLines
    table: str = ""
    nth: int = 0

    def error(self, message: str, key: str = "") -> UsageError:
        """A usage error with the file and, if the text shows it, the line."""
        line = self.lines.of(self.table, self.nth, key)
        return UsageError(f"{self.file}{'' if line is None else f':{line}'}: {message}")

    def within(self, table: str, nth: int = 0) -> TablePlace:
        """Return the place of another table of the same file."""
        return self._replace(table=table, nth=nth)
