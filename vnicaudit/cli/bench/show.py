"""``vnicaudit bench show``: stored measurements, and measurements in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from vnicaudit.cli.bench.options import ReportOptions, report_options, report_places
from vnicaudit.cli.options.candidates import measurements
from vnicaudit.cli.options.output import OutputOptions, output_options, screen_options
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_folder
from vnicaudit.cli.output.files import ReportOutput, emit
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError, VnicauditError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vnicaudit.model.measurement import BenchResult, Sample

_EPILOG = """\b
Examples:
  vnicaudit bench show                                  list all measurements
  vnicaudit bench show 20261121-101500-3f2a
  vnicaudit bench show 20261121-101500-3f2a -o result.json
  vnicaudit bench show before.json --format csv -o before.csv
  vnicaudit bench show vcpus1.json vcpus2.json vcpus3.json   as one table
  vnicaudit bench show --table                          all measurements as tables"""


class BenchShowOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit bench show``: measurements by name or file."""

    runs: tuple[str, ...]
    table: bool
    report: ReportOptions
    state: str | None
    output: OutputOptions


@click.command("show", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("runs", nargs=-1, metavar="[RUN|FILE]...", shell_complete=measurements)
@click.option(
    "--table",
    is_flag=True,
    help="Show only the medians, as a table for each kind of workload: Mb/s and queries per second "
    "by NIC and number of vCPUs, as text or Markdown. Without RUN: all stored, finished "
    "measurements.",
)
@report_options
@output_options
@as_record(BenchShowOptions)
def command(options: BenchShowOptions) -> int:
    """List stored measurements, newest first, or show (and convert) one of them, or a file of
    k8s-netperf.

    Several are shown as tables of their medians (--table): one row for each NIC and number of
    vCPUs, by server state and number of generators.
    """
    from vnicaudit.cli.bench.output import check_places, write_reports

    check_places(options.report)
    state = Path(state_folder(options.state))
    if not options.runs and not options.table:
        _list(state)
        return 0
    found = [named_measurement(name, state) for name in options.runs or _finished_runs(state)]
    if options.table or len(found) > 1:
        return _tables(found, options)
    write_reports(found[0].result(), found[0].samples, options.report, options.output)
    return 0


def _list(state: Path) -> None:
    from vnicaudit.bench import history
    from vnicaudit.reports.bench.labels import word_of
    from vnicaudit.reports.safe import safe

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


def _finished_runs(state: Path) -> list[str]:
    """Measurements that ran to their end; prints a message for damaged ones. Raises UsageError if
    there is none."""
    from vnicaudit.bench import history
    from vnicaudit.reports.safe import safe

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


def _tables(found: list[NamedMeasurement], options: BenchShowOptions) -> int:
    """Write the table of medians to every requested place."""
    from vnicaudit.reports.bench.formats import tables

    places = report_places(options.report)
    if {name for name, _place in places} - {"text", "markdown"}:
        raise UsageError("tables of measurements can only be text or Markdown (--format markdown)")
    results = [each.result() for each in found]
    for name, place in places:
        style = screen_options(options.output)
        with ReportOutput(place) as output:
            output.finish(tables(results, style, markdown=name == "markdown"))
    return 0


class NamedMeasurement(NamedTuple):
    """A measurement and the name it was requested by. ``result``: without the raw output of the
    tools; ``samples``: with it, one at a time."""

    name: str
    result: Callable[[], BenchResult]
    samples: Callable[[], Iterable[Sample]]


def named_measurement(name: str, state: Path) -> NamedMeasurement:
    """The stored measurement of that name, or else the file. Raises UsageError if neither
    exists."""
    from vnicaudit.bench import history
    from vnicaudit.bench.judging.stored_comparison import judged_so_far

    if name in history.measurement_ids(state) and not os.path.exists(name):
        kept = history.stored_measurement(state, name)
        return NamedMeasurement(name, lambda: judged_so_far(kept.result()), kept.samples)
    if not (os.path.exists(name) or os.sep in name or name.endswith(".json")):
        history.stored_measurement(state, name)  # raises the error
    from vnicaudit.reports.bench.reading import from_file, samples_in

    file = Path(name)
    return NamedMeasurement(name, lambda: judged_so_far(from_file(file)), lambda: samples_in(file))
