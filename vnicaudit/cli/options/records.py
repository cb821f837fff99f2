"""Options of commands and the records that they fill; their types and headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from typing import (
    Annotated,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import click
import msgspec
from click.core import ParameterSource

from vnicaudit.errors import UsageError
from vnicaudit.text.targets import SYSTEM, default_state

# click's type of a number in a range.


class Number(click.FloatRange):
    """A number in a range; never ``nan``."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        convert: Callable[..., float] = super().convert
        found = convert(value, param, ctx)
        if found != found:
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


# Lengths of time.


_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}
_MOST_DAYS = 36_525


def days_of(text: str, option: str) -> float:
    """Number of days in ``36h``, ``90d``, ``8w`` or ``2y``. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,6})([hdwy])", text.strip().lower())
    days = 0.0 if found is None else int(found[1]) * _UNITS[found[2]]
    if not 0 < days <= _MOST_DAYS:
        raise UsageError(
            f"{option} {text}: expected hours, days, weeks or years, such as 36h, 90d, 8w or 2y"
        )
    return days


# Options of commands, and the frozen records that they fill.
#
# A command, or a group of options shared by several commands, has a record with one field of the
# same name for each parameter. The field has the option: its type and default are those of the
# field. ``tests/cli/test_options.py`` checks the records of commands with options of their own.


R = TypeVar("R", bound=msgspec.Struct)
P = ParamSpec("P")

Function = Callable[..., int]
"""The function run by a command; it returns the exit code."""
Decorator = Callable[[Function], Function]


class FieldOption(NamedTuple):
    """The option of a field, beside its type and default. ``names``: other than ``--field-name``.
    ``is_variable``: an environment variable sets it too. ``more``: for click."""

    help: str
    names: tuple[str, ...]
    is_variable: bool
    more: Mapping[str, object]


def option(help_: str, *names: str, env: bool = False, **more: object) -> FieldOption:
    """The option of a field, with its help; ``env``: VNICAUDIT_NAME sets it too."""
    return FieldOption(help_, names, env, more)


def as_record(record: type[R]) -> Callable[[Callable[Concatenate[R, P], int]], Function]:
    """Pass a function its options as one record, before its other arguments. Options of every
    command that the record has no field for are of no use to this one."""
    fields = record.__struct_fields__

    def decorated(function: Callable[Concatenate[R, P], int]) -> Function:
        inner: Function = function

        @wraps(function)
        def called(*others: object, **values: object) -> int:
            return inner(record(**{name: values[name] for name in fields}), *others)

        return called

    return decorated


def takes(record: type[R]) -> Callable[[Callable[Concatenate[R, P], int]], Function]:
    """Give a command the options of a record and of the records in it, in the order of ``--help``,
    and pass its function that record, before its other arguments."""

    def decorated(function: Callable[Concatenate[R, P], int]) -> Function:
        inner: Function = function

        @wraps(function)
        def called(*others: object, **values: object) -> int:
            return inner(filled(record, values), *others)

        return together(*_options_of(record))(called)

    return decorated


def filled(record: type[R], values: Mapping[str, object]) -> R:
    """A record of the values of parameters, by their names."""
    return record(
        **{
            name: values[name] if inner is None else filled(inner, values)
            for name, inner in _inner_records(record)
        }
    )


@cache
def _inner_records(
    record: type[msgspec.Struct],
) -> tuple[tuple[str, type[msgspec.Struct] | None], ...]:
    """The fields of a record, each with the record in it; None: it has none."""
    hints = get_type_hints(record)
    return tuple(
        (name, kind if isinstance(kind := hints[name], type) and issubclass(kind, msgspec.Struct)
         else None)
        for name in record.__struct_fields__
    )  # fmt: skip


def _options_of(record: type[msgspec.Struct]) -> Iterator[Decorator]:
    hints = get_type_hints(record, include_extras=True)
    inner = dict(_inner_records(record))
    for field in msgspec.structs.fields(record):
        if (nested := inner[field.name]) is not None:
            yield from _options_of(nested)
        elif get_origin(hints[field.name]) is Annotated:
            kind, found = get_args(hints[field.name])
            default = None if field.default in (msgspec.NODEFAULT, ()) else field.default
            yield option_of(field.name, kind, found, default)


def option_of(name: str, kind: object, found: FieldOption, default: object = None) -> Decorator:
    """click's option for a field of that name, type and default."""
    names = found.names or (f"--{name.replace('_', '-')}",)
    long = next(each for each in names if each.startswith("--"))
    more = dict(found.more)
    if found.is_variable:
        more["envvar"] = _variable(long)
    if kind is bool:
        more["is_flag"] = True
    elif default is not None:
        more |= {"default": default, "show_default": True}
    if get_origin(kind) is tuple:
        more["multiple"] = True
    if choices := [*_choices(kind)]:
        more.setdefault("type", click.Choice(choices))
    make: Callable[..., Decorator] = click.option
    return make(*names, name, help=found.help, **more)


