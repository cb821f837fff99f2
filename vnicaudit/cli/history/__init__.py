"""The table of the commands of ``vnicaudit history``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "status": CommandEntry(
        "List audits, the size of the history, and stale hosts.", "history.commands:status"
    ),
    "show": CommandEntry(
        "Show one audit: hosts not read, findings new and gone.", "history.commands:show"
    ),
    "trend": CommandEntry("Show findings over time.", "history.commands:trend"),
    "prune": CommandEntry("Remove old audits, NICs and findings.", "history.commands:prune"),
    "remove": CommandEntry("Remove the newest audit.", "history.commands:remove"),
    "copy": CommandEntry("Copy the history to another place.", "history.commands:copy"),
    "export": CommandEntry("Write the history as JSON lines.", "history.commands:export"),
    "import": CommandEntry("Add results of `vnicaudit bench`.", "history.commands:import_"),
    "sql": CommandEntry("Print how to connect, and the views.", "history.commands:sql"),
}

_EPILOG = """\b
Examples:
  vnicaudit history                         the stored audits
  vnicaudit history show latest
  vnicaudit history trend --by site --since 90d
  vnicaudit history prune --keep 400d
  vnicaudit history copy postgresql://audit@db.example.org/vnicaudit
  vnicaudit history sql                     how to use it with Grafana and SQL"""


@click.command("history", cls=lazy_group(_COMMANDS, default="status"), epilog=_EPILOG)
def command() -> None:
    """Show the stored history of a fleet: audits, hosts, NICs and findings.

    Without a command, show the status.
    """
