"""One run: every target read, worked through, and accounted for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain
from typing import BinaryIO

from vnicaudit.audit.chosen import Chosen
from vnicaudit.audit.cloud import CloudTarget, each_region
from vnicaudit.audit.files import Item, read_stream
from vnicaudit.audit.fingerprint import bare_uuid
from vnicaudit.audit.macs import MacTable
from vnicaudit.audit.nodes import NodesByHost
from vnicaudit.audit.once import Once
from vnicaudit.audit.options import RunOptions
from vnicaudit.audit.pool import Batch, Job, default_jobs, is_guest, run_files
from vnicaudit.audit.readers import READERS
from vnicaudit.audit.servers import Servers
from vnicaudit.audit.sightings import Sightings
from vnicaudit.audit.suppressions import Usage
from vnicaudit.audit.tally import Tally, Totals
from vnicaudit.audit.targets import Kind, Target, target_of, walk
from vnicaudit.audit.uses import uses_of
from vnicaudit.audit.work import Product, Work
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Confidence, Severity
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.report import (
    Audited,
    NotJudged,
    PutAside,
    ReadError,
    Summary,
    TargetResult,
)
from vnicaudit.model.site import Node

MAX_NODES = 20_000
"""Compute nodes that are compared with one another, at most."""

_MACHINES: tuple[Kind, ...] = ("proc", "libvirt")
"""Targets in which servers of a cloud may be met."""

_NEEDED = {
    "libvirt": "vnicaudit.platforms.libvirt.binding",
    "openstack": "vnicaudit.platforms.openstack.binding",
}
"""Kind of target -> what cannot be imported where its optional package is not there."""

_NO_HOST = HostConfig()


class Run:
    """Reads targets and works through them. ``items`` is the stream; when it has ended,
    ``results`` tells the fate of each target (in command-line order) and ``summary`` the totals.
    """

    def __init__(
        self,
        work: Work,
        options: RunOptions,
        on_progress: Callable[[str, int], None] | None = None,
        stdin: BinaryIO | None = None,
    ) -> None:
        """``stdin``: what to read as standard input, where that was read already."""
        self._work = work
        self._options = options
        self._on_progress = on_progress
        self._stdin = stdin
        self._tallies: dict[str, Tally] = {}
        self._totals = Totals()
        self._nodes: list[Node] = []
        self._cloud = False
        self._chosen = Chosen(options.live.servers, remember=False)
        self._once = Once(())
        self._guests: list[tuple[Domain, str]] = []
        self._servers = Servers(NodesByHost(()))
        self._macs = MacTable()
        self._given = frozenset(map(os.path.realpath, options.nova_config))
        self.usage = Usage()
        self.baselined: set[str] = set()

    def items(self, names: Iterable[str]) -> Iterator[Product]:
        """The products of all targets. Files come first: worker processes are forked before any
        live connection or cloud starts threads, and nova.conf of a host is known when its servers
        come. Then clouds, then what their servers are joined with. Raises UsageError for targets
        that make no sense."""
        targets = each_region(prepared(names), self._options.live)
        if self._options.nova_config:
            targets.append(Target(" ".join(self._options.nova_config), "nova"))
        self._tallies = {target.name: Tally() for target in targets}
        self._once = Once(target.name for target in targets if target.kind == "path")
        machines = [target for target in targets if target.kind in _MACHINES]
        clouds = [target for target in targets if target.kind == "openstack"]
        self._cloud = bool(clouds)
        others = len(targets) > len(clouds)
        self._chosen = Chosen(self._options.live.servers, remember=others)
        for target in targets:
            if target not in machines and target not in clouds:
                yield from self._worked(target, self._read(target))
        if clouds:
            yield from self._clouds(clouds, machines)
        for target in machines:
            yield from self._worked(target, self._read(target))
        yield from map(self._counted, self._left())
        yield from map(self._counted, self._work.site(self._nodes))
        yield from map(self._counted, self._work.shared(self._macs))
        if self._macs.left_out:
            self._tallies[targets[-1].name].notes.append(_left_out(self._macs.left_out))
        self.usage |= self._work.usage()

    def _worked(self, target: Target, products: Iterator[Product]) -> Iterator[Product]:
        for product in products:
            yield self._counted(product)
            if self._on_progress is not None:
                self._on_progress(target.name, self._tallies[target.name].domains)

    def _counted(self, product: Product) -> Product:
        self._totals.add(product)
        if isinstance(product, Audited):
            self.baselined.update(f.fingerprint for f in product.baselined)
        return product

    def _domain(self, domain: Domain, host: HostConfig, target: str) -> Product:
        self._macs.take(self._work.compared(domain, target))
        return self._work.domain(domain, host, target)

    @property
    def results(self) -> tuple[TargetResult, ...]:
        """How reading each target went."""
        return tuple(tally.result(name) for name, tally in self._tallies.items())

    @property
    def summary(self) -> Summary:
        """The totals so far; what was read as a server and as a domain is one."""
        tallies = self._tallies.values()
        return self._totals.summary(
            domains=sum(tally.domains for tally in tallies) - self._servers.again,
            nics=sum(tally.nics for tally in tallies) - self._servers.again_nics,
        )

    @property
    def graded(self) -> dict[tuple[Severity, Confidence], int]:
        """How many findings there are so far of each severity and confidence."""
        return dict(self._totals.graded)

    def count_extra(self, audited: Audited) -> None:
        """Add findings that came from no target (unused suppressions) to the totals."""
        self._totals.add(audited)

    def _read(self, target: Target) -> Iterator[Product]:
        tally = self._tallies[target.name]
        if target.kind == "path":
            yield from self._files(target.name, tally)
        elif target.kind == "stdin":
            if self._stdin is None and sys.stdin is None:
                tally.error(ReadError("standard input is closed", "-"))
                return
            stream = self._stdin or sys.stdin.buffer
            yield from self._here(read_stream(stream, "-"), target.name, tally)
        elif target.kind == "proc":
            from vnicaudit.audit.live import read_processes

            yield from self._here(read_processes(target.name), target.name, tally, met=True)
        elif target.kind == "nova":
            from vnicaudit.platforms.nova_conf.siblings import read_together

            items = read_together(self._options.nova_config, target.name)
            yield from self._here(items, target.name, tally)
        else:
            yield from self._live(target.name, tally)

    def _files(self, top: str, tally: Tally) -> Iterator[Product]:
        named = not os.path.isdir(top)
        selection = self._options.selection

        def paths() -> Iterator[str]:
            for found in walk(top, selection.leaves_out):
                if isinstance(found, ReadError):
                    if selection.minds(found.file or top):
                        tally.error(found)
                elif selection.wants(found, named=named) and self._once.takes(found, named=named):
                    yield found

        passed = self._once.passed
        jobs = self._options.jobs or default_jobs()
        explicit = named and not selection.skip_unrecognised
        job = Job(self._work, top, self._cloud)
        for batch in run_files(paths(), job, explicit=explicit, jobs=jobs):
            self._account(batch, top, tally)
            yield from batch.products
        whole = self._once.passed == passed and selection.changed is None
        if tally.is_empty and whole and not named:
            kinds = ", ".join(reader.name for reader in READERS)
            tally.notes.append(f"nothing in it is recognised; looked for: {kinds}")

    def _account(self, batch: Batch, top: str, tally: Tally) -> None:
        tally.domains += batch.domains
        tally.nics += batch.nics
        tally.configs += len(batch.products) + len(batch.guests) - batch.domains
        self.usage |= batch.usage
        self._macs.take(batch.seen)
        self._nodes += batch.nodes[: MAX_NODES - len(self._nodes)]
        self._guests += [(guest, top) for guest in batch.guests]
        for error in batch.errors:
            tally.error(error)
        for copy in batch.aside:
            self._aside(copy, tally)
        for part in batch.not_judged:
            tally.unjudged(part)

    def _aside(self, copy: PutAside, tally: Tally) -> None:
        """A copy is not judged, unless it is given to Nova in this very run."""
        if os.path.realpath(copy.file) not in self._given:
            tally.put_aside(copy)

    def _here(
        self, items: Iterable[Item], name: str, tally: Tally, *, met: bool = False
    ) -> Iterator[Product]:
        """``met``: clouds were read before, and their servers may be among these."""
        for item in items:
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, PutAside):
                self._aside(item, tally)
            elif isinstance(item, NotJudged):
                tally.unjudged(item)
            elif isinstance(item, Domain):
                if self._chosen.is_left_out(item.uuid):
                    continue
                tally.domain(item)
                if self._cloud and not met and is_guest(item):
                    self._guests.append((item, name))
                else:
                    yield self._domain(self._servers.joined(item), _NO_HOST, name)
            else:
                tally.configs += 1
                if (product := self._work.description(item, name)) is not None:
                    yield product
                node = self._work.node(item, joins=self._cloud)
                if node is not None and len(self._nodes) < MAX_NODES:
                    self._nodes.append(node)

    def _clouds(self, clouds: list[Target], machines: list[Target]) -> Iterator[Product]:
        """Clouds, and then the definitions in files that waited for them."""
        awaited = frozenset(bare_uuid(guest.uuid or "") for guest, _target in self._guests)
        nodes = NodesByHost(self._nodes)
        sightings = Sightings() if len(clouds) > 1 else None
        self._servers = Servers(nodes, awaited, everyone=bool(machines), sightings=sightings)
        for target in clouds:
            yield from self._worked(target, self._one_cloud(target, sightings))
        for target in clouds:
            for missing in (*self._chosen.missing(), *self._chosen.ambiguous()):
                self._tallies[target.name].error(ReadError(missing, target.name))
        for name, item in () if sightings is None else sightings.left():
            if (found := self._work.description(item, name)) is not None:
                yield self._counted(found)
        same = () if sightings is None else sightings.notes()
        for target_name, note in chain(same, nodes.notes()):
            self._tallies[target_name].notes.append(note)
        self._guests.reverse()
        while self._guests:  # dropped as they are judged
            guest, name = self._guests.pop()
            if self._chosen.is_left_out(guest.uuid):
                self._tallies[name].forget(guest)
                continue
            product = self._domain(self._servers.joined(guest), _NO_HOST, name)
            yield self._counted(product)

    def _one_cloud(self, target: Target, sightings: Sightings | None) -> Iterator[Product]:
        tally = self._tallies[target.name]
        cloud = CloudTarget(target.name, self._options.live)
        for item in self._chosen.of(target.name, cloud.items(), tally.notes):
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, Domain):
                tally.domain(item)
                if (server := self._servers.take(item, target.name)) is not None:
                    yield self._domain(server, _NO_HOST, target.name)
            else:
                tally.configs += 1
                if sightings is not None:
                    sightings.take(item, target.name)
                elif (product := self._work.description(item, target.name)) is not None:
                    yield product
        tally.notes += cloud.notes
        tally.calls = cloud.calls

    def _left(self) -> Iterator[Product]:
        """Servers whose domain was not met: judged by what their cloud says alone."""
        for name, server in self._servers.left():
            yield self._domain(server, _NO_HOST, name)

    def _live(self, uri: str, tally: Tally) -> Iterator[Product]:
        from vnicaudit.audit.live import read_live

        host: Host | None = None
        uses: set[str] = set()
        for item in read_live(uri, self._options.live):
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, Host):
                host = item
            elif not self._chosen.is_left_out(item.domain.uuid):
                tally.domain(item.domain)
                uses |= uses_of(item.domain, item.host)
                yield self._domain(self._servers.joined(item.domain), item.host, uri)
        if host is not None:
            product = self._work.host(host, frozenset(uses), uri)
            if product is not None:
                yield product


def _left_out(number: int) -> str:
    return f"{number:,} NICs were not compared with the others by their MAC address: too many"


def prepared(names: Iterable[str]) -> list[Target]:
    """The targets, each once. Raises UsageError for one that makes no sense, and
    MissingExtraError where one needs a package that is not there: both before anything is read
    or written."""
    targets = list(dict.fromkeys(target_of(name) for name in names))
    for kind, module in _NEEDED.items():
        if any(target.kind == kind for target in targets):
            import_module(module)
    return targets