def _choices(kind: object) -> Iterator[str]:
    """The words of a ``Literal``, or of one in a union."""
    for part in get_args(kind):
        if get_origin(kind) is Literal:
            yield part
        else:
            yield from _choices(part)


def group(name: str, record: type[msgspec.Struct], *options: Decorator) -> Decorator:
    """One decorator for options that belong together, in the order of ``--help``: those of the
    record, unless it has none. They are passed on as one argument called ``name``, an instance of
    ``record``."""
    fields = record.__struct_fields__

    def decorated(function: Function) -> Function:
        @wraps(function)
        def called(*others: object, **values: object) -> int:
            own = record(**{field: values[field] for field in fields})
            rest = {key: values[key] for key in values.keys() - fields}
            return function(*others, **{name: own}, **rest)

        return together(*(options or _options_of(record)))(called)

    return decorated


def together(*options: Decorator) -> Decorator:
    """One decorator for several options, in the order of ``--help``."""

    def decorated(function: Function) -> Function:
        for each in reversed(options):
            function = each(function)
        return function

    return decorated


def is_on_command_line(parameter: str) -> bool:
    """True if the command line itself has the option; False for a variable or a default."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is ParameterSource.COMMANDLINE


def _variable(name: str) -> str:
    return f"VNICAUDIT_{name.removeprefix('--').replace('-', '_').upper()}"


# The options that every command takes.


VARIABLE = "VNICAUDIT_STATE"


def state_folder(state: str | None) -> str:
    """``--state``, else this user's directory."""
    return state or default_state()


COMMON: tuple[click.Option, ...] = (
    click.Option(
        ("--config",),
        envvar="VNICAUDIT_CONFIG",
        metavar="FILE",
        type=click.Path(),
        help="Settings file (default: the nearest vnicaudit.toml, or pyproject.toml with "
        "[tool.vnicaudit], in this or a parent directory).",
    ),
    click.Option(
        ("--state",),
        envvar=VARIABLE,
        metavar="DIR",
        type=click.Path(file_okay=False),
        help=f"State directory: journals and past runs.  [default: {SYSTEM} for root, else "
        "~/.local/state/vnicaudit]",
    ),
    click.Option(
        ("--history",),
        envvar="VNICAUDIT_HISTORY",
        metavar="PLACE",
        help="Store of past audits: a file, or postgresql://USER@HOST/DATABASE (keep passwords in "
        "PGPASSFILE or a service file).  [default: history.db in the state directory]",
    ),
    click.Option(
        ("-q", "--quiet"),
        envvar="VNICAUDIT_QUIET",
        is_flag=True,
        help="Print results only; no progress, no notes.",
    ),
    click.Option(
        ("-v", "--verbose"),
        envvar="VNICAUDIT_VERBOSE",
        is_flag=True,
        help="Show more: what was skipped or left out, and why.",
    ),
    click.Option(
        ("--color",),
        envvar="VNICAUDIT_COLOR",
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        show_default=True,
        help="Colour on a terminal, always, or never (NO_COLOR is honoured).",
    ),
)
"""Where settings, runs and audits are stored, and how results are printed. A command that stores
nothing ignores the places."""


# How ``--help`` shows options: under headings, with their environment variables.


_FEW = 12
"""Up to this number of options, a command needs no headings."""

