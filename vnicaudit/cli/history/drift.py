"""``vnicaudit drift``: differences between two audits."""

from __future__ import annotations

from typing import Literal

import click
import msgspec

from vnicaudit.cli.options.output import OutputOptions, output_options, screen_options
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.history.opening import history_to_read
from vnicaudit.reports.history.text import drift_csv, drift_markdown, drift_text, to_json

_EPILOG = """\b
Examples:
  vnicaudit drift previous latest
  vnicaudit drift 2026-11-01 2026-11-22 --format markdown
  vnicaudit drift 20261121-101500-3f2a latest --format json"""


class DriftOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit drift``."""

    before: str
    after: str
    format: Literal["text", "json", "csv", "markdown"]
    place: HistoryOptions
    output: OutputOptions


@click.command("drift", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json", "csv", "markdown"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@history_options
@output_options
@as_record(DriftOptions)
def command(options: DriftOptions) -> int:
    """Compare two audits: NICs that appeared, disappeared or changed, and findings.

    BEFORE and AFTER are ids of audits, dates or times (the last audit of the whole fleet up to
    then), latest or previous. Only hosts that both audits read, and rules that both ran, are
    compared.
    """
    with history_to_read(options.place.place) as history:
        drift = history.drift(options.before, options.after)
    if options.format == "text":
        pieces = drift_text(drift, screen_options(options.output))
    elif options.format == "markdown":
        pieces = drift_markdown(drift)
    else:
        pieces = iter([to_json(drift) if options.format == "json" else drift_csv(drift)])
    for text in pieces:
        emit(text)
    return 0
