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
    return bench


def _fleet() -> click.Command:
    return fleet


def _fleet_audit() -> click.Command:
    from vnicaudit.cli.fleet.audit import command

    return command


def _fleet_plan() -> click.Command:
    from vnicaudit.cli.fleet.plan import command

    return command


def _fleet_apply() -> click.Command:
    from vnicaudit.cli.fleet.apply import command

    return command


def _fleet_serve() -> click.Command:
    from vnicaudit.cli.fleet.serve import command

    return command


def _fleet_notify() -> click.Command:
    from vnicaudit.cli.fleet.notify import command

    return command


def _fleet_inventory() -> click.Command:
    from vnicaudit.cli.fleet.inventory import command

    return command


def _fleet_top() -> click.Command:
    from vnicaudit.cli.fleet.top import command

    return command


def _bench_run() -> click.Command:
    from vnicaudit.cli.bench.run import command

    return command


def _bench_compare() -> click.Command:
    from vnicaudit.cli.bench.compare import command

    return command


def _bench_search() -> click.Command:
    from vnicaudit.cli.bench.search import command

    return command


def _bench_watch() -> click.Command:
    from vnicaudit.cli.bench.watch import command

    return command


def _bench_show() -> click.Command:
    from vnicaudit.cli.bench.show import command

    return command


def _bench_profiles() -> click.Command:
    from vnicaudit.cli.bench.profiles import command

    return command


def _bench_line_rate() -> click.Command:
    from vnicaudit.cli.bench.line_rate import command

    return command


def _history() -> click.Command:
    return history


def _history_status() -> click.Command:
    from vnicaudit.cli.history.status import command

    return command


def _history_show() -> click.Command:
    from vnicaudit.cli.history.show import command

    return command


def _history_upgrade() -> click.Command:
    from vnicaudit.cli.history.upgrade import command

    return command


def _history_prune() -> click.Command:
    from vnicaudit.cli.history.prune import command

    return command


def _history_export() -> click.Command:
    from vnicaudit.cli.history.transfer import export

    return export


def _history_import() -> click.Command:
    from vnicaudit.cli.history.transfer import import_

    return import_


def _history_sql() -> click.Command:
    from vnicaudit.cli.history.sql import command

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

_HISTORY = {
    "status": CommandEntry(
        "List audits, the size of the history, and stale hosts.", _history_status
    ),
    "show": CommandEntry("Show one audit: hosts not read, findings new and gone.", _history_show),
    "upgrade": CommandEntry("Migrate the history to this version's tables.", _history_upgrade),
    "prune": CommandEntry("Remove old audits, NICs and findings.", _history_prune),
    "export": CommandEntry("Export the whole history as JSON lines or Parquet.", _history_export),
    "import": CommandEntry("Import an exported history, or add measurements.", _history_import),
    "sql": CommandEntry("Print how to connect, the views and the schema.", _history_sql),
}

_HISTORY_EPILOG = """\b
Examples:
  vnicaudit history                         the stored audits
  vnicaudit history show latest
  vnicaudit history prune --keep 400d
  vnicaudit history sql                     how to use it with Grafana and SQL"""


@click.command("history", cls=lazy_group(_HISTORY, default="status"), epilog=_HISTORY_EPILOG)
def history() -> None:
    """Show the stored history of a fleet: audits, hosts, NICs and findings.

    Without a command, show the status.
    """


_BENCH = {
    "run": CommandEntry("Measure one path, or compare several paths or arms.", _bench_run),
    "compare": CommandEntry("Compare two measurements.", _bench_compare),
    "search": CommandEntry("Find the highest rate within the loss limit.", _bench_search),
    "watch": CommandEntry("Measure a path regularly, and report when it changes.", _bench_watch),
    "show": CommandEntry("List past measurements, or show one.", _bench_show),
    "profiles": CommandEntry("List built-in profiles, or validate your own.", _bench_profiles),
    "line-rate": CommandEntry("Show a link's theoretical maximum throughput.", _bench_line_rate),
}

_BENCH_EPILOG = """\b
Examples:
  vnicaudit bench profiles                  list the profiles
  vnicaudit bench profiles quick            what one profile measures, and how long it takes
  vnicaudit bench run agent://web01 --profile smoke
  vnicaudit bench run agent://web01,ssh://root@192.0.2.9 -o before.json
  vnicaudit bench compare before.json after.json
  vnicaudit bench line-rate --speed 25G --mtu 9000"""


@click.command("bench", cls=lazy_group(_BENCH), epilog=_BENCH_EPILOG)
def bench() -> None:
    """Measure throughput, packet rate, DNS and latency before and after a change.

    A profile defines the workloads; a path between two endpoints defines where they run. The
    verdict is better, equal or worse, with its confidence.
    """


_FLEET = {
    "audit": CommandEntry("Audit the hosts of an inventory in parallel.", _fleet_audit),
    "inventory": CommandEntry(
        "Show the hosts of an inventory, and where each comes from.", _fleet_inventory
    ),
    "top": CommandEntry("Rank the changes to make first, with reasons.", _fleet_top),
    "plan": CommandEntry("Plan changes on all hosts.", _fleet_plan),
    "apply": CommandEntry("Apply a plan host by host, canaries of each group first.", _fleet_apply),
    "serve": CommandEntry("Serve a web page and metrics of the fleet, read-only.", _fleet_serve),
    "notify": CommandEntry("Notify channels of new and reopened findings.", _fleet_notify),
}

_FLEET_EPILOG = """\b
Examples:
  vnicaudit fleet inventory -i hosts.ini --check
  vnicaudit fleet audit -i fleet.toml --format json -o fleet.json
  vnicaudit fleet audit -i hosts.ini --limit 'zone_a,!kvm7'
  vnicaudit fleet top --top 20
  vnicaudit fleet plan -i fleet.toml -o plan.json
  vnicaudit fleet apply plan.json -i fleet.toml --mode restart --batch 10 --window 22:00-04:00
  vnicaudit fleet serve --metrics
  vnicaudit fleet notify --channels channels.toml"""


@click.command("fleet", cls=lazy_group(_FLEET), epilog=_FLEET_EPILOG)
def fleet() -> None:
    """Audit and change fleets: all hosts of an inventory, in parallel."""
