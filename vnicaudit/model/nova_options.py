"""Known options of Nova: the releases that have them, and the values they accept."""

from __future__ import annotations

from typing import Literal

import msgspec


class Release(msgspec.Struct, frozen=True, array_like=True):
    """A release of Nova. ``number`` orders them; ``version`` is Nova's own, ``coordinated`` that of
    OpenStack as a whole if it differs (2024.1)."""

    number: int
    name: str
    version: str
    coordinated: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.version})"


class OptionForm(msgspec.Struct, frozen=True):
    """The values that an option accepts, as declared to oslo.config. ``kind`` other: of a type
    whose values are not judged here; list: of words that each have to be one of the ``choices``;
    map: of ``NAME:VALUE`` pairs. ``default`` None: there is none, or it is computed."""

    kind: Literal["bool", "int", "float", "str", "list", "map", "other"]
    multi: bool = False
    choices: tuple[str, ...] = ()
    ignore_case: bool = False
    low: float | None = None
    high: float | None = None
    default: str | None = None

    def accepts(self, text: str) -> bool:
        """True if oslo.config can convert the text (``oslo_config.types``)."""
        if self.kind == "bool":
            return as_bool(text) is not None
        if self.kind in ("int", "float"):
            return not text.strip() or self._in_range(text)
        if self.kind == "map":
            return _is_map(text)
        if self.kind == "list":
            return all(self._is_choice(item) for item in _items(text))
        return self.kind == "other" or not self.choices or self._is_choice(text)

    def plain(self, text: str) -> str:
        """One spelling for all values with the same meaning."""
        number = as_number(text) if self.kind == "int" else None
        truth = as_bool(text) if self.kind == "bool" else None
        return str(truth).lower() if truth is not None else text if number is None else str(number)

    @property
    def words(self) -> str:
        """Description of the accepted values, to complete "Nova takes …"."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "map":
            return "NAME:VALUE pairs with commas between them"
        if self.choices:
            many = "words with commas between them, of " if self.kind == "list" else ""
            return f"{many}{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        kind = "a whole number" if self.kind == "int" else "a number"
        if self.high is not None:
            return f"{kind} from {self.low or 0:g} to {self.high:g}"
        return kind if self.low is None else f"{kind} from {self.low:g}"

    def _in_range(self, text: str) -> bool:
        number = as_number(text) if self.kind == "int" else _as_float(text)
        if number is None:
            return False
        if self.choices:
            return str(number) in self.choices
        below = self.low is not None and number < self.low
        return not below and not (self.high is not None and number > self.high)

    def _is_choice(self, text: str) -> bool:
        if self.ignore_case:
            return text.lower() in [choice.lower() for choice in self.choices]
        return text in self.choices


class KnownOption(msgspec.Struct, frozen=True):
    """An option as known by the release that is judged.

    ``section`` and ``name`` are its current ones. ``status`` of the written option: ``current``;
    ``deprecated``, still read; ``alias``, read under an old name; ``removed`` or ``future``, not
    read. ``form`` None: it is not read, or its form in that release is unknown.
    """

    section: str
    name: str
    status: Literal["current", "deprecated", "alias", "removed", "future"]
    form: OptionForm | None = None
    since: Release | None = None
    deprecated: Release | None = None
    removed: Release | None = None
    note: str = ""
    """If it was removed, what replaced it."""

    @property
    def is_read(self) -> bool:
        """True if Nova reads the option."""
        return self.status in ("current", "deprecated", "alias")


_TRUE = frozenset({"true", "1", "on", "yes"})
_FALSE = frozenset({"false", "0", "off", "no"})
_MAX_DIGITS = 40


def as_bool(text: str) -> bool | None:
    """A boolean as oslo.config reads it (``oslo_config.types.Boolean``); None if it is none."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def as_number(text: str) -> int | None:
    """An integer as oslo.config reads it (``oslo_config.types.Integer``); None if it is none, or
    has more digits than any valid value of Nova's options."""
    try:
        return int(text) if len(text) <= _MAX_DIGITS else None
    except ValueError:
        return None


def _items(text: str) -> list[str]:
    """The items of a list as oslo.config reads it (``oslo_config.types.List``): trailing commas are
    ignored."""
    plain = text.strip().rstrip(",")
    return [item.strip() for item in plain.split(",")] if plain else []


def _is_map(text: str) -> bool:
    """True if oslo.config can convert the text to pairs (``oslo_config.types.Dict``): a part
    without a colon is the beginning of the next name, and no name may be empty or occur twice."""
    names: list[str] = []
    started = ""
    for part in text.strip().split(",") if text.strip() else ():
        started += part
        name, colon, _value = started.partition(":")
        if colon:
            names.append(name.strip())
            started = ""
        else:
            started += ","
    return not started and all(names) and len(names) == len(set(names))


def _as_float(text: str) -> float | None:
    try:
        return float(text) if len(text) <= _MAX_DIGITS else None
    except ValueError:
        return None
