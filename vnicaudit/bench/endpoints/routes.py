"""By which way a machine reaches an address: what ``ip -j route get`` prints.

Fields are those of iproute2 (ip/iproute.c, print_route): ``gateway`` or ``via`` where there is a
router, ``type`` where the route is not an ordinary one, ``dev``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from vnicaudit.model.decoding import json_as

_LINE_MAX = 65536


class Way(Enum):
    """How an address is reached."""

    LINK = "on a link"
    ROUTER = "behind a router"
    LOCAL = "here"
    NONE = "not at all"


class _Route(msgspec.Struct, frozen=True):
    dev: str = ""
    type: str = "unicast"
    gateway: object = None
    via: object = None


def ways(text: str, asked: Sequence[str]) -> dict[str, Way] | None:
    """The way to each address that was asked for; ``text`` has one line for each, in that order.
    None where it has not."""
    lines = text.strip().splitlines()
    if len(lines) != len(asked):
        return None
    return {address: _way(line) for address, line in zip(asked, lines, strict=True)}


def _way(line: str) -> Way:
    try:
        routes = json_as(line[:_LINE_MAX].encode(), list[_Route])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Way.NONE
    if not routes:
        return Way.NONE
    route = routes[0]
    if route.type == "local" or route.dev == "lo":
        return Way.LOCAL
    if route.type != "unicast":
        return Way.NONE
    return Way.LINK if route.gateway is None and route.via is None else Way.ROUTER
