"""Options of commands, and the frozen records that they fill.

A command, or a group of options shared by several commands, has a record with one field of the same
name for each parameter. ``tests/cli/test_options.py`` checks that records and parameters agree in
names, types, and which may be ``None``.

click is loaded when a command is built from its options. An audit with none but simple ones does
without: see :mod:`vnicaudit.cli.options.plain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

import msgspec

if TYPE_CHECKING:
    import click

R = TypeVar("R", bound=msgspec.Struct)
P = ParamSpec("P")

Function = Callable[..., int]
"""The function run by a command; it returns the exit code."""
Decorator = Callable[[Function], Function]
D = TypeVar("D", bound=Decorator)
MakeType = Callable[[], object]
"""Makes click's type of a value."""


def as_record(record: type[R]) -> Callable[[Callable[Concatenate[R, P], int]], Function]:
    """Pass a function its options as one record, before its other arguments."""

    def decorated(function: Callable[Concatenate[R, P], int]) -> Function:
        inner: Function = function

        @wraps(function)
        def called(*others: object, **values: object) -> int:
            return inner(record(**values), *others)

        return called

    return decorated


class Option(msgspec.Struct, frozen=True, eq=False):
    """An option as it is declared; ``settings`` are those of ``click.option``. As a decorator it
    adds the option to a command."""

    names: tuple[str, ...]
    choices: tuple[str, ...]
    kind: MakeType | None
    settings: Mapping[str, object]

    def __call__(self, function: Function) -> Function:
        """Add the option."""
        import click

        settings = dict(self.settings)
        if self.choices:
            settings["type"] = click.Choice(self.choices)
        elif self.kind is not None:
            settings["type"] = self.kind()
        added: Callable[..., Decorator] = click.option
        return added(*self.names, **settings)(function)

    @property
    def field(self) -> str:
        """The field of the record that has its value, as click derives it: a name without hyphens
        in front, else the first of the longest prefix."""
        own = [name for name in self.names if name[0] != "-"]
        name = (own or sorted(self.names, key=_prefix, reverse=True))[0]
        return name.lstrip("-").replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable that sets it; empty: none."""
        return str(self.settings.get("envvar", ""))


def _prefix(name: str) -> int:
    return len(name) - len(name.lstrip("-"))


def option(
    *names: str, choices: Iterable[str] = (), kind: MakeType | None = None, **settings: object
) -> Option:
    """Declare an option. ``choices``: the values it can have; ``kind``: makes the type of its
    value; ``settings``: further arguments of ``click.option``."""
    return Option(names, tuple(choices), kind, settings)


def path(*, file_okay: bool = True, dir_okay: bool = True) -> MakeType:
    """The path of a file or folder."""

    def kind() -> object:
        import click

        return click.Path(file_okay=file_okay, dir_okay=dir_okay)

    return kind


def whole_number(at_least: int) -> MakeType:
    """A whole number with a lower limit."""

    def kind() -> object:
        import click

        return click.IntRange(min=at_least)

    return kind


def number(*, at_least: float, at_most: float) -> MakeType:
    """A number in a range; never ``nan``."""

    def kind() -> object:
        from vnicaudit.cli.options.number import Number

        return Number(min=at_least, max=at_most)

    return kind


def bad_value(
    message: str, context: click.Context, parameter: click.Parameter
) -> click.BadParameter:
    """The error for a value that a callback does not accept."""
    import click

    return click.BadParameter(message, context, parameter)


class OptionGroup(msgspec.Struct, Generic[D], frozen=True, eq=False):
    """Options that belong together, in the order of ``--help``. As a decorator it adds them to a
    command. They are passed on as one argument called ``name``, an instance of ``record``."""

    name: str
    record: type[msgspec.Struct]
    options: tuple[D, ...]

    def __call__(self, function: Function) -> Function:
        """Add the options."""

        @wraps(function)
        def called(*others: object, **values: object) -> int:
            own = {self.name: self.filled(values)}
            rest = {name: values[name] for name in values.keys() - self.record.__struct_fields__}
            return function(*others, **own, **rest)

        return together(*self.options)(called)

    def filled(self, values: Mapping[str, object]) -> msgspec.Struct:
        """The record with its values among these."""
        return self.record(**{field: values[field] for field in self.record.__struct_fields__})


def group(name: str, record: type[msgspec.Struct], *options: D) -> OptionGroup[D]:
    """One decorator for options that belong together."""
    return OptionGroup(name, record, options)


def together(*options: Decorator) -> Decorator:
    """One decorator for several options, in the order of ``--help``."""

    def decorated(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


def seconds_option(name: str, *, least: float, most: float, default: float, text: str) -> Decorator:
    """The option ``--name`` for a time in seconds, which can also be set by an environment
    variable."""
    return option(
        name,
        envvar=f"VNICAUDIT_{name.removeprefix('--').replace('-', '_').upper()}",
        kind=number(at_least=least, at_most=most),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )
