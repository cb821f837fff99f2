"""``vnicaudit bench show``: stored measurements, and measurements in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click
import msgspec
from msgspec.structs import replace

from vnicaudit.bench import history
from vnicaudit.bench.judging.stored_comparison import judged_so_far
from vnicaudit.cli.bench.options import ReportOptions, report_places
from vnicaudit.cli.bench.output import check_places, write_reports
from vnicaudit.cli.options.candidates import measurements
from vnicaudit.cli.options.output import OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, option, state_folder, takes
from vnicaudit.cli.output.files import ReportOutput, emit
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError, VnicauditError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.formats import tables
from vnicaudit.reports.bench.labels import word_of
from vnicaudit.reports.bench.reading import from_file
from vnicaudit.reports.safe import safe

_EPILOG = """\b
Examples:
  vnicaudit bench show                                  list all measurements
  vnicaudit bench show 20261121-101500-3f2a
  vnicaudit bench show 20261121-101500-3f2a -o result.json
  vnicaudit bench show before.json --format csv -o before.csv
  vnicaudit bench show vcpus1.json vcpus2.json vcpus3.json   as one table
  vnicaudit bench show --table                          all measurements as tables"""


class BenchShowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench show``: measurements by name or file."""

    runs: tuple[str, ...]
    table: Annotated[
        bool,
        option(
            "Show only the medians, as a table for each kind of workload: Mb/s and queries per "
            "second by NIC and number of vCPUs, as text or Markdown. Without RUN: all stored, "
            "finished measurements."
        ),
    ] = False
    report: ReportOptions
    state: str | None
    output: OutputOptions


@click.command("show", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("runs", nargs=-1, metavar="[RUN|FILE]...", shell_complete=measurements)
@takes(BenchShowOptions)
def command(options: BenchShowOptions) -> int:
    """List stored measurements, newest first, or show (and convert) one of them, or a file of
    k8s-netperf.

    Several are shown as tables of their medians (--table): one row for each NIC and number of
    vCPUs, by server state and number of generators.
    """
    check_places(options.report)
    state = Path(state_folder(options.state))
    if not options.runs and not options.table:
        _list(state)
        return 0
    names = options.runs or _finished_runs(state)
    if options.table or len(names) > 1:
        return _tables(names, state, options)
    write_reports(named_measurement(names[0], state), options.report, options.output)
    return 0


def _list(state: Path) -> None:
    for name in reversed(history.measurement_ids(state)):
        try:
            head = history.stored_measurement(state, name).head()
        except VnicauditError as error:
            emit(f"{name}  {safe(str(error))}\n")
            continue
        deciding = [one for one in head.results if one.primary]
        verdict = word_of(head.decision.verdict, deciding) if head.decision else "measured"
        ended = verdict if head.run.finished else "unfinished"
        emit(safe(f"{name}  {head.run.profile}  {', '.join(head.arms)}: {ended}") + "\n")


def _finished_runs(state: Path) -> Sequence[str]:
    """Measurements that ran to their end; prints a message for damaged ones. Raises UsageError if
    there is none."""
    found = []
    for name in history.measurement_ids(state):
        try:
            head = history.stored_measurement(state, name).head()
        except VnicauditError as error:
            tell(f"Left out: {safe(str(error))}")
            continue
        if head.run.finished:
            found.append(name)
    if not found:
        raise UsageError(f"there is no finished measurement in {state / 'bench'}")
    return found


def _tables(names: Sequence[str], state: Path, options: BenchShowOptions) -> int:
    """Write the table of medians to every requested place."""
    places = report_places(options.report)
    if {name for name, _place in places} - {"text", "markdown"}:
        raise UsageError("tables of measurements can only be text or Markdown (--format markdown)")
    results = [_without_output(named_measurement(name, state)) for name in names]
    for name, place in places:
        style = screen_options(options.output)
        with ReportOutput(place) as output:
            output.finish(tables(results, style, markdown=name == "markdown"))
    return 0


def _without_output(result: BenchResult) -> BenchResult:
    """The measurement without the output of the tools, of which many take a lot of memory."""
    return replace(result, samples=tuple(map(history.without_output, result.samples)))


def named_measurement(name: str, state: Path) -> BenchResult:
    """The stored measurement of that name, or else the one in the file. Raises UsageError if
    neither exists, or it cannot be read."""
    if name in history.measurement_ids(state) and not os.path.exists(name):
        return judged_so_far(history.stored_measurement(state, name).result())
    if not (os.path.exists(name) or os.sep in name or name.endswith(".json")):
        history.stored_measurement(state, name)  # raises the error
    return judged_so_far(from_file(Path(name)))
