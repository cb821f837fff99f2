"""Where in a profile's file something stands, for errors that say so."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.profiles.lines import Lines
from vnicaudit.errors import UsageError


class Place(NamedTuple):
    """One table of the file: the file's own, or the nth ``[[table]]``, from 0."""

    file: str
    lines: Lines
    table: str = ""
    nth: int = 0

    def error(self, message: str, key: str = "") -> UsageError:
        """A usage error with file and line, where the text shows it."""
        line = self.lines.of(self.table, self.nth, key)
        return UsageError(f"{self.file}{'' if line is None else f':{line}'}: {message}")

    def within(self, table: str, nth: int = 0) -> Place:
        """The same file, another table."""
        return self._replace(table=table, nth=nth)
