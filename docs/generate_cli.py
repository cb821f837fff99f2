"""Write docs/reference/cli.md from the commands and options of the command line.

python docs/generate_cli.py            write the page
python docs/generate_cli.py --check    exit 1 if the page differs
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from vnicaudit.cli.commands import cli
from vnicaudit.cli.options.environment import described
from vnicaudit.cli.options.records import COMMON

PAGE = Path(__file__).parent / "reference" / "cli.md"

_WIDTH = 78  # width of usage lines, independent of the terminal

_HEAD = """\
# Command line

This page is generated from the program. `vnicaudit COMMAND --help-all` prints the same and
examples, `--help` the options that are used most.

{help}

| command | what it does |
|---|---|
{commands}

What the exit codes mean is in [exit-codes.md](exit-codes.md), what a settings file may hold in
[configuration.md](configuration.md).

Options marked ✓ can be given by a variable too: `VNICAUDIT_` and the name in capitals, as in
`VNICAUDIT_LEVEL` for `--level`. The command line wins. Where an option may be repeated, blanks
separate the values.

## Options of every command

{common}

## Options of several commands

Below each command are its own options, and the names of those it has of these:

{shared}
"""

_COMMAND = """\
## vnicaudit {name}

```text
{usage}
```

{help}

{own}{also}"""

_OWN = """\
{entries}

"""

_ALSO = "[Also](#options-of-several-commands): {names}.\n"

_GROUP = """\
## vnicaudit {name}

{help}

Commands: {commands}.
"""

_TAIL = """\
## Environment

Besides the variables of options (limits and `VNICAUDIT_CONFIDENCE` are also
[keys of a settings file](configuration.md#keys)):

| variable | meaning |
|---|---|
{variables}
"""

ENVIRONMENT = {
    "NO_COLOR": "set and not empty: no colour, unless `--color always` is given",
    "TERM": "`dumb`: no colour, unless `--color always` is given",
    "COLUMNS": "width of text in columns; without it the terminal's, 100 where there is none",
    "VNICAUDIT_DEBUG": "set and not empty: an internal error shows its traceback",
    **described(),
}
"""Environment variables that belong to no option."""


def page() -> str:
    """The whole page."""
    top = click.Context(cli, info_name="vnicaudit", terminal_width=_WIDTH, **cli.context_settings)
    shared = _shared_entries(cli, top)
    head = _HEAD.format(
        help=_text(cli).partition("\n\n")[0],
        commands="\n".join(
            f"| {_link(name)} | {_text(command).splitlines()[0]} |"
            for name, command in members(cli, top)
        ),
        common="\n".join(_entry(option, top) for option in COMMON),
        shared="\n".join(sorted(shared, key=_long_name)),
    )
    tail = _TAIL.format(
        variables="\n".join(f"| `{name}` | {meaning} |" for name, meaning in ENVIRONMENT.items())
    )
    return "\n".join([head, *_sections(cli, top, "", shared), tail])


def members(group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    """The commands of a group, in its order."""
    found = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in found if command is not None]


def _link(path: str) -> str:
    """A link to the section of a command."""
    return f"[{path}](#vnicaudit-{path.replace(' ', '-')})"


def _shared_entries(group: click.Group, context: click.Context) -> frozenset[str]:
    """The entries of options that several commands have; of a name with several meanings, that of
    most commands."""
    shared: dict[str, str] = {}
    for entry, count in Counter(_all_entries(group, context)).most_common():
        if count > 1:
            shared.setdefault(_long_name(entry), entry)
    return frozenset(shared.values())


def _long_name(entry: str) -> str:
    return next(word for word in re.split(r"[`, ]+", entry) if word.startswith("--"))


def _all_entries(group: click.Group, context: click.Context) -> Iterator[str]:
    for name, command in members(group, context):
        inner = click.Context(command, parent=context, info_name=name)
        if isinstance(command, click.Group):
            yield from _all_entries(command, inner)
        else:
            yield from (_entry(option, inner) for option in _options(command, inner))


def _sections(
    group: click.Group, context: click.Context, prefix: str, shared: frozenset[str]
) -> Iterator[str]:
    """One section for each command of a group; sections of nested groups follow directly."""
    for name, command in members(group, context):
        inner = click.Context(command, parent=context, info_name=name)
        if isinstance(command, click.Group):
            yield _GROUP.format(
                name=prefix + name,
                help=_text(command),
                commands=", ".join(
                    _link(f"{prefix}{name} {one}") for one, _ in members(command, inner)
                ),
            )
            yield from _sections(command, inner, f"{prefix}{name} ", shared)
        else:
            yield _section(prefix + name, command, inner, shared)


def _section(
    name: str, command: click.Command, context: click.Context, shared: frozenset[str]
) -> str:
    entries = {_entry(option, context): option for option in _options(command, context)}
    own = "\n".join(entry for entry in entries if entry not in shared)
    also = [
        f"`{max(option.opts, key=len)}`" for entry, option in entries.items() if entry in shared
    ]
    return _COMMAND.format(
        name=name,
        usage=command.get_usage(context).removeprefix("Usage: "),
        help=_text(command),
        own=_OWN.format(entries=own) if own else "",
        also=_ALSO.format(names=", ".join(also)) if also else "",
    )


def _options(command: click.Command, context: click.Context) -> list[click.Option]:
    found = command.get_params(context)
    return [
        parameter
        for parameter in found
        if isinstance(parameter, click.Option)
        and not parameter.hidden
        and parameter not in COMMON
        and not {"--help", "--help-all"}.intersection(parameter.opts)
    ]


def _entry(option: click.Option, context: click.Context) -> str:
    names, meaning = option.get_help_record(context) or ("", "")
    return f"* `{names}`{_mark(option)}: {' '.join(meaning.split())}"


def _mark(option: click.Option) -> str:
    """✓ if the option has its variable. Raises ValueError if that does not have its name."""
    if not option.envvar:
        return ""
    longest = max(option.opts, key=len).removeprefix("--")
    if option.envvar != "VNICAUDIT_" + longest.replace("-", "_").upper():
        raise ValueError(f"the variable of --{longest} is {option.envvar}")
    return " ✓"


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
