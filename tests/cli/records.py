"""The record of options that a command is given for words of a command line."""

import inspect

import click
import msgspec

from vnicaudit.cli.commands import cli
from vnicaudit.cli.options.records import filled


def options_of(command: click.Command, *words: str) -> msgspec.Struct:
    """As click would hand it to the command; nothing is run."""
    with context_of(command, *words) as context:
        return filled(record_of(command), context.params)


def context_of(command: click.Command, *words: str) -> click.Context:
    """In which click runs a command for these words.

    Its parent is the program's: a command remembers the option for help that it first made, and
    what that is called is the program's to say.
    """
    parent = click.Context(cli, info_name="vnicaudit", **cli.context_settings)
    return command.make_context("command", list(words), parent=parent)


def record_of(command: click.Command) -> type[msgspec.Struct]:
    """What the function of a command takes first."""
    assert command.callback is not None
    function = inspect.unwrap(command.callback)
    name = next(iter(inspect.signature(function).parameters))
    found: type[msgspec.Struct] = eval(function.__annotations__[name], function.__globals__)
    return found
