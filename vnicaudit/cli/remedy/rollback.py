"""``vnicaudit rollback``: undo a run."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import click
from msgspec.structs import replace

from vnicaudit.cli.options.filters import DomainsOption
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.options.remedy import (
    MODE_HELP,
    RemedyOptions,
    ScheduleOptions,
    check_reach,
    run_context,
)
from vnicaudit.cli.output.files import flush
from vnicaudit.cli.output.process import hang_up_noted
from vnicaudit.cli.output.progress import confirm
from vnicaudit.cli.output.run_progress import RunTelling
from vnicaudit.cli.remedy.run_output import (
    end_of_run,
    print_dry_run,
    print_runs,
    show_change,
    tell_damage,
)
from vnicaudit.cli.remedy.runs import last_run, run_ids
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.journal.past_run import read_run
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.rollback import RollbackSelection, dry_run_rollback, rollback

_EPILOG = """\b
Examples:
  vnicaudit runs                                  list the runs
  vnicaudit rollback 20261121-101500-3f2a
  vnicaudit rollback 20261121-101500-3f2a --domain mail-01
  vnicaudit rollback 20261121-101500-3f2a --mode next-boot
  vnicaudit rollback 20261121-101500-3f2a --restore --domain mail-01

\b
Exit codes: the same as for `vnicaudit apply`."""


class RollbackOptions(RemedyOptions, frozen=True, kw_only=True):
    """The options of ``vnicaudit rollback``; ``mode`` None: the mode of the run."""

    run: str | None
    domains: DomainsOption = ()
    over_edits: Annotated[
        bool,
        option(
            "Roll back even if the definition was edited since; restores only the NICs. For "
            "servers and images: even if somebody set the property since. For files use --restore."
        ),
    ] = False
    restore: Annotated[
        bool,
        option(
            "Restore the complete originals that the run saved, whatever was changed since and "
            "even if the journal is damaged. What they replace is saved. Uses --mode next-boot "
            "unless you name another."
        ),
    ] = False
    mode: Annotated[Mode | None, option(f"{MODE_HELP}  [default: that of the run]")] = None
    schedule: ScheduleOptions


@click.command("rollback", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("run", metavar="RUN", required=False, shell_complete=run_ids)
@pass_wiring
@takes(RollbackOptions)
def command(options: RollbackOptions, wiring: Wiring) -> int:
    """Undo a previous RUN, newest domain first, and verify that everything is as it was.

    An interrupted run is returned to its starting point. A definition that somebody has changed
    since is refused.
    """
    run, restore = options.run, options.restore
    if run is None:
        raise UsageError(f"which RUN? {last_run(options.folder)}")
    found = read_run(StateFolder(options.folder).run(run))
    mode = options.mode or (found.request.mode if found and not restore else "next-boot")
    selection = RollbackSelection(options.domains, options.over_edits, restore)
    context = run_context(options, wiring, mode, options.schedule)
    if found is not None:
        units = selection.units_of(found)
        check_reach(context.reach, context.kinds.by_controller(units))
    if options.schedule.dry_run:
        shows = options.format == "text" and not options.output.quiet
        previews = dry_run_rollback(run, selection, context, show_change if shows else None)
        return print_dry_run("rollback", mode, previews, options)
    tell_damage(() if found is None else found.damage)
    what = f"Restore the originals of run {run}" if restore else f"Undo run {run}"
    if restore and not options.output.quiet:
        dry_run_rollback(run, selection, context, show_change)
        flush()
    confirm(f"{what}, --mode {mode}?", yes=options.schedule.yes)
    with hang_up_noted() as halted:
        context = replace(context, halted=halted)
        total = 1 if found is None else len(selection.units_of(found))
        quiet = options.output.quiet
        with closing(RunTelling(quiet=quiet, total=total, undoing=True, waits=True)) as say:
            went = rollback(run, selection, context, say)
    print_runs(went, options, options.format)
    codes = [end_of_run(one, options, context.kinds) for one in went]
    return RefusedError.exit_code if RefusedError.exit_code in codes else max(codes)
