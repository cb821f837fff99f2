"""Options of commands, and the frozen records that they fill.

A command, or a group of options shared by several commands, has a record with one field of the same
name for each parameter. ``tests/cli/test_options.py`` checks that records and parameters agree in
names, types, and which may be ``None``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import click
import msgspec

from vnicaudit.cli.options.number import Number

R = TypeVar("R", bound=msgspec.Struct)
P = ParamSpec("P")

Function = Callable[..., int]
"""The function run by a command; it returns the exit code."""
Decorator = Callable[[Function], Function]


def as_record(record: type[R]) -> Callable[[Callable[Concatenate[R, P], int]], Function]:
    """Pass a function its options as one record, before its other arguments."""

    def decorated(function: Callable[Concatenate[R, P], int]) -> Function:
        inner: Function = function

        @wraps(function)
        def called(*others: object, **values: object) -> int:
            return inner(record(**values), *others)

        return called

    return decorated


def group(name: str, record: type[msgspec.Struct], *options: Decorator) -> Decorator:
    """One decorator for options that belong together, in the order of ``--help``. They are passed
    on as one argument called ``name``, an instance of ``record``."""
    fields = record.__struct_fields__

    def decorated(function: Function) -> Function:
        @wraps(function)
        def called(*others: object, **values: object) -> int:
            own = record(**{field: values[field] for field in fields})
            rest = {key: values[key] for key in values.keys() - fields}
            return function(*others, **{name: own}, **rest)

        return together(*options)(called)

    return decorated


def together(*options: Decorator) -> Decorator:
    """One decorator for several options, in the order of ``--help``."""

    def decorated(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


def trust_uri_option(text: str) -> Decorator:
    """The option ``--trust-uri``: libvirt URIs of the user, in a file that others may write."""
    return click.option("--trust-uri", "trusted_uris", multiple=True, metavar="URI", help=text)


def seconds_option(name: str, *, least: float, most: float, default: float, text: str) -> Decorator:
    """The option ``--name`` for a time in seconds, which can also be set by an environment
    variable."""
    return click.option(
        name,
        envvar=_variable(name),
        type=Number(min=least, max=most),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )


def number_option(
    name: str, *, least: int, default: int, text: str, most: int | None = None
) -> Decorator:
    """The option ``--name`` for a whole number, which can also be set by an environment
    variable."""
    return click.option(
        name,
        envvar=_variable(name),
        type=click.IntRange(min=least, max=most),
        default=default,
        show_default=True,
        metavar="N",
        help=text,
    )


def _variable(name: str) -> str:
    return f"VNICAUDIT_{name.removeprefix('--').replace('-', '_').upper()}"
