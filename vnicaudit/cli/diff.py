"""``vnicaudit diff``: what changed between two audits, from their reports or from the history."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Literal

import click
import msgspec

from vnicaudit.audit.settings.keys import Level
from vnicaudit.cli.diff_compare import (
    compared,
    differences,
    notes,
    read_report,
    report_differences,
)
from vnicaudit.cli.options.filters import LevelOption
from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.cli.options.output import OutputFileOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import STDOUT, ReportOutput, formats_of
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.history import history_to_read
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Finding
from vnicaudit.model.history import FindingRecord
from vnicaudit.reports.differences import FORMATS, Differences
from vnicaudit.reports.history import drift_differences

_EPILOG = """\b
Examples:
  vnicaudit diff yesterday.json today.json               reports of `vnicaudit audit -o`
  vnicaudit diff yesterday.json today.json -v            also findings that are still there
  vnicaudit diff previous latest                         stored audits of a fleet
  vnicaudit diff 2026-11-01 2026-11-22 -o change.md --level high

\b
Exit codes: 0 nothing new, 1 a new or worse finding at or above --level (hints of low confidence do
not count), 2 usage, or a file that is not a report, 4 NEW did not judge all of OLD again."""

_NEW = ("new", "worse", "reopened", "returned")
"""States of findings that OLD did not have, or not as bad."""


class DiffOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit diff``."""

    old: str
    new: str
    format: Annotated[
        Literal["text", "json", "csv", "markdown"] | None,
        option("Output format.  [default: text]"),
    ] = None
    output_file: OutputFileOption = None
    level: LevelOption = None
    place: HistoryOptions
    output: OutputOptions


@click.command("diff", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@takes(DiffOptions)
def command(options: DiffOptions) -> int:
    """Compare two audits: what is new, worse, fixed, gone or moved.

    OLD and NEW are files from `vnicaudit audit --format json`, or audits in the history: ids, dates
    or times (the last audit of the whole fleet up to then), latest or previous.

    Of reports, a finding counts as gone only if NEW read its target completely, judged its rule,
    and left nothing out (--select, --exclude, --level, a baseline and similar); otherwise it is
    listed as not judged again. Of stored audits, NICs are compared too, on hosts that both read,
    and rules that both ran.
    """
    found, worse, is_judged = (_reports if _are_files(options) else _stored)(options)
    place = options.output_file or STDOUT
    given = (options.format,) if options.format else ()
    (name,) = formats_of(given, (place,), tuple(FORMATS))
    with ReportOutput(place) as report:
        report.finish(FORMATS[name](found, screen_options(options.output)))
    if not is_judged:
        return TargetError.exit_code
    if options.level == "never":
        return 0
    least = options.level or "low"
    fails = (_is_shown(one, least) and one.confidence != CONFIDENCES[0] for one in worse)
    return int(any(fails))


def _is_shown(finding: Finding | FindingRecord, level: Level | None) -> bool:
    """True for a finding at or above the level."""
    if level is None or level == "never":
        return True
    return SEVERITIES.index(finding.severity) >= SEVERITIES.index(level)


def _are_files(options: DiffOptions) -> bool:
    """False: both are audits of the history. Raises UsageError for one of each."""
    files = [
        os.path.exists(name) or "/" in name or name.endswith(".json")
        for name in (options.old, options.new)
    ]
    if any(files) and not all(files):
        name = options.old if files[1] else options.new
        raise UsageError(f"{name}: no such file; compare two reports, or two stored audits")
    return all(files)


_Compared = tuple[Differences, Iterable[Finding | FindingRecord], bool]
"""The differences; findings that are new or worse; False: not all was judged again."""


def _reports(options: DiffOptions) -> _Compared:
    old, new = read_report(options.old), read_report(options.new)
    # what was not judged again is told whatever its level: NEW is no whole audit
    found = [
        one
        for one in compared(old, new)
        if one.state == "unknown" or _is_shown(one.finding, options.level)
    ]
    record = differences(options.old, options.new, found, tuple(notes(old, new)))
    worse = [one.finding for one in found if one.state in _NEW]
    return report_differences(record), worse, not record.counts["unknown"]


def _stored(options: DiffOptions) -> _Compared:
    with history_to_read(options.place.place) as history:
        drift = history.drift(options.old, options.new)
    shown = tuple(one for one in drift.findings if _is_shown(one, options.level))
    drift = msgspec.structs.replace(drift, findings=shown)
    worse = [one for one in drift.findings if one.state in _NEW]
    return drift_differences(drift), worse, True
