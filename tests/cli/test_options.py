"""Records of options and the parameters of click are one: names, types, and what may be None."""

import types
import typing
from collections.abc import Iterator
from itertools import chain

import click
import msgspec
import pytest

from tests.cli.inside import inside
from tests.cli.records import context_of, options_of, record_of
from tests.rows import rows
from vnicaudit.cli.commands import cli
from vnicaudit.cli.options.records import COMMON, as_record, filled, group

Leaf = tuple[str, object]

PARSED = {"assume_qemu", "assume_libvirt", "nova_release", "sample", "window"}
"""A callback makes something else of the text."""


def commands(at: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command and its words, through all groups."""
    context = click.Context(at)
    for name in at.list_commands(context):
        command = at.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        elif command is not None:
            yield " ".join((*words, name)), command


COMMANDS = dict(commands(cli))


def parameters_of(command: click.Command) -> dict[str, click.Parameter]:
    """Its own parameters and those of every command, by name."""
    return {one.name or "": one for one in (*command.params, *COMMON)}


def leaves(record: type[msgspec.Struct], names: set[str]) -> Iterator[Leaf]:
    """The fields of a record and of the records in it, each with its type."""
    for name, hint in typing.get_type_hints(record).items():
        if name in names:
            yield name, hint
        else:
            assert isinstance(hint, type), f"{record.__name__}.{name} is of no parameter"
            assert issubclass(hint, msgspec.Struct), f"{record.__name__}.{name} is of no parameter"
            yield from leaves(hint, names)


def value_type(parameter: click.Parameter) -> object:
    """What click makes of one word."""
    kind = parameter.type
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return bool
    if isinstance(kind, click.Choice):
        return typing.Literal[tuple(kind.choices)]
    if isinstance(kind, click.types.IntParamType):
        return int
    return float if isinstance(kind, click.types.FloatParamType) else str


def expected(parameter: click.Parameter, default: object, inner: object) -> object:
    """The type of a field for it; ``default``: what it is where nothing is said of it."""
    if parameter.multiple or parameter.nargs == -1:
        return tuple[inner, ...]  # type: ignore[valid-type]
    always = parameter.required or default is not None
    return inner if always else inner | None  # type: ignore[operator]


def same(field: object, wanted: object) -> bool:
    """Equal, in whatever order choices are; text where choices are found when the program runs."""
    if field == wanted:
        return True
    return plain(field) == plain(wanted)


def plain(hint: object) -> object:
    """A type as sets of its parts, which have no order."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return frozenset(arguments)
    if origin in (typing.Union, types.UnionType):
        parts = [plain(one) for one in arguments]
        choices = [one for one in parts if isinstance(one, frozenset)]
        return frozenset({*frozenset().union(*choices), *(p for p in parts if p not in choices)})
    return (origin, *map(plain, arguments)) if arguments else hint


FOUND_WHEN_IT_RUNS = {"formats", "encapsulation"}
"""Choices that a registry or a table has: the fields are text."""


def as_text(hint: object) -> object:
    """The same with text in the place of choices."""
    if typing.get_origin(hint) is tuple:
        return tuple[str, ...]
    return str


@pytest.mark.parametrize("name", COMMANDS)
def test_each_parameter_has_a_field_and_each_field_a_parameter(name: str) -> None:
    command = COMMANDS[name]
    parameters = parameters_of(command)
    found = {field for field, _hint in leaves(record_of(command), set(parameters))}
    assert found | {one.name for one in COMMON} == set(parameters)


@pytest.mark.parametrize("name", COMMANDS)
def test_fields_are_of_the_types_of_their_parameters(name: str) -> None:
    command = COMMANDS[name]
    parameters = parameters_of(command)
    wrong = []
    with context_of(command, *needed(command)) as context:
        defaults = context.params
    for field, hint in leaves(record_of(command), set(parameters)):
        parameter = parameters[field]
        one = inner(hint) if field in PARSED else value_type(parameter)
        wanted = expected(parameter, defaults[field], one)
        if not (same(hint, wanted) or (field in FOUND_WHEN_IT_RUNS and hint == as_text(wanted))):
            wrong.append((field, hint, wanted))
    assert wrong == []


def inner(hint: object) -> object:
    """What is there where it is not None."""
    (found,) = (one for one in typing.get_args(hint) if one is not type(None))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_record_holds_what_its_types_say(name: str) -> None:
    """With what is required alone; msgspec looks at every field."""
    command = COMMANDS[name]
    made = options_of(command, *needed(command))
    assert msgspec.convert(msgspec.to_builtins(made), type(made)) == made


def needed(command: click.Command) -> list[str]:
    """Words without which it is not run."""
    required = [one for one in command.params if one.required]
    words = [choice(one) for one in required if isinstance(one, click.Argument)]
    options = [(one.opts[0], choice(one)) for one in required if isinstance(one, click.Option)]
    return [*words, *chain.from_iterable(options)]


def choice(parameter: click.Parameter) -> str:
    """A word that it takes."""
    if isinstance(parameter.type, click.Choice):
        return str(parameter.type.choices[0])
    return "1" if isinstance(parameter.type, click.types.IntParamType) else "word"


@rows
def test_what_a_callback_makes_of_a_word(
    command: str, words: list[str], field: str, value: str
) -> None:
    made = COMMANDS[command]
    with context_of(made, *words) as context:
        found = context.params[field]
    hints = dict(leaves(record_of(made), set(parameters_of(made))))
    assert isinstance(found, inner(hints[field]))  # type: ignore[arg-type]
    assert str(found) == value


class Pair(msgspec.Struct, frozen=True):
    """Two options that belong together."""

    left: str
    right: int


class Call(msgspec.Struct, frozen=True):
    """All of a command."""

    name: str
    pair: Pair


def test_a_group_is_handed_on_as_one_record() -> None:
    made: list[tuple[Call, object]] = []
    pair = group(
        "pair", Pair, click.option("--left", default="a"), click.option("--right", type=int)
    )

    @click.command()
    @click.argument("name")
    @pair
    @click.pass_obj
    @as_record(Call)
    def command(options: Call, other: object) -> int:
        made.append((options, other))
        return 7

    assert [one.name for one in command.params] == ["name", "left", "right"]
    code = command.main(["x", "--right", "2"], standalone_mode=False, obj="other")
    assert (code, made) == (7, [(Call("x", Pair("a", 2)), "other")])
    assert filled(Call, {"name": "x", "left": "a", "right": 2}) == made[0][0]


@pytest.mark.parametrize("words", [(), ("fleet",), ("bench",), ("history",)])
def test_groups_take_help_all(words: tuple[str, ...]) -> None:
    assert inside(*words, "--help-all").stdout == inside(*words, "--help").stdout != ""
