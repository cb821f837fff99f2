"""Options that select findings, NICs and servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, get_args

import click
import msgspec

from vnicaudit.audit.accepting.baseline import FindingFilter
from vnicaudit.audit.reading.selection import ServerFilter
from vnicaudit.audit.reading.targets import TargetKind, is_cloud
from vnicaudit.audit.settings.keys import Level
from vnicaudit.base.wording import close_to, shortened
from vnicaudit.cli.options.records import option
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Confidence, KnownOwner
from vnicaudit.text.targets import CLOUD

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry

# ``--level``, ``--owner``, ``--domain``, ``--nic``: select findings.


_BESIDE_DEFINITIONS = ("host", "vnicaudit")
"""Owners of findings that are not about a definition."""


def _owner_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Known owners, for the Tab key."""
    del context, parameter
    known = (*get_args(KnownOwner), *_BESIDE_DEFINITIONS)
    return [name for name in known if name.startswith(incomplete.lower())]


OwnersOption = Annotated[
    tuple[str, ...],
    option(
        "Use only definitions of this owner (libvirt, nova, kubevirt, host…). Repeatable.",
        "--owner",
        metavar="NAME",
        shell_complete=_owner_names,
    ),
]
"""``--owner``; its values are interpreted by :func:`owners_of`."""

LevelOption = Annotated[
    Level | None,
    option(
        "Report only findings of this severity or above; only they make the exit code 1. never: "
        "report all, and fail for none.  [default: report all, fail from low]",
        env=True,
    ),
]
"""``--level``, for every command that reports findings."""

DomainsOption = Annotated[
    tuple[str, ...],
    option(
        "Use only this domain, server, image or flavor (name or UUID). Repeatable.",
        "--domain",
        metavar="NAME",
    ),
]
MacsOption = Annotated[
    tuple[str, ...], option("Use only this NIC. Repeatable.", "--nic", metavar="MAC")
]
"""``--nic``, for the commands that apply a plan or undo a run."""


class FindingOptions(msgspec.Struct, frozen=True):
    """The findings to report; an empty field selects all. ``level``: also those that fail the
    run."""

    level: LevelOption = None
    owners: OwnersOption = ()
    domains: DomainsOption = ()
    nics: Annotated[
        tuple[str, ...],
        option(
            "Report only findings about this NIC: its MAC address, its index in the domain (from "
            "0), or its tap. Repeatable.",
            "--nic",
            metavar="MAC|INDEX|DEV",
        ),
    ] = ()


def filter_of(
    options: FindingOptions, level: Level, confidence: Confidence | None, owners: frozenset[str]
) -> FindingFilter:
    """The filter selected by the options; ``level`` and ``confidence`` also come from the
    settings. Raises UsageError for an empty name."""
    for name, values in (("--domain", options.domains), ("--nic", options.nics)):
        if not all(value.strip() for value in values):
            raise UsageError(f"{name} needs a name")
    return FindingFilter(
        SEVERITIES[0] if level == "never" else level,
        confidence or CONFIDENCES[0],
        owners,
        frozenset(options.domains),
        frozenset((*options.nics, *map(str.lower, options.nics))),
    )


def options_of(finding_filter: FindingFilter) -> str:
    """The options that set a filter, for use in a sentence: ``--level and --owner``."""
    used = {
        "--level": finding_filter.level != SEVERITIES[0],
        "confidence": finding_filter.confidence != CONFIDENCES[0],
        "--owner": finding_filter.owners,
        "--domain": finding_filter.domains,
        "--nic": finding_filter.nics,
    }
    return " and ".join(name for name, values in used.items() if values)


def owners_of(values: Iterable[str], platforms: PlatformRegistry) -> frozenset[str]:
    """The owners named by ``--owner``, in lower case. Raises UsageError for an owner that is
    unknown to vnicaudit and its platforms."""
    brought = (name for one in platforms.all for name in one.wordings)
    known = list(map(str.lower, (*get_args(KnownOwner), *_BESIDE_DEFINITIONS, *brought)))
    owners = frozenset(map(str.lower, values))
    for name in sorted(owners.difference(known)):
        hint = close_to(name, known) or f"; use {', '.join(known)}"
        raise UsageError(f"--owner: unknown owner {shortened(name)!r}{hint}")
    return owners


# ``--project``, ``--host``, ``--zone``, ``--aggregate``, ``--image``: select servers of a cloud.


class ServerOptions(msgspec.Struct, frozen=True):
    """Names or ids by which servers of a cloud are selected."""

    of_project: Annotated[
        tuple[str, ...],
        option(
            "Read only servers of this project, with their images and flavors. Repeatable, like "
            "the other cloud filters: a server must match one value of each filter that is used.",
            "--project",
            metavar="NAME|ID",
        ),
    ] = ()
    of_host: Annotated[
        tuple[str, ...],
        option("Read only servers on this compute node (admins only).", "--host", metavar="NAME"),
    ] = ()
    of_zone: Annotated[
        tuple[str, ...],
        option("Read only servers in this availability zone.", "--zone", metavar="NAME"),
    ] = ()
    of_aggregate: Annotated[
        tuple[str, ...],
        option(
            "Read only servers on hosts of this aggregate (admins only).",
            "--aggregate",
            metavar="NAME",
        ),
    ] = ()
    of_image: Annotated[
        tuple[str, ...],
        option(
            "Read only this image and the servers created from it.", "--image", metavar="NAME|ID"
        ),
    ] = ()


def wanted_of(servers: ServerOptions) -> ServerFilter:
    """The requested servers. Raises UsageError for an empty name."""
    wanted = ServerFilter(*msgspec.structs.astuple(servers))
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
