"""Groups of commands of which each is loaded only when it runs; ``--help`` loads none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn

import click
import msgspec

from vnicaudit.base.wording import close_to, shortened
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError


class CommandEntry(msgspec.Struct, frozen=True):
    """A command: its line in ``--help``, and its module below ``vnicaudit.cli``, followed by ``:``
    and its name there unless that is ``command``."""

    summary: str
    place: str

    def load(self) -> click.Command:
        """The command."""
        module, _, name = self.place.partition(":")
        found: click.Command = getattr(import_module(f"vnicaudit.cli.{module}"), name or "command")
        return found


def _with_default(args: list[str], default: str) -> list[str]:
    """The arguments of a group, with its default command if none is named."""
    if args[:1] == ["--help-all"]:  # a group has no options of its own
        return ["--help", *args[1:]]
    if default and (not args or (args[0][:1] == "-" and args[0] not in ("-h", "--help"))):
        return [default, *args]
    return args


def lazy_group(entries: Mapping[str, CommandEntry], default: str = "") -> type[click.Group]:
    """A group of these commands, listed by ``--help`` in this order. ``default``: the command to
    run, with its options, if none is named; empty: show the help and exit with code 2."""

    class LazyGroup(click.Group):
        """Writes ``--help`` from the entries, without loading commands."""

        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            args = _with_default(args, default)
            if not args and not ctx.resilient_parsing:
                self._show_help(ctx)
            return super().parse_args(ctx, args)

        def _show_help(self, ctx: click.Context) -> NoReturn:
            """Show the help and exit with code 2. click's own error has the help as its message,
            which would be escaped like any other message."""
            tell(ctx.get_help())
            raise click.exceptions.Exit(UsageError.exit_code)

        def list_commands(self, ctx: click.Context) -> list[str]:
            del ctx
            return list(entries)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            del ctx
            entry = entries.get(cmd_name)
            return None if entry is None else entry.load()

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            if args and args[0] not in entries and args[0][:1] != "-":
                hint = close_to(args[0], list(entries))
                ctx.fail(f"No such command {shortened(args[0])!r}{hint or '.'}")
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            del ctx
            with formatter.section("Commands"):
                formatter.write_dl([(name, one.summary) for name, one in entries.items()])

    return LazyGroup
