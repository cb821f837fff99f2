"""``vnicaudit history show``: one audit, and what it changed."""

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
from vnicaudit.reports.history.text import details_text, to_json

_EPILOG = """\b
Examples:
  vnicaudit history show latest
  vnicaudit history show 20261122-101500-3f2a
  vnicaudit history show 2026-11-22 --format json"""


class ShowOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history show``."""

    audit: str
    format: Format
    place: HistoryOptions
    output: OutputOptions


@click.command("show", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("audit", metavar="AUDIT")
@format_option
@history_options
@output_options
@as_record(ShowOptions)
def command(options: ShowOptions) -> int:
    """Show one AUDIT: hosts that were not read, and findings that were new, reopened or gone.

    AUDIT is an id, a date or time (the last audit of the whole fleet up to then), latest or
    previous.
    """
    with history_to_read(options.place.place) as history:
        details = history.details(options.audit)
    if options.format == "json":
        emit(to_json(details))
    else:
        for text in details_text(details, screen_options(options.output)):
            emit(text)
    return 0
