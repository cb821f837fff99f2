"""Sections and assignments of nova.conf, line by line, as read by ``oslo_config.iniparser``.

That module is a tenth of a package with twelve dependencies; the tests compare the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

_QUOTES = ('"', "'")


class IniError(Exception):
    """A line with which Nova would not start. The line is not kept, because it may contain a
    password."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.message = message
        self.number = number


class Assignment(msgspec.Struct, frozen=True):
    """An option, and its value: one text per line."""

    key: str
    values: list[str]


def statements(lines: Iterable[str]) -> Iterator[str | Assignment]:
    """The name of each section that begins, and each assignment, once the line behind it was taken
    from ``lines``. Raises IniError."""
    pending: Assignment | None = None
    for number, line in enumerate(lines, 1):
        line = line.rstrip()
        if line.startswith((" ", "\t")):
            if pending is None:
                raise IniError("Unexpected continuation line", number)
            pending.values.append(line.lstrip())
            continue
        if pending is not None:
            yield pending
            pending = None
        if line.startswith("["):
            yield _section(line, number)
        elif line and not line.startswith(("#", ";")):
            pending = _assignment(line, number)
    if pending is not None:
        yield pending


def _section(line: str, number: int) -> str:
    if not line.endswith("]"):
        raise IniError("Invalid section (must end with ])", number)
    if len(line) <= len("[]"):
        raise IniError("Empty section name", number)
    return line[1:-1]


def _assignment(line: str, number: int) -> Assignment:
    """The text before the first colon or equals sign, and the text behind it without its quotes."""
    places = [at for at in (line.find(":"), line.find("=")) if at >= 0]
    if not places:
        raise IniError("No ':' or '=' found in assignment", number)
    key, value = line[: min(places)].strip(), line[min(places) + 1 :].strip()
    if not key:
        raise IniError("Key cannot be empty", number)
    if value.startswith(_QUOTES) and value[0] == value[-1]:
        value = value[1:-1]
    return Assignment(key, [value])
