"""``vnicaudit history status``: list the stored audits."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.history.opening import history_to_read
from vnicaudit.reports.history.text import status_text, to_json

_EPILOG = """\b
Examples:
  vnicaudit history
  vnicaudit history status --last 5 --format json
  vnicaudit history status --history postgresql://audit@db.example.org/vnicaudit"""


class StatusOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history status``."""

    last: int
    format: Format
    place: HistoryOptions
    output: OutputOptions


@click.command("status", cls=SectionedCommand, epilog=_EPILOG)
@click.option(
    "--last",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="NUMBER",
    help="List this many audits; 0 means all.",
)
@format_option
@history_options
@output_options
@as_record(StatusOptions)
def command(options: StatusOptions) -> int:
    """List the audits of the fleet, newest first, and the size and stale part of the history.

    Counts of findings are for the whole fleet after each audit. Stale findings are on hosts, or of
    rules, that the audit did not cover.
    """
    with history_to_read(options.place.place) as history:
        status = history.status(options.last or None)
    if options.format == "json":
        emit(to_json(status))
    else:
        for text in status_text(status, screen_options(options.output)):
            emit(text)
    return 0
