"""The hosts of an inventory (``-i``), and the engine that reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from vnicaudit.audit.reading.targets import expanded_targets, unique_targets
from vnicaudit.base.deadlines import standard_input
from vnicaudit.cli.fleet.dask_worker import read_host, version
from vnicaudit.cli.options.environment import Environment, environment
from vnicaudit.cli.options.reading import InventoryOptions
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.output.reading_progress import awaited_input
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.fleet.dask import Dask, TlsFiles
from vnicaudit.fleet.host_reading import HostItems, Threads, read_in_order
from vnicaudit.fleet.inventory_sources import STDIN, Sources, read_inventory
from vnicaudit.fleet.own_format import (
    Inventory,
    LimitedHosts,
    SourceHost,
    SourceHosts,
)
from vnicaudit.model.fleet import InventoryHost, LiveOptions
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem, Target
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.fleet.host_reading import ReadHost, ReadingEngine
    from vnicaudit.model.runs import ComputeNode
    from vnicaudit.reports.redaction import Redactor


class ChosenHosts(msgspec.Struct, frozen=True):
    """An inventory, and the hosts of it selected by ``--limit``. ``unmatched``: patterns of
    ``--limit`` that match nothing."""

    inventory: Inventory
    hosts: tuple[InventoryHost, ...]
    unmatched: tuple[str, ...] = ()


def chosen_hosts(
    options: InventoryOptions, live: LiveOptions, wiring: Wiring, *, quiet: bool = False
) -> ChosenHosts:
    """Read the inventory and apply ``--limit``. Raises UsageError if no host is left, or if the URI
    of one cannot be read live; MissingExtraError if that needs a package that is not installed."""
    platforms = wiring.platforms()
    sources = Sources(
        cloud=partial(_cloud_hosts, live, platforms),
        stdin=standard_input(),
        template=options.uri,
        trusted=frozenset(options.trusted_uris),
    )
    with awaited_input(quiet=quiet) if STDIN in options.inventories else nullcontext():
        inventory = read_inventory(options.inventories, sources)
    chosen = ChosenHosts(inventory, inventory.hosts)
    if options.limit:
        limited = LimitedHosts(inventory.hosts, inventory.groups)
        chosen = ChosenHosts(inventory, limited.limited(options.limit), tuple(limited.unmatched))
    for host in chosen.hosts:
        _check_host(host, platforms)
    return chosen


def _check_host(host: InventoryHost, platforms: PlatformRegistry) -> None:
    try:
        (target,) = unique_targets([host.uri], platforms.targets)
    except MissingExtraError:
        raise
    except UsageError as error:
        raise UsageError(f"{host.source}: {host.name}: {error}") from None
    kind = platforms.kind_of(target)
    if kind is None or kind.read is None:
        raise UsageError(
            f"{host.source}: {host.name}: {host.uri} is not a live host; use a libvirt URI, "
            "for example qemu+ssh://HOST/system"
        )


_EXPOSED = (
    "no TLS: anyone on the network path, or who can reach the scheduler, can run programs on its "
    "workers and on this machine"
)


def tell_inventory(
    chosen: ChosenHosts, redactor: Redactor | None = None, scheduler: str | None = None
) -> None:
    """Print the notes on an inventory, and on the scheduler whose workers read its hosts."""
    for note in inventory_notes(chosen, redactor, scheduler):
        tell(safe(f"Note: {note}"))


def inventory_notes(
    chosen: ChosenHosts, redactor: Redactor | None = None, scheduler: str | None = None
) -> Iterator[str]:
    """Notes on an inventory, on patterns of ``--limit`` that match nothing, and on the
    scheduler."""
    shown = None if redactor is None else redactor.knowing(chosen.inventory.hosts)
    for note in chosen.inventory.notes:
        yield note if shown is None else shown.text(note)
    for pattern in chosen.unmatched:
        named = pattern if shown is None else shown.pattern(pattern)
        yield f"--limit: {named!r} matches no host or group"
    if _is_exposed(scheduler):
        where = f"VNICAUDIT_SCHEDULER={scheduler}"
        yield f"{where if shown is None else shown.text(where)}: {_EXPOSED}"


# ``-i openstack:CLOUD``: the compute nodes of a cloud.


_DOWN_NAMED = 10


def _cloud_hosts(live: LiveOptions, platforms: PlatformRegistry, name: str) -> SourceHosts:
    """The compute nodes of a cloud, in all its regions if requested."""
    kinds = platforms.targets
    nodes: list[tuple[str, ComputeNode]] = []
    for target in expanded_targets(unique_targets([name], kinds), kinds, live):
        kind = platforms.kind_of(target)
        if kind is None or kind.compute_nodes is None:
            raise UsageError(f"{name}: not a cloud that can list its hosts")
        nodes += [(target.name, node) for node in kind.compute_nodes(target.name, live)]
    hosts = tuple(_host(target, node) for target, node in nodes)
    groups = dict.fromkeys(group for host in hosts for group in host.groups)
    down = [node.name for _target, node in nodes if not node.up]
    more = f" and {len(down) - _DOWN_NAMED:,} more" if len(down) > _DOWN_NAMED else ""
    named = ", ".join(down[:_DOWN_NAMED])
    notes = (f"{name}: Nova has no sign of life of {named}{more}",) if down else ()
    return SourceHosts(hosts, tuple(groups), notes)


def _host(target: str, node: ComputeNode) -> SourceHost:
    zone = (node.zone,) if node.zone else ()
    groups = tuple(dict.fromkeys((*zone, *node.aggregates)))
    return SourceHost(node.name, target, site=node.zone, groups=groups)


# Where hosts are read: by threads of this process, or by a Dask cluster.


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check_scheduler(settings: Environment) -> None:
    """Raises UsageError for certificates of the scheduler that cannot be used."""
    keys = {
        "VNICAUDIT_SCHEDULER_CA": settings.scheduler_ca,
        "VNICAUDIT_SCHEDULER_CERT": settings.scheduler_cert,
        "VNICAUDIT_SCHEDULER_KEY": settings.scheduler_key,
    }
    for variable, path in keys.items():
        if path is None:
            continue
        if settings.scheduler is None:
            raise UsageError(f"{variable} needs VNICAUDIT_SCHEDULER")
        if not os.path.isfile(path):
            raise UsageError(f"{variable}: {path}: not a regular file")
        if not settings.scheduler.startswith("tls://"):
            raise UsageError(
                f"VNICAUDIT_SCHEDULER={settings.scheduler}: certificates and keys need an address "
                "of the form tls://HOST:PORT"
            )


def _is_exposed(scheduler: str | None) -> bool:
    """True if others can listen to the connection to the scheduler, or connect to it themselves."""
    if scheduler is None:
        return False
    address = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
    return address.scheme != "tls" and address.hostname not in _LOOPBACK


def engine_of(
    settings: Environment, read: ReadHost[HostItem], plain: LiveOptions
) -> ReadingEngine[HostItem]:
    """The engine that reads the hosts. Raises MissingExtraError; UsageError if the cluster
    cannot be reached or its workers have another version."""
    if settings.scheduler is None:
        return Threads(read, plain, settings.host_deadline)
    tls = TlsFiles(settings.scheduler_ca, settings.scheduler_cert, settings.scheduler_key)
    engine = Dask(settings.scheduler, tls, read_host, plain, settings.host_deadline)
    try:
        engine.check_workers(version)
    except UsageError:
        engine.close()
        raise
    return engine


def reader_in_order(
    hosts: Sequence[InventoryHost], platforms: PlatformRegistry, live: LiveOptions
) -> Callable[[Target], Iterator[HostItem]]:
    """Reads the hosts of an inventory for somebody who asks for them in their order. Raises
    as :func:`engine_of`."""
    settings = environment()
    check_scheduler(settings)
    engine = engine_of(settings, platforms.read_live, live)

    def read_all() -> Iterator[HostItems[HostItem]]:
        with closing(engine):
            yield from read_in_order(hosts, engine, settings)

    results = read_all()

    def read(target: Target) -> Iterator[HostItem]:
        done = next(done for done in results if done.host.uri == target.name)
        return iter(done.items)

    return read
