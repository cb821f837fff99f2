"""``vnicaudit runs``: what was applied and undone, when, and with which outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.doing import tell_damage
from vnicaudit.cli.nova_manage import cloud_options
from vnicaudit.cli.options import format_option, output_options
from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import deadline_option, state_folder, state_option, trust_option
from vnicaudit.cli.stdout import emit
from vnicaudit.errors import UsageError, VnicauditError
from vnicaudit.text.own_commands import command as own_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vnicaudit.model.runs import RunRecord
    from vnicaudit.reports.writer import Options

_EPILOG = """\b
Examples:
  vnicaudit runs
  vnicaudit runs 20261121-101500-3f2a
  vnicaudit runs --format json
  vnicaudit runs --verify 20261121-101500-3f2a    is it in effect by now?
  vnicaudit runs --recover                        after a crash, from a service unit

\b
Exit codes: 0 (with --verify: all is in effect, or was taken back; with --recover: nobody is
left in the middle), 1 a guest still waits for its power cycle, 2 usage, 4 a host could not be
reached, 5 something is not as planned, could not be told, or not be brought back."""


def run_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For shell completion: the runs there are, as far as they may be read."""
    del parameter
    try:
        return [run.id for run in _runs(context.params) if run.id.startswith(incomplete)]
    except (OSError, VnicauditError):
        return []


@click.command("runs", epilog=_EPILOG)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=run_ids)
@click.option(
    "--verify",
    is_flag=True,
    help="Check now whether what RUN applied is in effect: what runs against what was planned.",
)
@click.option(
    "--recover",
    is_flag=True,
    help="Finish what a process that died left in the middle, without asking; begin nothing. For a "
    "service unit or a watchdog.",
)
@format_option
@state_option
@deadline_option
@trust_option
@cloud_options
@output_options
def command(run: str | None, **given: Any) -> int:
    """List what was applied and undone, newest first, or show one RUN domain by domain.

    For each domain: what became of it, what was looked at afterwards, and how long it was down.
    """
    if given["verify"] or given["recover"]:
        return _later(run, given)
    runs = _runs(given)
    tell_damage(_damaged(given))
    if run is not None:
        runs = [_chosen(runs, run, given)]
    if given["format_"] == "json":
        from vnicaudit.reports.runs.json import to_json

        emit(to_json(runs).decode())
    else:
        _print(runs, screen(given), whole=run is not None)
    return 0


def _later(run: str | None, given: dict[str, Any]) -> int:
    from vnicaudit.cli.runs_later import recover, verify

    if given["format_"] != "text":
        raise UsageError("--verify and --recover print text alone")
    if given["recover"]:
        if run is not None or given["verify"]:
            raise UsageError("--recover is for all runs: give it alone")
        return recover(given)
    if run is None:
        raise UsageError(f"--verify needs a RUN; `{_listing(given)}` lists them")
    return verify(run, given)


def _runs(given: dict[str, Any]) -> list[RunRecord]:
    from vnicaudit.remedy.history import runs

    return runs(state_folder(given))


def _damaged(given: dict[str, Any]) -> Iterator[str]:
    from vnicaudit.remedy.applying.state import StateFolder
    from vnicaudit.remedy.history import damaged

    return damaged(StateFolder(state_folder(given)))


def _listing(given: dict[str, Any]) -> str:
    return own_command("runs", state_folder(given))


def _chosen(runs: list[RunRecord], name: str, given: dict[str, Any]) -> RunRecord:
    for run in runs:
        if run.id == name:
            return run
    raise UsageError(
        f"there is no run {name!r} in {state_folder(given)}; `{_listing(given)}` lists them"
    )


def _print(runs: list[RunRecord], options: Options, *, whole: bool) -> None:
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.runs.text import render, render_one

    paint = Paint(color=options.color)
    for text in render_one(runs[0], options, paint) if whole else render(runs, options, paint):
        emit(text)
