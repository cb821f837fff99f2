"""``--domain`` and ``--nic``: filters by name."""

from __future__ import annotations

import click

domain_option = click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="Use only this domain, server, image or flavor (name or UUID). Repeatable.",
)

nic_option = click.option(
    "--nic", "macs", multiple=True, metavar="MAC", help="Use only this NIC. Repeatable."
)
"""``--nic``, for the commands that apply a plan or undo a run."""
