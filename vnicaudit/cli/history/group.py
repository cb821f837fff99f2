"""The table of the commands of ``vnicaudit history``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "status": CommandEntry(
        "List audits, the size of the history, and stale hosts.", "history.status"
    ),
    "show": CommandEntry("Show one audit: hosts not read, findings new and gone.", "history.show"),
    "trend": CommandEntry("Show findings over time.", "history.trend"),
    "upgrade": CommandEntry("Migrate the history to this version's tables.", "history.upgrade"),
    "prune": CommandEntry("Remove old audits, NICs and findings.", "history.prune"),
    "remove": CommandEntry("Remove one audit and what it changed.", "history.prune:remove"),
    "export": CommandEntry("Export the history as JSON lines.", "history.transfer:export"),
    "import": CommandEntry(
        "Import an exported history, or add measurements.", "history.transfer:import_"
    ),
    "sql": CommandEntry("Print how to connect, the views and the schema.", "history.sql"),
}

_EPILOG = """\b
Examples:
  vnicaudit history                         the stored audits
  vnicaudit history show latest
  vnicaudit history trend --by site --since 90d
  vnicaudit history prune --keep 400d
  vnicaudit history remove latest           an audit that ran with a wrong clock
  vnicaudit history sql                     how to use it with Grafana and SQL"""


@click.command("history", cls=lazy_group(_COMMANDS, default="status"), epilog=_EPILOG)
def command() -> None:
    """Show the stored history of a fleet: audits, hosts, NICs and findings.

    Without a command, show the status.
    """
