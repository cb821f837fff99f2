"""The commands of ``vnicaudit history``: list, show, count, prune, remove and copy audits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Literal

import click
import msgspec

from vnicaudit.base.wording import count
from vnicaudit.bench import history as measurements
from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import (
    SectionedCommand,
    days_of,
    option,
    state_folder,
    takes,
)
from vnicaudit.cli.output.files import STDOUT, ReportOutput, check_not_compressed, emit
from vnicaudit.errors import UsageError
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.history import history_to_read, history_to_write
from vnicaudit.history.place import HistoryPlace, check_extras, history_place
from vnicaudit.model.finding import SEVERITIES, Severity
from vnicaudit.model.history import GroupBy as TrendGroup
from vnicaudit.model.history import TrendRequest
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.reading import from_file
from vnicaudit.reports.history import (
    details_text,
    status_text,
    to_json,
    trend_csv,
    trend_text,
)
from vnicaudit.reports.safe import safe

_STATUS_EPILOG = """\b
Examples:
  vnicaudit history
  vnicaudit history status --last 5 --format json
  vnicaudit history status --history postgresql://audit@db.example.org/vnicaudit"""


class StatusOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history status``."""

    last: Annotated[
        int,
        option("List this many audits; 0 means all.", type=click.IntRange(min=0), metavar="NUMBER"),
    ] = 20
    format: FormatOption = "text"
    place: HistoryOptions
    output: OutputOptions


@click.command("status", cls=SectionedCommand, epilog=_STATUS_EPILOG)
@takes(StatusOptions)
def status(options: StatusOptions) -> int:
    """List the audits of the fleet, newest first, and the size and stale part of the history.

    Counts of findings are for the whole fleet after each audit. Stale findings are on hosts, or of
    rules, that the audit did not cover.
    """
    with history_to_read(options.place.place) as history:
        found = history.status(options.last or None)
    if options.format == "json":
        emit(to_json(found))
    else:
        for text in status_text(found, screen_options(options.output)):
            emit(text)
    return 0


_SHOW_EPILOG = """\b
Examples:
  vnicaudit history show latest
  vnicaudit history show 20261122-101500-3f2a
  vnicaudit history show 2026-11-22 --format json"""


class ShowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history show``."""

    audit: str
    format: FormatOption = "text"
    place: HistoryOptions
    output: OutputOptions


@click.command("show", cls=SectionedCommand, epilog=_SHOW_EPILOG)
@click.argument("audit", metavar="[AUDIT]", default="latest")
@takes(ShowOptions)
def show(options: ShowOptions) -> int:
    """Show one AUDIT: hosts that were not read, and findings that were new, reopened or gone.

    AUDIT is an id, a date or time (the last audit of the whole fleet up to then), latest (the
    default) or previous.
    """
    with history_to_read(options.place.place) as history:
        details = history.details(options.audit)
    if options.format == "json":
        emit(to_json(details))
    else:
        for text in details_text(details, screen_options(options.output)):
            emit(text)
    return 0


_TREND_EPILOG = """\b
Examples:
  vnicaudit history trend
  vnicaudit history trend --by site --since 90d
  vnicaudit history trend --by all --rule VNIC001 --format csv"""


class TrendOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history trend``."""

    by: Annotated[TrendGroup, option("Attribute to count by; all: one line.")] = "rule"
    since: Annotated[
        str | None, option("Show audits of this period: 36h, 90d, 8w, 2y.", metavar="TIME")
    ] = None
    rules: Annotated[
        tuple[str, ...], option("Show only this rule. Repeatable.", "--rule", metavar="ID")
    ] = ()
    level: Annotated[Severity | None, option("Report only findings of this severity or above.")] = (
        None
    )
    sites: Annotated[
        tuple[str, ...], option("Show only this site. Repeatable.", "--site", metavar="NAME")
    ] = ()
    owners: Annotated[
        tuple[str, ...],
        option(
            "Use only definitions of this owner (libvirt, nova, …). Repeatable.",
            "--owner",
            metavar="NAME",
        ),
    ] = ()
    format: Annotated[Literal["text", "json", "csv"], option("Output format.")] = "text"
    place: HistoryOptions
    output: OutputOptions


@click.command("trend", cls=SectionedCommand, epilog=_TREND_EPILOG)
@takes(TrendOptions)
def trend(options: TrendOptions) -> int:
    """Show how many findings the fleet had at each audit, and how many were new or gone.

    Counts are for the whole fleet, even if an audit read only part of it. Findings on hosts that it
    did not reach keep their last known state and are also counted as stale.
    """
    days = None if options.since is None else days_of(options.since, "--since")
    rules = tuple(one.upper() for one in options.rules)
    severities = SEVERITIES[SEVERITIES.index(options.level) :] if options.level else ()
    request = TrendRequest(options.by, days, rules, severities, options.sites, options.owners)
    with history_to_read(options.place.place) as history:
        found = history.trend(request)
    if options.format == "text":
        for text in trend_text(found, screen_options(options.output)):
            emit(text)
    else:
        emit(to_json(found) if options.format == "json" else trend_csv(found))
    return 0


_PRUNE_EPILOG = """\b
Examples:
  vnicaudit history prune --keep 400d
  vnicaudit history prune --keep 2y --history postgresql://audit@db.example.org/vnicaudit"""


class PruneOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history prune``."""

    keep: Annotated[
        str,
        option(
            "Keep anything that ended within this time: 36h, 400d, 8w, 2y.",
            required=True,
            metavar="TIME",
        ),
    ]
    place: HistoryOptions
    output: OutputOptions


@click.command("prune", cls=SectionedCommand, epilog=_PRUNE_EPILOG)
@takes(PruneOptions)
def prune(options: PruneOptions) -> int:
    """Remove old audits, and NICs and findings that ended long ago.

    Open findings stay, with the day they were first seen, and so does the last reading of each
    host, however old.
    """
    begin = datetime.now(timezone.utc) - timedelta(days=days_of(options.keep, "--keep"))
    with history_to_write(_existing(options.place.place)) as history:
        pruned = history.prune(round(begin.timestamp() * 1000))
    if not options.output.quiet:
        counted = (
            count(pruned.audits, "audit"),
            count(pruned.readings, "reading"),
            f"{count(pruned.nics, 'NIC')} and {count(pruned.findings, 'finding')} that had ended",
        )
        emit(f"Removed {', '.join(counted)}\n")
    return 0


_REMOVE_EPILOG = """\b
Examples:
  vnicaudit history remove latest
  vnicaudit history remove 20350101-000000-3f2a     its clock was wrong"""


class RemoveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history remove``."""

    audit: str
    place: HistoryOptions
    output: OutputOptions


@click.command("remove", cls=SectionedCommand, epilog=_REMOVE_EPILOG)
@click.argument("audit", metavar="AUDIT")
@takes(RemoveOptions)
def remove(options: RemoveOptions) -> int:
    """Remove the newest AUDIT, such as one with a wrong clock, or of a wrong inventory.

    What is known of its hosts is again what was known before it. `vnicaudit fleet top` forgets it
    too, where this machine made it.
    """
    with history_to_write(_existing(options.place.place)) as history:
        removed = history.remove(options.audit)
    spool = SpoolFolder(Path(state_folder(options.place.state))).finished_audit(removed.audit)
    if spool is not None:
        spool.drop_hosts()
    if not options.output.quiet:
        emit(f"Removed audit {removed.audit} of {removed.started}\n")
    return 0


def _existing(place: HistoryPlace) -> HistoryPlace:
    if not place.exists:
        raise UsageError(f"history {place.label} does not exist")
    return place


