"""The table of the commands of ``vnicaudit fleet``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "audit": CommandEntry("Audit the hosts of an inventory in parallel.", "fleet.audit"),
    "inventory": CommandEntry(
        "Show the hosts of an inventory, and where each comes from.", "fleet.inventory"
    ),
    "top": CommandEntry("Rank the changes to make first, with reasons.", "fleet.top"),
    "plan": CommandEntry("Plan changes on all hosts.", "fleet.plan"),
    "apply": CommandEntry(
        "Apply a plan host by host, canaries of each group first.", "fleet.apply"
    ),
    "serve": CommandEntry("Serve a web page and metrics of the fleet, read-only.", "fleet.serve"),
    "notify": CommandEntry("Notify channels of new and reopened findings.", "fleet.notify"),
}

_EPILOG = """\b
Examples:
  vnicaudit fleet inventory -i hosts.ini --check
  vnicaudit fleet audit -i fleet.toml --format json -o fleet.json
  vnicaudit fleet audit -i hosts.ini --limit 'zone_a,!kvm7'
  vnicaudit fleet top --top 20
  vnicaudit fleet plan -i fleet.toml -o plan.json
  vnicaudit fleet apply plan.json -i fleet.toml --mode restart --batch 10 --window 22:00-04:00
  vnicaudit fleet serve --metrics
  vnicaudit fleet notify --channels channels.toml"""


@click.command("fleet", cls=lazy_group(_COMMANDS), epilog=_EPILOG)
def command() -> None:
    """Audit and change fleets: all hosts of an inventory, in parallel."""
