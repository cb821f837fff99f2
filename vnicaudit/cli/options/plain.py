"""Simple command lines, parsed without click, which is slow to load.

Simple are options that are switches or have one of a few values, and arguments. For anything else,
an error included, click parses the command line. ``tests/cli/test_plain.py`` compares the two, and
decision 21 says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from vnicaudit.cli.options import COMPLETES
from vnicaudit.cli.options.records import Option, OptionGroup


class PlainCommandLine(msgspec.Struct, frozen=True):
    """A command line as parsed: the records of the options by the name of their group, and the
    arguments."""

    records: Mapping[str, msgspec.Struct]
    arguments: tuple[str, ...]


def plain_command_line(
    words: Sequence[str], groups: Iterable[OptionGroup[Option]]
) -> PlainCommandLine | None:
    """The command line with these options; None if click is to parse it."""
    groups = tuple(groups)
    options = [one for group in groups for one in group.options]
    if any(name in os.environ for name in (COMPLETES, *(one.variable for one in options))):
        return None
    values = {one.field: _default(one) for one in options}
    arguments = _take(words, {name: one for one in options for name in one.names}, values)
    if arguments is None:
        return None
    return PlainCommandLine({one.name: one.filled(values) for one in groups}, tuple(arguments))


def _take(
    words: Sequence[str], options: Mapping[str, Option], values: dict[str, object]
) -> list[str] | None:
    """The arguments among the words; sets the values of the options. None: they are not simple."""
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*arguments, *rest]
        if word[:1] != "-" or word == "-":
            arguments.append(word)
            continue
        name, has_value, value = word.partition("=")
        option = options.get(name)
        if option is None:
            return None
        if option.settings.get("is_flag"):
            if has_value:
                return None
            values[option.field] = True
            continue
        value = value if has_value else next(rest, "")
        if value not in option.choices or option.settings.get("multiple"):
            return None
        values[option.field] = value
    return arguments


def _default(option: Option) -> object:
    """The value of an option that is not given, as by click."""
    usual = False if option.settings.get("is_flag") else None
    return option.settings.get("default", () if option.settings.get("multiple") else usual)
