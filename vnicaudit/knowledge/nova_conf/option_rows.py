"""The content of ``options.json``, for the type checker: it is not loaded at run time."""

from __future__ import annotations

from typing import Literal, TypedDict


class _DatedForm(TypedDict):
    since: int
    kind: Literal["bool", "int", "float", "str", "list", "map", "other"]


class FormRow(_DatedForm, total=False):
    """The form of an option from a release on."""

    multi: bool
    choices: list[str]
    ignore_case: bool
    low: float
    high: float
    default: str
    aliases: list[tuple[str, str]]


class _NamedOption(TypedDict):
    section: str
    name: str
    since: int


class HistoryRow(_NamedOption, total=False):
    """One option over all releases."""

    forms: list[FormRow]
    removed: int
    deprecated: int
    note: str


class OptionsContent(TypedDict):
    """The whole file."""

    releases: list[tuple[int, str, str] | tuple[int, str, str, str]]
    options: list[HistoryRow]
    strings: dict[str, list[str]]
