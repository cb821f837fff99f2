"""Tries the connection to each host of an inventory, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from vnicaudit.audit.reading.side_by_side import read_ahead
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.live import LiveOptions
from vnicaudit.model.report import FailureKind, failure_kind

Probe = Callable[[str, LiveOptions], str]
"""Connects to a host and disconnects; returns what answered. Raises TargetError."""


class HostCheck(msgspec.Struct, frozen=True):
    """The result of trying one host. ``answer``: what answered. ``error``: why nothing answered.
    ``failure``: the kind of that error."""

    answer: str = ""
    error: str = ""
    failure: FailureKind | None = None


def checked(
    hosts: Sequence[InventoryHost], probe: Probe, live: LiveOptions, parallel: int
) -> Iterator[HostCheck]:
    """The result for each host, in their order. ``parallel``: number tried at once."""
    tries = [partial(_checked, host, probe, live) for host in hosts]
    for result in read_ahead(tries, max(1, parallel)):
        yield from result


def _checked(host: InventoryHost, probe: Probe, live: LiveOptions) -> Iterator[HostCheck]:
    own = host.options.deadline
    options = live if own is None else msgspec.structs.replace(live, deadline=own)
    try:
        yield HostCheck(probe(host.uri, options))
    except TargetError as error:
        yield HostCheck(error=error.message, failure=failure_kind(error.failure))
