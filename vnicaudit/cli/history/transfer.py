"""``vnicaudit history export`` and ``import``: the history as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from vnicaudit.base.deadlines import standard_input
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.wording import count
from vnicaudit.bench import history as kept
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_folder
from vnicaudit.cli.output.files import (
    STDOUT,
    ReportOutput,
    check_not_compressed,
    emit,
)
from vnicaudit.cli.output.progress import awaited_input
from vnicaudit.errors import UsageError
from vnicaudit.history.opening import history_to_read, history_to_write
from vnicaudit.model.names import STANDARD_INPUT
from vnicaudit.reports.bench.formats.json import from_file

if TYPE_CHECKING:
    from vnicaudit.model.measurement import BenchResult

_EXPORT_EPILOG = """\b
Examples:
  vnicaudit history export -o history.jsonl
  vnicaudit history export | zstd > history.jsonl.zst
  vnicaudit history export --since previous | zstd > $(date -I).jsonl.zst   for a warehouse"""
_IMPORT_EPILOG = """\b
Examples:
  vnicaudit history import history.jsonl --history postgresql://audit@db.example.org/vnicaudit
  zstdcat history.jsonl.zst | vnicaudit history import -
  vnicaudit history import --measurements           all stored results of `vnicaudit bench`
  vnicaudit history import --measurements flip.json"""


class ExportOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history export``."""

    destination: str
    since: str | None
    place: HistoryOptions
    output: OutputOptions


class ImportOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history import``."""

    files: tuple[str, ...]
    measurements: bool
    place: HistoryOptions
    output: OutputOptions


@click.command("export", cls=SectionedCommand, epilog=_EXPORT_EPILOG)
@click.option(
    "-o",
    "--output",
    "destination",
    default=STDOUT,
    show_default=True,
    metavar="FILE",
    help="Write to this file, readable only by you; - is standard output.",
)
@click.option(
    "--since",
    metavar="AUDIT",
    help="Export only rows that audits after this one began or ended: AUDIT is an "
    "id, a date or time, latest or previous. Cannot be imported.",
)
@history_options
@output_options
@as_record(ExportOptions)
def export(options: ExportOptions) -> int:
    """Export the history as JSON lines.

    Each line is a row of a table: {"table": "nic", "row": {…}}. `vnicaudit history sql` explains
    the tables.
    """
    check_not_compressed(options.destination)
    with (
        history_to_read(options.place.place) as history,
        ReportOutput(options.destination, private=True) as out,
    ):
        for line in history.export(options.since):
            out.write(line.decode())
    return 0


@click.command("import", cls=SectionedCommand, epilog=_IMPORT_EPILOG)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--measurements",
    is_flag=True,
    help="Import results of `vnicaudit bench`: these files, or all those in the state directory.",
)
@history_options
@output_options
@as_record(ImportOptions)
def import_(options: ImportOptions) -> int:
    """Import a FILE from `vnicaudit history export` into an empty history, or add measurements.

    A file is imported completely or not at all. - is standard input.
    """
    if not options.measurements and len(options.files) != 1:
        raise UsageError("name one FILE to import, or use --measurements")
    with history_to_write(options.place.place) as history:
        if options.measurements:
            added = history.add_measurements(_measurements(options))
            text = f"{count(added, 'measurement')} added"
        else:
            with _opened(options.files[0], quiet=options.output.quiet) as (stream, name):
                text = f"{count(history.fill(stream, name), 'row')} imported"
    if not options.output.quiet:
        emit(f"{text}\n")
    return 0


@contextmanager
def _opened(name: str, *, quiet: bool) -> Iterator[tuple[BinaryIO, str]]:
    if name == STDOUT:
        stream = standard_input()
        if stream is None:
            raise UsageError("standard input is closed")
        with awaited_input(quiet=quiet):
            yield stream, STANDARD_INPUT
        return
    with as_usage_error(name):
        stream = open_regular(name)
    with stream:
        yield stream, name


def _measurements(options: ImportOptions) -> Iterator[BenchResult]:
    if options.files:
        for name in options.files:
            yield from_file(Path(name))
        return
    state = Path(state_folder(options.place.state))
    for each in kept.measurement_ids(state):
        yield kept.stored_measurement(state, each).head()
