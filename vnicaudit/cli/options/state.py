"""``--state``: the directory in which runs and measurements are stored."""

from __future__ import annotations

import click

from vnicaudit.text.own_commands import SYSTEM, default_state

VARIABLE = "VNICAUDIT_STATE"


def state_folder(state: str | None) -> str:
    """``--state``, else this user's directory."""
    return state or default_state()


state_option = click.option(
    "--state",
    envvar=VARIABLE,
    metavar="DIR",
    type=click.Path(file_okay=False),
    help=f"State directory: journals and past runs.  [default: {SYSTEM} for root, else "
    "~/.local/state/vnicaudit]",
)