OWN = "Options"
"""Heading of the command's own options."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Selection": (
        "--select", "--ignore", "--level", "--owner", "--domain", "--nic",
        "--exclude", "--changed-since", "--skip-unrecognised", "--force-exclude", "--baseline",
        "--strict", "--assume-qemu", "--assume-libvirt", "--limit", "--inventory", "--uri",
        "--sample", "--sample-of", "--sample-seed", "--resume", "--wrong",
    ),
    "Output": (
        "--format", "--output", "--group-by", "--view", "--sort", "--max", "--write-baseline",
        "--redact",
    ),
    "Fixing": (
        "--fix", "--diff", "--include-unsafe", "--backup", "--to", "--accept-loss", "--over-owner",
        "--vdpa-device", "--vhostuser-mode", "--vhostuser-socket",
    ),
    "Live hosts": (
        "--agent", "--trust-uri", "--force-off", "--traffic", "--host-facts", "--window",
        "--workload", "--record", "--exec", "--pods",
    ),
    "OpenStack": (
        "--project", "--host", "--zone", "--aggregate", "--image",
        "--nova-config", "--nova-release",                     ),
    "Common": (
        "--config", "--state", "--history", "--quiet", "--verbose", "--color", "--help",
        "--help-all",
    ),
}  # fmt: skip
"""Headings in the order of ``--help``, after the command's own options."""

RARE = frozenset((
    "--accept-loss", "--agent", "--aggregate", "--assume-libvirt", "--assume-qemu",
    "--backup", "--canary-by", "--changed-since", "--color", "--config", "--exclude", "--exec",
    "--force-exclude", "--group-by", "--history", "--host", "--host-facts", "--ignore",
    "--image", "--max", "--nodes", "--nova-config", "--strict",
    "--nova-release", "--on-undecided", "--over-owner", "--owner", "--pods", "--record", "--redact",
    "--resume", "--sample", "--sample-of", "--sample-seed", "--skip-unrecognised", "--sort",
    "--state", "--traffic", "--trust-uri", "--uri", "--vdpa-device", "--vhostuser-mode",
    "--vhostuser-socket", "--without-host-lock", "--workload", "--zone",
))  # fmt: skip
"""Options that ``--help`` leaves to ``--help-all``."""

_NAMESAKES = frozenset(("pod_image",))
"""Parameters whose option has the name of another command's, and a meaning of its own."""

_MORE = {
    "audit": "Also show what could not be judged, and why.",
    "nics": "Show each NIC in full, and guests without NICs.",
    "plan": "Show every step in full.",
    "apply": "Also show each check that was made.",
    "rollback": "Also show each check that was made.",
    "runs": "Also show each check that was made.",
    "rules": "With test: also list the cases that pass.",
    "bench run": "Also show the environment, and the guard rails that held.",
    "bench compare": "Also show the environment, and the guard rails that held.",
    "bench show": "Also show the environment, and the guard rails that held.",
}
"""What ``--verbose`` shows more, by command."""

_HEADING = {name: heading for heading, names in SECTIONS.items() for name in names}


class SectionedCommand(click.Command):
    """A command that also takes the options of every command, and lists options under headings if
    there are many."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All parameters, those for help last."""
        *own, last = super().get_params(ctx)
        return [*own, *COMMON, last, _HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under each heading that has any; those that are seldom used only for
        ``--help-all``."""
        every = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shows_all = bool(ctx.meta.get(_SHOWS_ALL))
        options = [one for one in every if shows_all or not is_rare(one)]
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (OWN, *SECTIONS)}
        for option in options:
            record = option.get_help_record(ctx)
            if record is not None:
                heading = heading_of(option) if len(options) > _FEW else OWN
                more = _MORE.get(ctx.command_path.partition(" ")[2], "")
                text = more if more and option.name == "verbose" else record[1]
                sections[heading].append((record[0], text + _variable_sections(option)))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if rest := len(every) - len(options):
            formatter.write_paragraph()
            formatter.write_text(f"{rest} more options: {ctx.command_path} --help-all")


_SHOWS_ALL = "vnicaudit.shows_all"


def _show_all(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        context.meta[_SHOWS_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


_HELP_ALL = click.Option(
    ("--help-all",),
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options, and exit.",
)


def is_rare(option: click.Option) -> bool:
    """True if ``--help`` leaves it to ``--help-all``."""
    return option.name not in _NAMESAKES and not RARE.isdisjoint(option.opts)


def heading_of(option: click.Option) -> str:
    """The heading of an option; the same in all commands."""
    if option.name in _NAMESAKES:
        return OWN
    return next((_HEADING[name] for name in option.opts if name in _HEADING), OWN)


def _variable_sections(option: click.Option) -> str:
    return f"  [env:{option.envvar}]" if isinstance(option.envvar, str) else ""