_COPY_EPILOG = """\b
Examples:
  vnicaudit history copy postgresql://audit@db.example.org/vnicaudit
  vnicaudit history copy /backup/history.db"""


class CopyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history copy``."""

    destination: str
    place: HistoryOptions
    output: OutputOptions


@click.command("copy", cls=SectionedCommand, epilog=_COPY_EPILOG)
@click.argument("destination", metavar="PLACE")
@takes(CopyOptions)
def copy(options: CopyOptions) -> int:
    """Copy the history to another PLACE: a file, or postgresql://USER@HOST/DATABASE.

    PLACE must not have a history with audits yet. All is copied, or nothing.
    """
    place = history_place(options.destination, "")
    with (
        history_to_read(options.place.place) as history,
        history_to_write(place) as empty,
    ):
        rows = history.copy_to(empty)
    if not options.output.quiet:
        emit(safe(f"{count(rows, 'row')} copied to {place.label}") + "\n")
    return 0


_EXPORT_EPILOG = """\b
Examples:
  vnicaudit history export -o history.jsonl
  vnicaudit history export --since previous | zstd > $(date -I).jsonl.zst"""


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history export``."""

    destination: Annotated[
        str,
        option(
            "Write to this file, readable only by you; - is standard output.",
            "-o",
            "--output",
            metavar="FILE",
        ),
    ] = STDOUT
    since: Annotated[
        str | None,
        option(
            "Export only rows that audits after this one began or ended: an id, a date or time, "
            "latest or previous.",
            metavar="AUDIT",
        ),
    ] = None
    place: HistoryOptions
    output: OutputOptions


@click.command("export", cls=SectionedCommand, epilog=_EXPORT_EPILOG)
@takes(ExportOptions)
def export(options: ExportOptions) -> int:
    """Export the history as JSON lines, for a data warehouse.

    Each line is a row of a table: {"table": "nic", "row": {…}}.
    """
    check_not_compressed(options.destination)
    with (
        history_to_read(options.place.place) as history,
        ReportOutput(options.destination, private=True) as output,
    ):
        output.finish(history.export(options.since))
    return 0


_IMPORT_EPILOG = """\b
Examples:
  vnicaudit history import                 all stored results of `vnicaudit bench`
  vnicaudit history import flip.json"""


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history import``."""

    files: tuple[str, ...]
    place: HistoryOptions
    output: OutputOptions


@click.command("import", cls=SectionedCommand, epilog=_IMPORT_EPILOG)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@takes(ImportOptions)
def import_(options: ImportOptions) -> int:
    """Add results of `vnicaudit bench`: these files, or all those in the state directory.

    Changes are then ranked and shown with the gain that was measured for the same change.
    """
    with history_to_write(options.place.place) as history:
        added = history.add_measurements(_measurements(options))
    if not options.output.quiet:
        emit(f"{count(added, 'measurement')} added\n")
    return 0


def _measurements(options: ImportOptions) -> Iterator[BenchResult]:
    if options.files:
        yield from (from_file(Path(name)) for name in options.files)
        return
    state = Path(state_folder(options.place.state))
    for each in measurements.measurement_ids(state):
        yield measurements.stored_measurement(state, each).head()


_SQL_EPILOG = """\b
Examples:
  vnicaudit history sql
  sqlite3 -readonly ~/.local/state/vnicaudit/history.db \\
    "SELECT rule, count(*) FROM findings WHERE is_open = 1 GROUP BY rule" """


class SqlOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit history sql``."""

    place: HistoryOptions
    output: OutputOptions


@click.command("sql", cls=SectionedCommand, epilog=_SQL_EPILOG)
@takes(SqlOptions)
def sql(options: SqlOptions) -> int:
    """Print how to connect to the history read-only, and its views.

    Views keep their names and columns; the tables below them may change between versions.
    """
    place = options.place.place
    check_extras(place.kind)
    from vnicaudit.history.database import sql_text

    for text in sql_text(place):
        emit(text)
    return 0
