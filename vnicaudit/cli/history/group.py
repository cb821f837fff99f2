"""The table of the commands of ``vnicaudit history``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group


def _status() -> click.Command:
    from vnicaudit.cli.history.status import command

    return command


def _show() -> click.Command:
    from vnicaudit.cli.history.show import command

    return command


def _upgrade() -> click.Command:
    from vnicaudit.cli.history.upgrade import command

    return command


def _prune() -> click.Command:
    from vnicaudit.cli.history.prune import command

    return command


def _remove() -> click.Command:
    from vnicaudit.cli.history.prune import remove

    return remove


def _export() -> click.Command:
    from vnicaudit.cli.history.transfer import export

    return export


def _import() -> click.Command:
    from vnicaudit.cli.history.transfer import import_

    return import_


def _sql() -> click.Command:
    from vnicaudit.cli.history.sql import command

    return command


_COMMANDS = {
    "status": CommandEntry("List audits, the size of the history, and stale hosts.", _status),
    "show": CommandEntry("Show one audit: hosts not read, findings new and gone.", _show),
    "upgrade": CommandEntry("Migrate the history to this version's tables.", _upgrade),
    "prune": CommandEntry("Remove old audits, NICs and findings.", _prune),
    "remove": CommandEntry("Remove one audit and what it changed.", _remove),
    "export": CommandEntry("Export the history as JSON lines or Parquet.", _export),
    "import": CommandEntry("Import an exported history, or add measurements.", _import),
    "sql": CommandEntry("Print how to connect, the views and the schema.", _sql),
}

_EPILOG = """\b
Examples:
  vnicaudit history                         the stored audits
  vnicaudit history show latest
  vnicaudit history prune --keep 400d
  vnicaudit history remove latest           an audit that ran with a wrong clock
  vnicaudit history sql                     how to use it with Grafana and SQL"""


@click.command("history", cls=lazy_group(_COMMANDS, default="status"), epilog=_EPILOG)
def command() -> None:
    """Show the stored history of a fleet: audits, hosts, NICs and findings.

    Without a command, show the status.
    """
