"""``vnicaudit history trend``: counts of findings over time."""

from __future__ import annotations

from typing import Literal

import click
import msgspec

from vnicaudit.cli.history.prune import days_of
from vnicaudit.cli.options.output import OutputOptions, output_options, screen_options
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.history.opening import history_to_read
from vnicaudit.model.history import TrendRequest
from vnicaudit.reports.history.text import to_json, trend_csv, trend_text

_EPILOG = """\b
Examples:
  vnicaudit history trend
  vnicaudit history trend --by site --since 90d
  vnicaudit history trend --by all --rule VNIC001 --format csv"""


class TrendOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history trend``."""

    by: Literal["rule", "severity", "site", "owner", "all"]
    since: str | None
    rules: tuple[str, ...]
    severities: tuple[Literal["info", "low", "medium", "high", "error"], ...]
    sites: tuple[str, ...]
    owners: tuple[str, ...]
    format: Literal["text", "json", "csv"]
    place: HistoryOptions
    output: OutputOptions


@click.command("trend", cls=SectionedCommand, epilog=_EPILOG)
@click.option(
    "--by",
    type=click.Choice(["rule", "severity", "site", "owner", "all"]),
    default="rule",
    show_default=True,
    help="Attribute to count by; all: one line.",
)
@click.option("--since", metavar="TIME", help="Show audits of this period: 36h, 90d, 8w, 2y.")
@click.option(
    "--rule", "rules", multiple=True, metavar="ID", help=("Show only this rule. Repeatable.")
)
@click.option(
    "--severity",
    "severities",
    multiple=True,
    type=click.Choice(["info", "low", "medium", "high", "error"]),
    help="Report only these severities. Repeatable.",
)
@click.option(
    "--site", "sites", multiple=True, metavar="NAME", help=("Show only this site. Repeatable.")
)
@click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="NAME",
    help="Use only definitions of this owner (libvirt, nova, …). Repeatable.",
)
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", "json", "csv"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@history_options
@output_options
@as_record(TrendOptions)
def command(options: TrendOptions) -> int:
    """Show how many findings the fleet had at each audit, and how many were new or gone.

    Counts are for the whole fleet, even if an audit read only part of it. Findings on hosts that it
    did not reach keep their last known state and are also counted as stale.
    """
    days = None if options.since is None else days_of(options.since, "--since")
    with history_to_read(options.place.place) as history:
        trend = history.trend(_request(options, days))
    if options.format == "text":
        for text in trend_text(trend, screen_options(options.output)):
            emit(text)
    else:
        emit(to_json(trend) if options.format == "json" else trend_csv(trend))
    return 0


def _request(options: TrendOptions, days: float | None) -> TrendRequest:
    """The request for counts of the last ``days``."""
    rules = tuple(one.upper() for one in options.rules)
    return TrendRequest(options.by, days, rules, options.severities, options.sites, options.owners)
