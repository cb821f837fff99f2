"""The text of a profile -> its tables, each key known and of its type; and the descriptions and
examples of each key in ``keys.py``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, get_args, get_type_hints

import msgspec

from vnicaudit.base.wording import close_to, shortened
from vnicaudit.bench.line_rate import Encapsulation
from vnicaudit.bench.profiles.keys import ProfileTable, WorkloadTable
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.measurement import Design, Direction

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


Kind = type[ProfileTable] | type[WorkloadTable]


def descriptions(kind: Kind) -> dict[str, str]:
    """Key -> its meaning, in Markdown."""
    return {key: said.description or "" for key, said in _descriptions(kind).items()}


def examples(kind: Kind) -> dict[str, list[object]]:
    """Key -> example values."""
    return {
        key: (said.extra_json_schema or {})["examples"] for key, said in _descriptions(kind).items()
    }


def toml(value: object) -> str:
    """A value in TOML notation."""
    if isinstance(value, dict):
        pairs = (f"{key} = {toml(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


@cache
def _descriptions(kind: Kind) -> dict[str, msgspec.Meta]:
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(kind):
        metas = (part for part in hints[field.name].__metadata__ if isinstance(part, msgspec.Meta))
        found[field.encode_name] = next(meta for meta in metas if meta.description)
    return found


_WORKLOAD = "workload"
_CHOICES = {
    "directions": get_args(Direction),
    "designs": get_args(Design),
    "encapsulation": get_args(Encapsulation),
}
_TYPES = {
    "array": "a list", "object": "a table", "str": "a text", "int": "a whole number",
    "float": "a number", "bool": "true or false",
}  # fmt: skip

_INSIDE = " in [[workload]]"
_ENTRY = re.compile(r"`\$\.workload\[(\d+)\](?:\.([\w-]+))?")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_INVALID = re.compile(r"Invalid enum value '(.*)'", re.DOTALL)


def checked_table(table: dict[str, object], place: TablePlace) -> ProfileTable:
    """The tables. Raises UsageError for the first mistake, unknown keys before others."""
    for problem in _unknown(table, place):
        raise problem
    try:
        return converted(table, ProfileTable)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at ")
        raise _decoding_error(what, path, place) from None


def _unknown(table: dict[str, object], place: TablePlace) -> Iterator[UsageError]:
    """Unknown keys, with the one that was probably meant."""
    yield from _strange(table, ProfileTable, place, "")
    entries = table.get(_WORKLOAD)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        inside = place.within(_WORKLOAD, index)
        yield from _strange(entry, WorkloadTable, inside, _INSIDE)


def _strange(table: object, kind: Kind, place: TablePlace, where: str) -> Iterator[UsageError]:
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            hint = close_to(shortened(key), known)
            yield place.error(f"unknown key {shortened(key)!r}{where}{hint}", key)


def _decoding_error(what: str, path: str, place: TablePlace) -> UsageError:
    """msgspec's sentence, reworded for the author of the file."""
    entry = _ENTRY.match(path)
    place = place if entry is None else place.within(_WORKLOAD, int(entry[1]))
    missing = _MISSING.fullmatch(what)
    if missing is not None:
        return place.error(f"{missing[1]!r} is missing{'' if entry is None else _INSIDE}")
    kind: Kind = ProfileTable
    if entry is not None and entry[2]:
        kind, key = WorkloadTable, entry[2]
    else:
        key = path.partition("$.")[2].partition("[")[0].rstrip("`")
    return place.error(f"{key}: {_problem(what, key)}; {_example(kind, key)}", key)


def _problem(what: str, key: str) -> str:
    choice = _INVALID.fullmatch(what)
    if choice is not None:
        known = _CHOICES.get(key, ())
        return (
            f"{shortened(choice[1])!r} is not one of {', '.join(known)}{close_to(choice[1], known)}"
        )
    if what.endswith((">= 1", r"'\\S'")) and ("length" in what or "regex" in what):
        return "it is empty"
    if "regex" in what:
        return "a name has lowercase letters, digits, `+`, `-` and `_`"
    what = re.sub(r"`(\w+)((?: \| \w+)*)`", _type_names, what.replace(" | null`", "`"))
    return f"{what[:1].lower()}{what[1:]}"


def _type_names(match: re.Match[str]) -> str:
    """``int | str`` in words: a whole number or a text."""
    names = match.group().strip("`").split(" | ")
    return " or ".join(_TYPES.get(name, name) for name in names)


def _example(kind: Kind, key: str) -> str:
    """``for example cooldown = 2``, from the key's description."""
    (value, *_) = examples(kind)[key]
    if key == _WORKLOAD:
        return "for example [[workload]]"
    return f"for example {key} = {toml(value)}"
