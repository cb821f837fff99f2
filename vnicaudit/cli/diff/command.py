"""``vnicaudit diff``: what changed between two audit reports."""

from __future__ import annotations

from typing import Literal

import click
import msgspec

from vnicaudit.cli.diff.compare import FORMATS, compared, differences, notes, read_report
from vnicaudit.cli.options.output import OutputOptions, output_options, screen_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import STDOUT, ReportOutput, formats_of
from vnicaudit.errors import TargetError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Severity

_EPILOG = """\b
Examples:
  vnicaudit audit qemu:///system -o today.json
  vnicaudit diff yesterday.json today.json
  vnicaudit diff yesterday.json today.json -v            also findings that are still there
  vnicaudit diff yesterday.json today.json --fail-on high
  vnicaudit diff yesterday.json today.json -o change.md

\b
Exit codes: 0 nothing new, 1 a new or worse finding at or above --fail-on (hints of low confidence
do not count), 2 usage, or a file that is not a report, 4 NEW did not judge all of OLD again."""

_FORMATS = ("text", "json", "csv", "markdown")


class DiffOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit diff``."""

    old: str
    new: str
    format: Literal["text", "json", "csv", "markdown"] | None
    place: str | None
    fail_on: Severity | Literal["never"]
    output: OutputOptions


@click.command("diff", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("old", metavar="OLD", type=click.Path(dir_okay=False))
@click.argument("new", metavar="NEW", type=click.Path(dir_okay=False))
@click.option(
    "--format",
    "format",
    type=click.Choice(_FORMATS),
    help="Output format.  [default: text]",
)
@click.option(
    "-o",
    "--output",
    "place",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write to FILE; - is standard output. Without --format, the suffix decides the format.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, "never"]),
    default="low",
    show_default=True,
    help="Lowest severity that makes the exit code 1.",
)
@output_options
@as_record(DiffOptions)
def command(options: DiffOptions) -> int:
    """Compare two JSON reports: findings that are new, worse, gone or still there.

    OLD and NEW are reports of `vnicaudit audit --format json`. A finding counts as gone only if NEW
    read its target completely, judged its rule, and was not limited by --severity, --owner,
    --min-confidence or a baseline. Otherwise it is listed as not judged again.

    A report records which rules, files and servers were asked for, so what --select, --ignore,
    --exclude and --changed-since kept out of NEW is not gone either.
    """
    old, new = read_report(options.old), read_report(options.new)
    found = compared(old, new)
    record = differences(options.old, options.new, found, tuple(notes(old, new)))
    place = options.place or STDOUT
    (name,) = formats_of((options.format,) if options.format else (), (place,), _FORMATS)
    with ReportOutput(place) as report:
        report.finish(FORMATS[name](record, screen_options(options.output)))
    if record.counts["unknown"]:
        return TargetError.exit_code
    worse = [one.finding for one in found if one.state in ("new", "worse")]
    least = len(SEVERITIES) if options.fail_on == "never" else SEVERITIES.index(options.fail_on)
    return int(
        any(
            SEVERITIES.index(one.severity) >= least and one.confidence != CONFIDENCES[0]
            for one in worse
        )
    )
