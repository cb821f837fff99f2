"""Options that select findings, NICs and servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, get_args

import click
import msgspec

from vnicaudit.audit.accepting.baseline import FindingFilter
from vnicaudit.audit.reading.selection import ServerFilter
from vnicaudit.audit.reading.targets import TargetKind, is_cloud
from vnicaudit.base.wording import close_to, shortened
from vnicaudit.cli.options.records import group
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Confidence, KnownOwner, Severity
from vnicaudit.text.targets import CLOUD

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry

# ``--severity``, ``--min-confidence``, ``--owner``: select findings.


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


# ``--domain`` and ``--nic``: filters by name.


domain_option = click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="Use only this domain, server, image or flavor (name or UUID). Repeatable.",
)

nic_option = click.option(
    "--nic", "macs", multiple=True, metavar="MAC", help="Use only this NIC. Repeatable."
)
"""``--nic``, for the commands that apply a plan or undo a run."""


# ``--project``, ``--host``, ``--zone``, ``--aggregate``, ``--image``: select servers of a cloud.


class ServerOptions(msgspec.Struct, frozen=True):
    """Names or ids by which servers of a cloud are selected."""

    of_project: tuple[str, ...] = ()
    of_host: tuple[str, ...] = ()
    of_zone: tuple[str, ...] = ()
    of_aggregate: tuple[str, ...] = ()
    of_image: tuple[str, ...] = ()


cloud_filter_options = group(
    "servers",
    ServerOptions,
    click.option(
        "--project",
        "of_project",
        multiple=True,
        metavar="NAME|ID",
        help="Read only servers of this project, with their images and flavors. Repeatable, like "
        "the other cloud filters: a server must match one value of each filter that is used.",
    ),
    click.option(
        "--host",
        "of_host",
        multiple=True,
        metavar="NAME",
        help="Read only servers on this compute node (admins only).",
    ),
    click.option(
        "--zone",
        "of_zone",
        multiple=True,
        metavar="NAME",
        help="Read only servers in this availability zone.",
    ),
    click.option(
        "--aggregate",
        "of_aggregate",
        multiple=True,
        metavar="NAME",
        help="Read only servers on hosts of this aggregate (admins only).",
    ),
    click.option(
        "--image",
        "of_image",
        multiple=True,
        metavar="NAME|ID",
        help="Read only this image and the servers created from it.",
    ),
)
"""Options of the commands that audit a whole cloud."""


def wanted_of(servers: ServerOptions) -> ServerFilter:
    """The requested servers. Raises UsageError for an empty name."""
    wanted = ServerFilter(
        servers.of_project,
        servers.of_host,
        servers.of_zone,
        servers.of_aggregate,
        servers.of_image,
    )
    for kind, values in wanted.values_by_kind.items():
        if not all(value.strip() for value in values):
            raise UsageError(f"--{kind} needs a name")
    return wanted


def check_filters(
    wanted: ServerFilter, targets: Iterable[str], known: tuple[TargetKind, ...]
) -> None:
    """Raises UsageError if servers are selected but no target is a cloud. ``known``: kinds of
    targets."""
    named = [f"--{kind}" for kind in wanted.values_by_kind]
    if named and not any(is_cloud(target, known) for target in targets):
        verb = "is" if len(named) == 1 else "are"
        raise UsageError(
            f"{', '.join(named)} {verb} for clouds only, and no target is a cloud ({CLOUD}CLOUD)"
        )
