"""The table of the commands of ``vnicaudit advise``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "network": CommandEntry(
        "Choose a network for each flow between pods and VMs.", "advise.network"
    ),
}

_EPILOG = """\b
Examples:
  vnicaudit advise network --init -o scenario.toml
  vnicaudit advise network scenario.toml
  vnicaudit advise network kube:prod --flows flows.toml"""


@click.command("advise", cls=lazy_group(_COMMANDS), epilog=_EPILOG)
def command() -> None:
    """Answer design questions from measurements that others published, with their sources and
    limits."""
