"""Reads definitions on the hosts of a fleet, in parallel, for a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vnicaudit.fleet.running.engines.one_try import ReadHost
from vnicaudit.fleet.running.engines.threads import Threads
from vnicaudit.fleet.running.host_queue import HostQueue
from vnicaudit.fleet.running.host_reading import HostItems, HostReaders, ReadingLimits
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.host import Host
from vnicaudit.model.live import LiveDefinition, LiveOptions
from vnicaudit.model.report import ReadError

DefinitionItem = Host | LiveDefinition | ReadError


def read_definitions(
    hosts: Sequence[InventoryHost],
    read: ReadHost[DefinitionItem],
    live: LiveOptions,
    limits: ReadingLimits,
    on_host: Callable[[HostItems[DefinitionItem]], None],
) -> Iterator[tuple[InventoryHost, Iterator[DefinitionItem]]]:
    """Each host with its result, in the order in which they finish."""
    tasks = HostQueue(enumerate(hosts), limits.per_site)
    engine = Threads(read, live, limits.host_deadline)
    results = HostReaders[DefinitionItem](tasks, engine, limits).results()
    try:
        for done in results:
            on_host(done)
            yield done.host, iter(done.items)
    finally:
        results.close()
