"""``vnicaudit runs``: past runs, what they changed, and their outcomes."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated

import click

from vnicaudit.base.wording import count
from vnicaudit.cli.options.output import screen_options
from vnicaudit.cli.options.records import SectionedCommand, days_of, option, state_folder, takes
from vnicaudit.cli.options.remedy import RemedyOptions, run_context
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.output.process import hang_up_noted
from vnicaudit.cli.output.progress import confirm, tell
from vnicaudit.cli.output.run_progress import RunTelling
from vnicaudit.cli.remedy.run_output import print_result, tell_damage
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import NoResponseError, RefusedError, TargetError, UsageError, VnicauditError
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.past_run import damaged, read_run
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.pruning import (
    in_effect,
    old_runs,
    recover,
    remove_leftovers,
    remove_runs,
)
from vnicaudit.reports.runs import render, render_one, render_states, runs_json
from vnicaudit.reports.safe import safe
from vnicaudit.text.targets import command as own_command

if TYPE_CHECKING:
    from vnicaudit.model.runs import RunRecord
    from vnicaudit.remedy.applying.pruning import Recovered

_WAITING = 1
"""Exit code: all is as planned, but not yet in effect everywhere."""

_EPILOG = """\b
Examples:
  vnicaudit runs
  vnicaudit runs 20261121-101500-3f2a
  vnicaudit runs --format json
  vnicaudit runs --verify 20261121-101500-3f2a    is it in effect yet?
  vnicaudit runs --recover                        after a crash, from a service unit
  vnicaudit runs --prune 1y                       remove runs older than a year

\b
Exit codes: 0 (with --verify: everything is in effect, or was rolled back; with --recover: nothing
is left unfinished), 1 a guest still waits for its power cycle or restart, 2 usage, 4 a host could
not be reached, 5 something is not as planned, is unknown, or could not be rolled back."""


def run_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of readable runs, for shell completion."""
    del parameter
    try:
        found = runs(state_folder(context.params.get("state")))
        return [run.id for run in found if run.id.startswith(incomplete)]
    except (OSError, VnicauditError):
        return []


class RunsOptions(RemedyOptions, frozen=True, kw_only=True):
    """The options of ``vnicaudit runs``."""

    run: str | None
    verify: Annotated[
        bool,
        option(
            "Check whether the changes of RUN are in effect now: compare the running guests with "
            "the plan."
        ),
    ] = False
    recover: Annotated[
        bool,
        option(
            "Finish what a crashed process left unfinished, without asking; start nothing new. For "
            "a service unit or a watchdog."
        ),
    ] = False
    prune: Annotated[
        str | None,
        option(
            "Remove runs that ended longer ago than this (90d, 8w, 2y); they can no longer be "
            "undone. Unfinished and damaged runs stay, and so do the runs that they undo or that "
            "undo them.",
            metavar="TIME",
        ),
    ] = None
    yes: Annotated[bool, option("Do not ask before --prune removes runs.", "--yes", "-y")] = False


@click.command("runs", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=run_ids)
@pass_wiring
@takes(RunsOptions)
def command(options: RunsOptions, wiring: Wiring) -> int:
    """List past runs and their results, newest first, or show one RUN domain by domain.

    For each domain it shows the result, the checks made afterwards, and the downtime.
    """
    if options.prune is not None:
        return _prune(options.prune, options)
    if options.verify or options.recover:
        return _check_or_recover(options, wiring)
    found = runs(options.folder)
    tell_damage(damaged(StateFolder(options.folder)))
    if options.run is not None:
        found = [_run_called(found, options.run, options.folder)]
    if options.format == "json":
        emit(runs_json(found).decode())
    else:
        view = screen_options(options.output)
        for text in render(found, view) if options.run is None else render_one(found[0], view):
            emit(text)
    return 0


def _prune(keep: str, options: RunsOptions) -> int:
    """Remove old runs after confirmation; returns the exit code."""
    if options.run is not None or options.verify or options.recover or options.format != "text":
        raise UsageError("--prune cannot be used with RUN, --verify, --recover or --format")
    before = datetime.now(timezone.utc) - timedelta(days=days_of(keep, "--prune"))
    state = StateFolder(options.folder)
    remove_leftovers(state)
    found = old_runs(state, before)
    if not found:
        emit(f"No run ended more than {keep} ago\n")
        return 0
    what = f"{count(len(found), 'run')} that ended more than {keep} ago"
    confirm(f"Remove {what}? They can no longer be undone.", yes=options.yes)
    remove_runs(found)
    emit(f"Removed {what}\n")
    return 0


def _check_or_recover(options: RunsOptions, wiring: Wiring) -> int:
    if options.format != "text":
        raise UsageError("--verify and --recover print text only: leave out --format")
    if options.recover:
        if options.run is not None or options.verify:
            raise UsageError("--recover covers all runs: use it without RUN and --verify")
        return _recover(options, wiring)
    if options.run is None:
        raise UsageError(f"--verify needs a RUN: {last_run(options.folder)}")
    return _verify(options.run, options, wiring)


def last_run(folder: str) -> str:
    """Which run may be meant, where none was named."""
    last = max(StateFolder(folder).ids(), default="")
    return f"{f'the last is {last}; ' if last else ''}`{own_command('runs', folder)}` lists them"


def _run_called(found: list[RunRecord], name: str, folder: str) -> RunRecord:
    for run in found:
        if run.id == name:
            return run
    listing = own_command("runs", folder)
    raise UsageError(f"there is no run {name!r} in {folder}; `{listing}` lists them")


def _recover(options: RunsOptions, wiring: Wiring) -> int:
    """Finish what a dead process left unfinished; returns the exit code."""
    codes = [0]
    telling = RunTelling(quiet=options.output.quiet, waits=True)
    with hang_up_noted(), closing(telling) as say:
        for one in recover(run_context(options, wiring, "next-boot"), say):
            tell_damage(one.damage)
            if one.at_work:
                tell(safe(f"run {one.run}: {one.at_work}"))
                continue
            for unit in one.units:
                message = f": {unit.message}" if unit.message else ""
                tell(safe(f"run {one.run}: {unit.name}: {unit.outcome}{message}"))
            if one.error is not None:
                tell(safe(f"run {one.run}: {one.error}"))
            codes.append(_code_of(one))
    return max(codes)


def _code_of(one: Recovered) -> int:
    """Exit code for one run that was recovered, or could not be."""
    if one.is_well:
        return 0
    failed = any(unit.outcome == "failed" for unit in one.units)
    unreachable = isinstance(one.error, (TargetError, NoResponseError)) and not failed
    return TargetError.exit_code if unreachable else RefusedError.exit_code


def _verify(run: str, options: RunsOptions, wiring: Wiring) -> int:
    """Check what a run changed; returns the exit code."""
    context = run_context(options, wiring, "next-boot")
    found = read_run(context.state.run(run))
    units = [] if found is None else list(in_effect(found, context))
    if not units:
        shown = context.state.command(f"runs {run}")
        raise UsageError(f"run {run} has no applied change to verify; to see it: {shown}")
    print_result(lambda: render_states(units, screen_options(options.output)))
    if any(unit.state in ("differs", "gone", "moved") for unit in units):
        return RefusedError.exit_code
    if any(unit.unreachable for unit in units):
        return TargetError.exit_code
    if any(unit.state == "unknown" for unit in units):
        return RefusedError.exit_code
    return _WAITING if any(unit.state == "waiting" for unit in units) else 0
