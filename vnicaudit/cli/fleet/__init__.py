"""The table of the commands of ``vnicaudit fleet``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "inventory": CommandEntry(
        "Show the hosts of an inventory, and where each comes from.", "fleet.inventory"
    ),
    "top": CommandEntry("Rank the changes to make first, with reasons.", "fleet.top"),
    "serve": CommandEntry("Serve a web page and metrics of the fleet, read-only.", "fleet.serve"),
    "notify": CommandEntry("Notify channels of new and reopened findings.", "fleet.notify"),
}

_EPILOG = """\b
Examples:
  vnicaudit fleet inventory -i hosts.ini --check
  vnicaudit fleet top --top 20
  vnicaudit fleet serve --metrics
  vnicaudit fleet notify --channels channels.toml"""


@click.command("fleet", cls=lazy_group(_COMMANDS), epilog=_EPILOG)
def command() -> None:
    """Show the hosts of an inventory, and what the audits of them found.

    To audit and change them, use -i: `vnicaudit audit -i fleet.toml`, `plan -i`, `apply`.
    """
