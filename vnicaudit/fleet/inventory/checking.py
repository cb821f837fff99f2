"""Tries the connection to each host of an inventory, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.failure import FailureKind, failure_kind
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.live import LiveOptions

Probe = Callable[[str, LiveOptions], str]
"""Connects to a host and leaves: what answers. Raises TargetError."""


class HostCheck(msgspec.Struct, frozen=True):
    """The result of trying one host: ``answer`` says who answered, ``error`` why nobody did, of
    the kind ``failure``."""

    answer: str = ""
    error: str = ""
    failure: FailureKind | None = None


def checked(
    hosts: Sequence[InventoryHost], probe: Probe, live: LiveOptions, parallel: int
) -> Iterator[HostCheck]:
    """The result for each host, in their order; so many are tried at once."""
    pool = ThreadPoolExecutor(max(1, min(parallel, len(hosts))), "check")
    try:
        yield from pool.map(lambda host: _checked(host, probe, live), hosts)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _checked(host: InventoryHost, probe: Probe, live: LiveOptions) -> HostCheck:
    own = host.options.deadline
    options = live if own is None else msgspec.structs.replace(live, deadline=own)
    try:
        return HostCheck(probe(host.uri, options))
    except TargetError as error:
        return HostCheck(error=error.message, failure=failure_kind(error.failure))
