"""``--severity``, ``--min-confidence``, ``--owner``: only some findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
import msgspec

from vnicaudit.audit.accepting.finding_filter import FindingFilter
from vnicaudit.base.wording import close_to
from vnicaudit.cli.options.records import group
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Confidence, Severity


class FindingOptions(msgspec.Struct, frozen=True):
    """The findings that are wanted; empty: all."""

    severities: tuple[str, ...] = ()
    min_confidence: Confidence | None = None
    owners: tuple[str, ...] = ()


finding_options = group(
    "findings",
    FindingOptions,
    click.option(
        "--severity",
        "severities",
        envvar="VNICAUDIT_SEVERITY",
        multiple=True,
        metavar="SEVERITY",
        help=f"Only these severities ({', '.join(SEVERITIES)}); repeatable or "
        "with commas. The others are counted and fail nothing.",
    ),
    click.option(
        "--min-confidence",
        envvar="VNICAUDIT_MIN_CONFIDENCE",
        type=click.Choice(CONFIDENCES),
        help="Report findings of at least this confidence only.",
    ),
    click.option(
        "--owner",
        "owners",
        multiple=True,
        metavar="NAME",
        help="Only definitions of this owner (libvirt, nova, kubevirt, host…). Repeatable.",
    ),
)
"""Of the command that reports findings of targets."""


def filter_of(options: FindingOptions) -> FindingFilter:
    """The filter that the options ask for. Raises UsageError for a severity that does not exist."""
    owners = frozenset(map(str.lower, options.owners))
    return FindingFilter(
        frozenset(_severities(options.severities)), options.min_confidence or "low", owners
    )


def _severities(values: Iterable[str]) -> Iterator[Severity]:
    for word in filter(None, (part.strip() for value in values for part in value.split(","))):
        for severity in SEVERITIES:
            if severity == word.lower():
                yield severity
                break
        else:
            hint = close_to(word, SEVERITIES) or f"; one of {', '.join(SEVERITIES)}"
            raise UsageError(f"--severity: there is no severity {word!r}{hint}")
