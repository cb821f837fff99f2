"""``vnicaudit bench show``: measurements that are kept, and files of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.bench_options import report_options, report_places
from vnicaudit.cli.options import output_options
from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import state_folder, state_option
from vnicaudit.cli.stdout import emit
from vnicaudit.errors import UsageError, VnicauditError

if TYPE_CHECKING:
    from vnicaudit.cli.bench_stored import Stored

_EPILOG = """\b
Examples:
  vnicaudit bench show                                  what there is
  vnicaudit bench show 20261121-101500-3f2a
  vnicaudit bench show 20261121-101500-3f2a -o result.json
  vnicaudit bench show before.json --format gobench -o before.txt
  vnicaudit bench show vcpus1.json vcpus2.json vcpus3.json   one table of them"""


def measurement_ids(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """For shell completion: the measurements that are kept."""
    del parameter
    from vnicaudit.bench import history

    try:
        found = history.ids(Path(state_folder(context.params)))
    except (OSError, VnicauditError):
        return []
    return [name for name in found if name.startswith(incomplete)]


@click.command("show", epilog=_EPILOG)
@click.argument("runs", nargs=-1, metavar="[RUN|FILE]...", shell_complete=measurement_ids)
@report_options
@state_option
@output_options
def command(runs: tuple[str, ...], **given: Any) -> int:
    """List the measurements that are kept, newest first, or show (and convert) one of them.

    Several at once are shown as one table, by number of vCPUs, state of the server and number of
    generators, where they differ in these.
    """
    from vnicaudit.cli.bench_output import check_places, write_reports
    from vnicaudit.cli.bench_stored import stored

    check_places(given)
    state = Path(state_folder(given))
    if not runs:
        _list(state)
        return 0
    found = [stored(name, state) for name in runs]
    if len(found) > 1:
        return _together(found, given)
    write_reports(found[0].result(), found[0].samples, given)
    return 0


def _list(state: Path) -> None:
    from vnicaudit.bench import history
    from vnicaudit.reports.safe import safe

    for name in reversed(history.ids(state)):
        try:
            head = history.kept(state, name).head()
        except VnicauditError as error:
            emit(f"{name}  {safe(str(error))}\n")
            continue
        verdict = head.decision.verdict if head.decision else "measured"
        ended = verdict if head.run.finished else "unfinished"
        emit(safe(f"{name}  {head.run.profile}  {', '.join(head.arms)}: {ended}") + "\n")


def _together(found: list[Stored], given: dict[str, Any]) -> int:
    from vnicaudit.reports.bench.text import tables

    if [name for name, _place in report_places(given)] != ["text"] or given["charts"]:
        raise UsageError("several measurements are shown as text only")
    for text in tables([each.result() for each in found], screen(given)):
        emit(text)
    return 0
