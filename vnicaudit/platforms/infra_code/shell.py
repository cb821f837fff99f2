"""Shell scripts that create images and flavors with OpenStack's clients."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.model.finding import Location
from vnicaudit.platforms.infra_code.clients import CLIENTS, definitions, says_something
from vnicaudit.platforms.infra_code.shell_words import Command, Word, commands
from vnicaudit.platforms.infra_code.terraform import Record, Statement, records
from vnicaudit.text.beginning import is_script
from vnicaudit.text.template_walk import with_holes

MAX_BYTES = 2 * 1024 * 1024
"""Larger scripts are refused."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=")


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` is a shell script, by its first line or first
    command, that creates or changes images or flavors."""
    if not says_something(head) or b"\0" in head:
        return False
    return is_script(head)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images and flavors, one record for each that is created, changed or both. Raises
    TargetError for a file that is too large for a script."""
    if len(data) > MAX_BYTES:
        raise TargetError(f"larger than {MAX_BYTES >> 20} MiB: not read", file=file)
    text = with_holes(data.decode("utf-8-sig", "replace"))
    yield from records(script(text, Location(target, file)), target)


def script(text: str, where: Location, line: int = 1, column: int = 1) -> Iterator[Statement]:
    """The image and flavor statements of the commands in a text. ``line`` and ``column`` (from 1)
    are where the text begins in its file."""

    def place(word: Word) -> Location:
        first = column - 1 if word.line == 1 else 0
        return Location(
            where.target, where.file, line + word.line - 1, where.xpath, word.column + first
        )

    times: dict[str, int] = {}
    for command in commands(text):
        if any(word.text.rpartition("/")[2] in CLIENTS for word in command):
            yield from definitions(command, place, lambda word: _key(word, times))
        for name in _assigned(command):
            times[name] = times.get(name, 0) + 1


def _key(word: Word, times: dict[str, int]) -> object:
    """The key of a name: the name as written, and for a name with a variable also how often the
    variable was set before, since ``$NAME`` is another image after ``NAME=…``."""
    if word.certain:
        return word.text
    names = _VARIABLE.findall(word.text)
    return word.text, tuple(times.get(name, 0) for name in names)


def _assigned(command: Command) -> Iterator[str]:
    """Variables that a command sets."""
    if command[0].text in ("for", "read", "select"):
        yield from (word.text for word in command[1:2])
    for word in command:
        match = _ASSIGNMENT.match(word.text)
        if match is not None:
            yield match.group(1)
