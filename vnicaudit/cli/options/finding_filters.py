"""``--severity``, ``--min-confidence``, ``--owner``: select findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, get_args

import click
import msgspec

from vnicaudit.audit.accepting.finding_filter import FindingFilter
from vnicaudit.base.wording import close_to, shortened
from vnicaudit.cli.options.records import group
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Confidence, Severity
from vnicaudit.model.owner import KnownOwner

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry

_BESIDE_DEFINITIONS = ("host", "vnicaudit")
"""Owners of findings that are not about a definition."""


class FindingOptions(msgspec.Struct, frozen=True):
    """The findings to select; an empty field selects all."""

    severities: tuple[str, ...] = ()
    min_confidence: Confidence | None = None
    owners: tuple[str, ...] = ()


def _owner_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Known owners, for the Tab key."""
    del context, parameter
    known = (*get_args(KnownOwner), *_BESIDE_DEFINITIONS)
    return [name for name in known if name.startswith(incomplete.lower())]


owner_option = click.option(
    "--owner",
    "owners",
    multiple=True,
    metavar="NAME",
    shell_complete=_owner_names,
    help="Use only definitions of this owner (libvirt, nova, kubevirt, host…). Repeatable.",
)
"""``--owner``; its values are interpreted by :func:`owners_of`."""

finding_options = group(
    "findings",
    FindingOptions,
    click.option(
        "--severity",
        "severities",
        envvar="VNICAUDIT_SEVERITY",
        multiple=True,
        metavar="SEVERITY",
        help=f"Report only these severities ({', '.join(SEVERITIES)}). Repeatable, or separated "
        "by commas. The others are only counted and do not fail the run.",
    ),
    click.option(
        "--min-confidence",
        envvar="VNICAUDIT_MIN_CONFIDENCE",
        type=click.Choice(CONFIDENCES),
        help="Report only findings with at least this confidence.",
    ),
    owner_option,
)
"""Options of the commands that report findings."""


def filter_of(options: FindingOptions, platforms: PlatformRegistry) -> FindingFilter:
    """The filter selected by the options. Raises UsageError for an unknown severity or owner."""
    owners = owners_of(options.owners, platforms)
    return FindingFilter(
        frozenset(_severities(options.severities)), options.min_confidence or "low", owners
    )


def options_of(finding_filter: FindingFilter) -> str:
    """The options that set a filter, for use in a sentence: ``--severity and --owner``."""
    used = {
        "--severity": finding_filter.severities,
        "--min-confidence": finding_filter.confidence != CONFIDENCES[0],
        "--owner": finding_filter.owners,
    }
    return " and ".join(option for option, values in used.items() if values)


def owners_of(values: Iterable[str], platforms: PlatformRegistry) -> frozenset[str]:
    """The owners named by ``--owner``, in lower case. Raises UsageError for an owner that is
    unknown to vnicaudit and its platforms."""
    brought = (name for one in platforms.registered for name in one.wordings)
    known = list(map(str.lower, (*get_args(KnownOwner), *_BESIDE_DEFINITIONS, *brought)))
    owners = frozenset(map(str.lower, values))
    for name in sorted(owners.difference(known)):
        hint = close_to(name, known) or f"; use {', '.join(known)}"
        raise UsageError(f"--owner: unknown owner {shortened(name)!r}{hint}")
    return owners


def _severities(values: Iterable[str]) -> Iterator[Severity]:
    for word in filter(None, (part.strip() for value in values for part in value.split(","))):
        for severity in SEVERITIES:
            if severity == word.lower():
                yield severity
                break
        else:
            hint = close_to(word, SEVERITIES) or f"; use {', '.join(SEVERITIES)}"
            raise UsageError(f"--severity: unknown severity {word!r}{hint}")
