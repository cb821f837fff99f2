"""In which line of a TOML file a key stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PARTS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' r"'''.*?'''" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|#[^\n]*",
    re.DOTALL,
)
_AROUND = " \t\"'"
_ASSIGNED = re.compile(r"""("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*[.=]""")


class Lines:
    """The lines of one file, which is known to be valid TOML."""

    def __init__(self, text: str) -> None:
        self._places: dict[tuple[str, int, str], int] = {}
        for place, number in _found(text):
            self._places.setdefault(place, number)

    def of(self, table: str, nth: int, key: str) -> int | None:
        """The 1-based line of a key, or of the table it should stand in. ``table`` is empty for
        keys of the file itself, ``nth`` counts ``[[table]]`` from 0. None where the text does
        not show it."""
        places = [(table, nth, key), (key, 0, ""), (table, nth, ""), ("", 0, table)]
        return next((self._places[place] for place in places if place in self._places), None)


def _found(text: str) -> Iterator[tuple[tuple[str, int, str], int]]:
    """Each table and key with its line."""
    table, seen = "", {"": 0}
    for number, line in enumerate(_PARTS.sub(_plain, text).split("\n"), 1):
        line = line.strip()
        assigned = _ASSIGNED.match(line)
        if line.startswith("[") and line.endswith("]") and "=" not in line:
            table = line.strip("[]").strip(_AROUND)
            seen[table] = seen.get(table, -1) + 1
            yield (table, seen[table], ""), number
        elif assigned is not None:
            yield (table, seen[table], assigned.group(1).strip(_AROUND)), number


def _plain(match: re.Match[str]) -> str:
    """Without the content of comments and long texts, in which anything may stand."""
    part = match.group()
    if part.startswith("#"):
        return ""
    return "''" + "\n" * part.count("\n") if part.startswith(('"""', "'''")) else part
