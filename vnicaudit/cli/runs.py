"""``vnicaudit runs``: what was applied and undone, when, and with which outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.doing import tell_damage
from vnicaudit.cli.options import format_option, output_options
from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import state_folder, state_option
from vnicaudit.cli.stdout import emit
from vnicaudit.errors import UsageError, VnicauditError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vnicaudit.model.runs import RunRecord
    from vnicaudit.reports.writer import Options

_EPILOG = """\b
Examples:
  vnicaudit runs
  vnicaudit runs 20261121-101500-3f2a
  vnicaudit runs --format json"""


def run_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For shell completion: the runs there are, as far as they may be read."""
    del parameter
    try:
        return [run.id for run in _runs(context.params) if run.id.startswith(incomplete)]
    except (OSError, VnicauditError):
        return []


@click.command("runs", epilog=_EPILOG)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=run_ids)
@format_option
@state_option
@output_options
def command(run: str | None, **given: Any) -> int:
    """List what was applied and undone, newest first, or show one RUN domain by domain.

    For each domain: what became of it, what was looked at afterwards, and how long it was down.
    """
    runs = _runs(given)
    tell_damage(_damaged(given))
    if run is not None:
        runs = [_chosen(runs, run, state_folder(given))]
    if given["format_"] == "json":
        from vnicaudit.reports.runs.json import to_json

        emit(to_json(runs).decode())
    else:
        _print(runs, screen(given), whole=run is not None)
    return 0


def _runs(given: dict[str, Any]) -> list[RunRecord]:
    from vnicaudit.remedy.history import runs

    return runs(state_folder(given))


def _damaged(given: dict[str, Any]) -> Iterator[str]:
    from vnicaudit.remedy.applying.state import StateFolder
    from vnicaudit.remedy.history import damaged

    return damaged(StateFolder(state_folder(given)))


def _chosen(runs: list[RunRecord], name: str, folder: str) -> RunRecord:
    for run in runs:
        if run.id == name:
            return run
    raise UsageError(f"there is no run {name!r} in {folder}; `vnicaudit runs` lists them")


def _print(runs: list[RunRecord], options: Options, *, whole: bool) -> None:
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.runs.text import render, render_one

    paint = Paint(color=options.color)
    for text in render_one(runs[0], options, paint) if whole else render(runs, options, paint):
        emit(text)
