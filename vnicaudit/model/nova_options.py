"""Known options of Nova: since when and until when they exist, and which values they take."""

from __future__ import annotations

from typing import Literal

import msgspec


class Release(msgspec.Struct, frozen=True, array_like=True):
    """A release of Nova. ``number`` orders them; ``version`` is Nova's own, ``coordinated`` that
    of OpenStack as a whole where it has another one (2024.1)."""

    number: int
    name: str
    version: str
    coordinated: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.version})"


class OptionForm(msgspec.Struct, frozen=True):
    """Which values an option takes, as it is declared to oslo.config. ``kind`` other: of no type
    whose values are judged here; list: of words that each have to be one of the ``choices``; map:
    of ``NAME:VALUE`` pairs.
    ``default`` None: none, or one that is computed."""

    kind: Literal["bool", "int", "float", "str", "list", "map", "other"]
    multi: bool = False
    choices: tuple[str, ...] = ()
    ignore_case: bool = False
    low: float | None = None
    high: float | None = None
    default: str | None = None

    def accepts(self, text: str) -> bool:
        """True where oslo.config can make a value of the text (``oslo_config.types``)."""
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
        """One spelling for values that mean the same."""
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
    """An option as the release that is judged for knows it.

    ``section`` and ``name`` are its current ones. ``status`` of what was written: ``current``;
    ``deprecated``, read and on its way out; ``alias``, read under an old name; ``removed`` or
    ``future``, not read. ``form`` None: it is not read, or its form in that release is not known.
    """

    section: str
    name: str
    status: Literal["current", "deprecated", "alias", "removed", "future"]
    form: OptionForm | None = None
    since: Release | None = None
    deprecated: Release | None = None
    removed: Release | None = None
    note: str = ""
    """What became of it, where it is gone."""

    @property
    def is_read(self) -> bool:
        """True where Nova reads the option."""
        return self.status in ("current", "deprecated", "alias")


_TRUE = frozenset({"true", "1", "on", "yes"})
_FALSE = frozenset({"false", "0", "off", "no"})
_MAX_DIGITS = 40


def as_bool(text: str) -> bool | None:
    """A boolean as oslo.config reads it (``oslo_config.types.Boolean``); None when it is none."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def as_number(text: str) -> int | None:
    """An integer as oslo.config reads it (``oslo_config.types.Integer``); None when it is none, or
    has more digits than any option of Nova's can."""
    try:
        return int(text) if len(text) <= _MAX_DIGITS else None
    except ValueError:
        return None


def _items(text: str) -> list[str]:
    """The items of a list as oslo.config reads it (``oslo_config.types.List``): commas at its end
    count for nothing."""
    plain = text.strip().rstrip(",")
    return [item.strip() for item in plain.split(",")] if plain else []


def _is_map(text: str) -> bool:
    """True where oslo.config can make pairs of the text (``oslo_config.types.Dict``): a part
    without a colon is the beginning of the name in the next one, and every name is there, and only
    once."""
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


MISPLACED = {
    **{
        ("DEFAULT", name): "libvirt"
        for name in (
            "use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "virt_type",
        )
    },
    **{("DEFAULT", name): "pci" for name in ("device_spec", "passthrough_whitelist")},
    **{("libvirt", name): "pci" for name in ("device_spec", "passthrough_whitelist")},
    **{("libvirt", name): "DEFAULT" for name in ("vif_plugging_is_fatal", "vif_plugging_timeout")},
}  # fmt: skip
"""Section and name of options where no release of Nova reads them -> the section where it does.

From the option definitions of Nova 15.1.5 to 34.0.0 (``options.json``) and, for those of
``[libvirt]`` before, from the names they had in ``[DEFAULT]``, which began with ``libvirt_``
(nova commit d0a02fa390)."""
