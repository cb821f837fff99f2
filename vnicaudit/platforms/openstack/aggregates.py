"""``GET /os-aggregates``: which hosts an operator put together, and in which availability zone.

Source: Nova 34.0.0, ``api/openstack/compute/aggregates.py`` and ``policies/aggregates.py``: for
admins only, all in one answer (``limit`` is not looked at). The zone is a key of the metadata as
well (``objects/aggregate.py``).
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import Aggregate
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.pages import Listing, pages
from vnicaudit.platforms.openstack.refusals import take_all

_LISTING = Listing("compute", "/os-aggregates", "aggregates", None)
_ZONE = "availability_zone"
_MOST = 64
"""Aggregates of a host, and keys of an aggregate, that are kept."""


class Aggregates:
    """Aggregates by host. ``seen`` False: this user may not see them; None: they could not be
    read, and ``errors`` say why."""

    def __init__(self) -> None:
        self.seen: bool | None = None
        self.errors: list[ReadError] = []
        self._of: defaultdict[str, list[Aggregate]] = defaultdict(list)

    def add(self, raw: RawAggregate) -> None:
        """Keep one, with each of its hosts."""
        aggregate = _aggregate(raw)
        for host in dict.fromkeys(raw.hosts):
            if len(self._of[host]) < _MOST:
                self._of[host].append(aggregate)

    def of(self, host: str | None) -> tuple[Aggregate, ...]:
        """Those that a host is in, in Nova's order."""
        return () if host is None else tuple(self._of.get(host, ()))


class RawAggregate(msgspec.Struct):
    """One aggregate as Nova says it."""

    name: str
    zone: str | None = msgspec.field(name=_ZONE, default=None)
    hosts: list[str] = []
    metadata: dict[str, str] = {}


def read_aggregates(calls: Calls) -> Aggregates:
    """All of them, where this user may see them."""
    found = Aggregates()
    listed = pages(calls, _LISTING, json_decoder(RawAggregate))
    found.seen = take_all(listed, found.add, found.errors)
    return found


def _aggregate(raw: RawAggregate) -> Aggregate:
    keys = sorted(raw.metadata.items())[:_MOST]
    return Aggregate(
        plain(raw.name),
        plain(raw.zone or ""),
        tuple((plain(key), plain(value)) for key, value in keys if key != _ZONE),
    )
