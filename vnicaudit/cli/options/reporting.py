"""Options of every auditing command: which rules run, where reports go, and which findings fail the
run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click
import msgspec

from vnicaudit.cli.options.candidates import rules
from vnicaudit.cli.options.records import group
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Confidence, Severity
from vnicaudit.reports.formats import formats
from vnicaudit.reports.writer import GROUP_BY, SORT_BY, VIEWS, GroupBy, SortBy, View

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class ReportingOptions(msgspec.Struct, frozen=True):
    """Reports and their places, rules, what fails the run, and the baseline."""

    formats: tuple[str, ...]
    outputs: tuple[str, ...]
    group_by: GroupBy | None
    view: View
    sort: SortBy
    most: int | None
    selected: tuple[str, ...]
    ignored: tuple[str, ...]
    fail_on: Severity | Literal["never"] | None
    fail_confidence: Confidence | None
    baseline: str | None
    write_baseline: str | None


def _rules(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    return rules(context, parameter, incomplete)


reporting_options = group(
    "reporting",
    ReportingOptions,
    click.option(
        "--format",
        "formats",
        envvar="VNICAUDIT_FORMAT",
        multiple=True,
        metavar="FORMAT",
        type=click.Choice(formats()),
        help=f"One of {', '.join(formats())}; repeatable, one for each --output.  [default: text]",
    ),
    click.option(
        "-o",
        "--output",
        "outputs",
        envvar="VNICAUDIT_OUTPUT",
        multiple=True,
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Write the report to FILE; - is standard output. Without --format, the suffix decides "
        "the format. Repeatable.",
    ),
    click.option(
        "--group-by",
        type=click.Choice(GROUP_BY),
        help="Merge equal findings into one entry with a count, some names and the fix, grouped by "
        "rule or by subject. For text and markdown; other formats list each finding.",
    ),
    click.option(
        "--view",
        envvar="VNICAUDIT_VIEW",
        type=click.Choice(VIEWS),
        default="auto",
        show_default=True,
        help="Length of the text report. full: each finding. short: a summary, then equal findings "
        "merged, worst first. auto: full up to 10 findings, short for more.",
    ),
    click.option(
        "--sort",
        type=click.Choice(SORT_BY),
        default="severity",
        show_default=True,
        help="Order of grouped findings: worst first, most frequent first, or by name.",
    ),
    click.option(
        "--max",
        "most",
        type=click.IntRange(min=1),
        metavar="N",
        help="Show at most N groups, or the N worst findings in a full listing; count the rest. "
        "For text and concise.",
    ),
    click.option(
        "--select",
        "selected",
        shell_complete=_rules,
        envvar="VNICAUDIT_SELECT",
        multiple=True,
        metavar="RULE",
        help="Rules to run: ids, prefixes of ids, names or groups. Repeatable, or separated by "
        "commas.",
    ),
    click.option(
        "--ignore",
        "ignored",
        shell_complete=_rules,
        envvar="VNICAUDIT_IGNORE",
        multiple=True,
        metavar="RULE",
        help="Rules to skip: named as for --select.",
    ),
    click.option(
        "--fail-on",
        envvar="VNICAUDIT_FAIL_ON",
        type=click.Choice([*SEVERITIES, "never"]),
        help="Lowest severity that makes the exit code 1; never: errors alone fail the run.  "
        "[default: low]",
    ),
    click.option(
        "--fail-confidence",
        envvar="VNICAUDIT_FAIL_CONFIDENCE",
        type=click.Choice(CONFIDENCES),
        help="Lowest confidence that makes the exit code 1. Hints (low confidence) are reported "
        "but do not fail the run by default.  [default: medium]",
    ),
    click.option(
        "--baseline",
        envvar="VNICAUDIT_BASELINE",
        metavar="FILE",
        type=click.Path(),
        help="Report only findings that are not in this report or baseline file.",
    ),
    click.option(
        "--write-baseline",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="Write every finding to a baseline file and exit 0.",
    ),
)
"""Options of every command that audits."""
