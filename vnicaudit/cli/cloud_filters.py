"""``--project``, ``--host``, ``--zone``, ``--aggregate``, ``--image``: only some servers of a
cloud."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from vnicaudit.audit.chosen import Wanted
from vnicaudit.audit.targets import CLOUD
from vnicaudit.cli.options import together
from vnicaudit.errors import UsageError

_KINDS = ("project", "host", "zone", "aggregate", "image")

cloud_filter_options = together(
    click.option(
        "--project",
        "of_project",
        multiple=True,
        metavar="NAME|ID",
        help="Of a cloud: only servers of this project. Repeatable, like the others of its kind: "
        "one of several projects, and each of the other kinds that are given. Images and flavors "
        "are those of these servers.",
    ),
    click.option(
        "--host",
        "of_host",
        multiple=True,
        metavar="NAME",
        help="Of a cloud: only servers on this compute node (for admins).",
    ),
    click.option(
        "--zone",
        "of_zone",
        multiple=True,
        metavar="NAME",
        help="Of a cloud: only servers in this availability zone.",
    ),
    click.option(
        "--aggregate",
        "of_aggregate",
        multiple=True,
        metavar="NAME",
        help="Of a cloud: only servers on hosts of this aggregate (for admins).",
    ),
    click.option(
        "--image",
        "of_image",
        multiple=True,
        metavar="NAME|ID",
        help="Of a cloud: only servers made of this image, and the image.",
    ),
)
"""Of the commands that judge a cloud as a whole."""


def wanted_of(given: dict[str, Any]) -> Wanted:
    """Which servers were asked for. Raises UsageError for a name that is empty."""
    wanted = Wanted(*(given.get(f"of_{kind}", ()) for kind in _KINDS))
    for kind, values in wanted.given.items():
        if not all(value.strip() for value in values):
            raise UsageError(f"--{kind}: give a name")
    return wanted


def check_filters(wanted: Wanted, targets: Iterable[str]) -> None:
    """Raises UsageError where there is no cloud whose servers could be chosen."""
    kinds = [f"--{kind}" for kind in wanted.given]
    if kinds and not any(target.startswith(CLOUD) for target in targets):
        verb = "is" if len(kinds) == 1 else "are"
        raise UsageError(
            f"{', '.join(kinds)} {verb} for servers of a cloud ({CLOUD}CLOUD), and no target is one"
        )
