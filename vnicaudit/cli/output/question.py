"""Ask before something is changed."""

from __future__ import annotations

import sys

import click

from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless ``yes``. Raises UsageError if nobody can answer,
    click.exceptions.Exit (130) if the answer is no."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("not a terminal: pass --yes to go ahead without asking")
    try:
        sure = click.confirm(question, err=True)
    except OSError as error:
        raise UsageError(
            f"cannot ask: {error.strerror}; pass --yes to go ahead without asking"
        ) from None
    if not sure:
        tell("Nothing was changed.")
        raise click.exceptions.Exit(130)
