"""The table of commands. Each is loaded only when it runs; ``--help`` loads none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

import click
import msgspec

from vnicaudit.base.wording import close_to, shortened
from vnicaudit.cli.output.stderr import tell
from vnicaudit.errors import UsageError


class CommandEntry(msgspec.Struct, frozen=True):
    """A command: its line in ``--help``, and a function that loads it."""

    summary: str
    load: Callable[[], click.Command]


def lazy_group(entries: Mapping[str, CommandEntry], default: str = "") -> type[click.Group]:
    """A group of these commands, listed by ``--help`` in this order. ``default``: the command to
    run, with its options, if none is named; empty: show the help and exit with code 2."""

    class LazyGroup(click.Group):
        """Writes ``--help`` from the entries, without loading commands."""

        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            if default and (not args or (args[0][:1] == "-" and args[0] not in ("-h", "--help"))):
                args = [default, *args]
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


def _audit() -> click.Command:
    from vnicaudit.cli.audit.audit import command

    return command


def _nics() -> click.Command:
    from vnicaudit.cli.audit.nics import command

    return command


def _explain() -> click.Command:
    from vnicaudit.cli.audit.explain import command

    return command


def _rules() -> click.Command:
    from vnicaudit.cli.audit.rules import command

    return command


def _plan() -> click.Command:
    from vnicaudit.cli.remedy.plan import command

    return command


def _apply() -> click.Command:
    from vnicaudit.cli.remedy.apply import command

    return command


def _rollback() -> click.Command:
    from vnicaudit.cli.remedy.rollback import command

    return command


def _runs() -> click.Command:
    from vnicaudit.cli.remedy.runs import command

    return command


def _bench() -> click.Command:
    from vnicaudit.cli.bench.group import command

    return command


def _fleet() -> click.Command:
    from vnicaudit.cli.fleet.group import command

    return command


def _history() -> click.Command:
    from vnicaudit.cli.history.group import command

    return command


def _completion() -> click.Command:
    from vnicaudit.cli.completion.command import command

    return command


def _doctor() -> click.Command:
    from vnicaudit.cli.doctor.command import command

    return command


def _diff() -> click.Command:
    from vnicaudit.cli.diff.command import command

    return command


def _trend() -> click.Command:
    from vnicaudit.cli.history.trend import command

    return command


def _drift() -> click.Command:
    from vnicaudit.cli.history.drift import command

    return command


COMMANDS = {
    "audit": CommandEntry("Audit NICs and report findings.", _audit),
    "nics": CommandEntry("List every NIC with its declared and effective settings.", _nics),
    "explain": CommandEntry(
        "Explain one NIC layer by layer: declared values, and which one wins.", _explain
    ),
    "rules": CommandEntry("List all rules, or show one rule's manual page.", _rules),
    "plan": CommandEntry("Plan changes, shown as diffs and in words.", _plan),
    "apply": CommandEntry("Apply a plan: redefine, restart or hot-swap, then verify.", _apply),
    "rollback": CommandEntry("Undo a previous run.", _rollback),
    "runs": CommandEntry("List previous runs and their outcomes.", _runs),
    "fleet": CommandEntry("Audit and change all hosts of an inventory.", _fleet),
    "bench": CommandEntry("Measure network performance before and after a change.", _bench),
    "history": CommandEntry("Show the stored audits of a fleet.", _history),
    "trend": CommandEntry("Show findings of a fleet over time.", _trend),
    "drift": CommandEntry("Compare two audits of a fleet.", _drift),
    "diff": CommandEntry("Compare two reports: findings that are new, worse or gone.", _diff),
    "doctor": CommandEntry("Check what can be audited from this machine.", _doctor),
    "completion": CommandEntry("Print or install shell completion.", _completion),
}
