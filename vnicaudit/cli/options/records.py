"""Options of commands as frozen records: what click parsed is handed on by name, in one place.

A command, or a group of options that several commands share, has a record with one field for each
of its parameters, of the same name. ``tests/cli/test_options.py`` holds records and parameters
together: names, types, and what may be ``None``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import click
import msgspec

R = TypeVar("R", bound=msgspec.Struct)
P = ParamSpec("P")

Function = Callable[..., int]
"""What a command runs; it returns the exit code."""
Decorator = Callable[[Function], Function]


def as_record(record: type[R]) -> Callable[[Callable[Concatenate[R, P], int]], Function]:
    """Give a function its options as one record, before whatever else it takes."""

    def decorated(function: Callable[Concatenate[R, P], int]) -> Function:
        inner: Function = function

        @wraps(function)
        def called(*others: object, **values: object) -> int:
            return inner(record(**values), *others)

        return called

    return decorated


def group(name: str, record: type[msgspec.Struct], *options: Decorator) -> Decorator:
    """One decorator for options that belong together, which ``--help`` shows in this order. They
    are handed on as one argument, ``name``, a ``record``."""
    fields = record.__struct_fields__

    def decorated(function: Function) -> Function:
        @wraps(function)
        def called(*others: object, **values: object) -> int:
            own = {field: values.pop(field) for field in fields}
            return function(*others, **{name: record(**own)}, **values)

        return together(*options)(called)

    return decorated


def together(*options: Decorator) -> Decorator:
    """One decorator for several options, which ``--help`` shows in this order."""

    def decorated(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


class Number(click.FloatRange):
    """A number in a range; ``nan`` is in none."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        convert: Callable[..., float] = super().convert
        found = convert(value, param, ctx)
        if found != found:
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


def seconds_option(name: str, *, least: float, most: float, default: float, text: str) -> Decorator:
    """An option for a time in seconds, ``--name``, which an environment variable may give too."""
    return click.option(
        name,
        envvar=f"VNICAUDIT_{name.removeprefix('--').replace('-', '_').upper()}",
        type=Number(min=least, max=most),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )
