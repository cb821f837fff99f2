"""``--project``, ``--host``, ``--zone``, ``--aggregate``, ``--image``: select servers of a
cloud."""

from __future__ import annotations

from collections.abc import Iterable

import click
import msgspec

from vnicaudit.audit.reading.options import ServerFilter
from vnicaudit.audit.reading.targets import TargetKind, is_cloud
from vnicaudit.cli.options.records import group
from vnicaudit.errors import UsageError
from vnicaudit.text.cloud_names import CLOUD


class ServerOptions(msgspec.Struct, frozen=True):
    """Names or ids by which servers of a cloud are selected."""

    of_project: tuple[str, ...]
    of_host: tuple[str, ...]
    of_zone: tuple[str, ...]
    of_aggregate: tuple[str, ...]
    of_image: tuple[str, ...]


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
