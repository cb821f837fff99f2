"""The table of the commands of ``vnicaudit host``. Each is loaded only when it runs."""

from __future__ import annotations

import click

from vnicaudit.cli.options.lazy_group import CommandEntry, lazy_group

_COMMANDS = {
    "cpus": CommandEntry("Draw which tasks may use which CPUs of a host.", "host.cpus"),
    "mask": CommandEntry("Convert a list of CPUs to a mask, or a mask to a list.", "host.mask"),
    "rfs": CommandEntry("Size the tables of receive flow steering (RFS).", "host.rfs"),
}

_EPILOG = """\b
Examples:
  vnicaudit host cpus ssh://root@kvm7
  vnicaudit host mask 0,1,3,6                   4b
  vnicaudit host mask 3,ffffffff                0-33
  vnicaudit host rfs --connections 20000 --queues 16"""


@click.command("host", cls=lazy_group(_COMMANDS), epilog=_EPILOG)
def command() -> None:
    """Show who may use which CPUs of a host, and work out masks and sizes of tables for its network
    settings."""
