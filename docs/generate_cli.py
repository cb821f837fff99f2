"""Write docs/reference/cli.md from the commands and options of the command line.

python docs/generate_cli.py            write the page
python docs/generate_cli.py --check    exit 1 if the page differs
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from vnicaudit.cli.commands import cli

PAGE = Path(__file__).parent / "reference" / "cli.md"

_WIDTH = 78  # width of usage lines, independent of the terminal

_HEAD = """\
# Command line

This page is generated from the program. `vnicaudit COMMAND --help` prints the same and examples.

{help}

```text
{usage}
```

| option | meaning |
|---|---|
{options}

| command | what it shows |
|---|---|
{commands}

What the exit codes mean is in [exit-codes.md](exit-codes.md), what a settings file may hold in
[configuration.md](configuration.md).
"""

_COMMAND = """\
## vnicaudit {name}

```text
{usage}
```

{help}

| option | meaning | environment |
|---|---|---|
{options}
"""

_GROUP = """\
## vnicaudit {name}

```text
{usage}
```

{help}

| command | what it does |
|---|---|
{commands}
"""

_TAIL = """\
## Environment

Each option of a command can be given by the variable in its row; the command line wins. Where an
option may be repeated, blanks separate the values. Besides these:

| variable | meaning |
|---|---|
{variables}
"""

ENVIRONMENT = {
    "NO_COLOR": "set and not empty: no colour, unless `--color always` is given",
    "TERM": "`dumb`: no colour, unless `--color always` is given",
    "COLUMNS": "width of text in columns; without it the terminal's, 100 where there is none",
    "VNICAUDIT_DEBUG": "set and not empty: an internal error shows its traceback",
}
"""Environment variables that belong to no option."""


def page() -> str:
    """The whole page."""
    top = click.Context(cli, info_name="vnicaudit", terminal_width=_WIDTH, **cli.context_settings)
    head = _HEAD.format(
        help=_text(cli),
        usage=cli.get_usage(top).removeprefix("Usage: "),
        options="\n".join(_row(option, top) for option in _options(cli, top)),
        commands=_rows(cli, top, ""),
    )
    tail = _TAIL.format(
        variables="\n".join(f"| `{name}` | {meaning} |" for name, meaning in ENVIRONMENT.items())
    )
    return "\n".join([head, *_sections(cli, top, ""), tail])


def members(group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    """The commands of a group, in its order."""
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in found if command is not None]


def _rows(group: click.Group, context: click.Context, prefix: str) -> str:
    return "\n".join(
        f"| [{prefix}{name}](#vnicaudit-{prefix.replace(' ', '-')}{name}) "
        f"| {_text(command).splitlines()[0]} |"
        for name, command in members(group, context)
    )


def _sections(group: click.Group, context: click.Context, prefix: str) -> Iterator[str]:
    """One section for each command of a group; sections of nested groups follow directly."""
    for name, command in members(group, context):
        inner = click.Context(command, parent=context, info_name=name)
        if isinstance(command, click.Group):
            yield _GROUP.format(
                name=prefix + name,
                usage=command.get_usage(inner).removeprefix("Usage: "),
                help=_text(command),
                commands=_rows(command, inner, f"{prefix}{name} "),
            )
            yield from _sections(command, inner, f"{prefix}{name} ")
        else:
            yield _section(prefix + name, command, inner)


def _section(name: str, command: click.Command, context: click.Context) -> str:
    return _COMMAND.format(
        name=name,
        usage=command.get_usage(context).removeprefix("Usage: "),
        help=_text(command),
        options="\n".join(
            f"{_row(option, context)} {_variable(option)} |"
            for option in _options(command, context)
        ),
    )


def _options(command: click.Command, context: click.Context) -> list[click.Option]:
    found = command.get_params(context)
    return [
        parameter
        for parameter in found
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]


def _row(option: click.Option, context: click.Context) -> str:
    names, meaning = (
        part.replace("|", "\\|") for part in option.get_help_record(context) or ("", "")
    )
    return f"| `{names}` | {' '.join(meaning.split())} |"


def _variable(option: click.Option) -> str:
    return f"`{option.envvar}`" if option.envvar else ""


def _text(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def main(arguments: list[str]) -> int:
    """Write or check the page; returns the exit code: 1 if ``--check`` finds a difference."""
    if arguments != ["--check"]:
        PAGE.write_text(page(), "utf-8")
        return 0
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    if (new := page()) == old:
        return 0
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), "is", "should be")
    sys.stderr.writelines(lines)
    sys.stderr.write("docs/reference/cli.md differs: run python docs/generate_cli.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
