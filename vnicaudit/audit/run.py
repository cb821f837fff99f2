"""One run: every target read, worked through, and accounted for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.file_findings import with_files_apart
from vnicaudit.audit.judging.macs import MacTable, left_out_note
from vnicaudit.audit.pool import Batch, Job, default_jobs, run_files
from vnicaudit.audit.progress import STANDARD_INPUT, RunProgress
from vnicaudit.audit.reading.chosen_servers import ServerSelection
from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.files import Item, read_stream
from vnicaudit.audit.reading.options import RunOptions
from vnicaudit.audit.reading.seen_files import SeenFiles
from vnicaudit.audit.reading.targets import Target, expanded_targets, unique_targets
from vnicaudit.audit.tally import TargetCounts, Totals
from vnicaudit.audit.work import ItemWork, Product
from vnicaudit.base.identifiers import bare_uuid
from vnicaudit.base.waiting import is_input_awaited, is_pipe, standard_input
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import Confidence, Severity
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.live import LiveDomain
from vnicaudit.model.report import (
    Audited,
    NotJudged,
    PutAside,
    ReadError,
    Summary,
    TargetResult,
)
from vnicaudit.model.site import SiteNode
from vnicaudit.model.traffic import HostTraffic

if TYPE_CHECKING:
    from vnicaudit.audit.reading.seen_objects import SeenObjects
    from vnicaudit.audit.reading.servers import JoinedServers
    from vnicaudit.audit.reading.targets import Met

MAX_NODES = 20_000
"""Compute nodes that are compared with one another, at most."""

_NO_HOST = HostConfig()


class AuditRun:
    """Reads targets and works through them. ``items`` is the stream; when it has ended,
    ``results`` tells the fate of each target (in command-line order) and ``summary`` the totals.
    """

    def __init__(
        self,
        work: ItemWork,
        options: RunOptions,
        progress: RunProgress | None = None,
        stdin: BinaryIO | None = None,
    ) -> None:
        """``stdin``: what to read as standard input, where that was read already."""
        self._work = work
        self._options = options
        self._progress = progress
        self._stdin = stdin
        self._tallies: dict[str, TargetCounts] = {}
        self._totals = Totals()
        self._nodes: list[SiteNode] = []
        self._cloud = False
        self._chosen = ServerSelection(options.servers, remember=False)
        self._seen_files = SeenFiles(())
        self._guests: list[tuple[Domain, str]] = []
        self._servers: JoinedServers | None = None
        self._macs = MacTable()
        self._ahead: list[Target] = []
        self._read_ahead: Iterator[Iterator[Met]] = iter(())
        self._nova_files = frozenset(map(os.path.realpath, options.nova_config))
        self.usage = Usage()
        self.baselined: set[str] = set()

    def items(self, names: Iterable[str]) -> Iterator[Product]:
        """The products of all targets; what is wrong with the comments of a file is a judgement of
        that file. Raises UsageError for targets that make no sense."""
        yield from map(self._counted, with_files_apart(self._read(names)))

    def _read(self, names: Iterable[str]) -> Iterator[Product]:
        """The products of all targets. Files come first: worker processes are forked before any
        live connection or cloud starts threads, and nova.conf of a host is known when its servers
        come. Then clouds, then what their servers are joined with."""
        kinds = self._work.platforms.targets
        unique = unique_targets(names, kinds)
        if unique and all(self._is_live(each) for each in unique):
            self._note_waiting(unique[0], unique)  # a cloud may be asked for its regions
        targets = expanded_targets(unique, kinds, self._options.live)
        if self._options.nova_config:
            targets.append(Target(" ".join(self._options.nova_config), "together"))
        self._tallies = {target.name: TargetCounts() for target in targets}
        self._seen_files = SeenFiles(targets)
        kind_of = self._work.platforms.kind_of
        machines = [each for each in targets if (kind := kind_of(each)) and kind.read]
        clouds = [each for each in targets if (kind := kind_of(each)) and kind.cloud]
        self._cloud = bool(clouds)
        others = len(targets) > len(clouds)
        self._chosen = ServerSelection(self._options.servers, remember=others)
        for number, target in enumerate(targets):
            if target not in machines and target not in clouds:
                self._note_pipe(target, targets[number + 1 :])
                yield from self._with_progress(target, self._products_of(target))
        if clouds:
            yield from self._clouds(clouds, machines)
        self._ahead = [target for target in machines if self._waits(target)]
        if self._ahead:
            from vnicaudit.audit.reading.side_by_side import read_ahead  # for live hosts alone

            self._read_ahead = read_ahead([self._reading(target) for target in self._ahead])
        for target in machines:
            self._note_waiting(target, [*clouds, *machines])
            yield from self._with_progress(target, self._products_of(target))
        yield from self._unmatched_servers()
        yield from self._work.site(self._nodes)
        yield from self._work.shared_macs(self._macs)
        if self._macs.left_out:
            self._tallies[targets[-1].name].notes.append(left_out_note(self._macs.left_out))
        self.usage |= self._work.usage()

    def _with_progress(self, target: Target, products: Iterator[Product]) -> Iterator[Product]:
        for product in products:
            yield product
            if self._progress is not None:
                name = STANDARD_INPUT if target.kind == "stdin" else target.name
                self._progress(name, self._tallies[target.name].domains)

    def _is_live(self, target: Target) -> bool:
        kind = self._work.platforms.kind_of(target)
        return kind is not None and bool(kind.read or kind.cloud)

    def _note_waiting(self, target: Target, live: list[Target]) -> None:
        if self._progress is not None:
            self._progress.waits_for(target.name, live.index(target) + 1, len(live))

    def _note_pipe(self, target: Target, later: list[Target]) -> None:
        """Show that a pipe is awaited. A thread does that, beside which no process must be forked:
        not where files follow."""
        if self._progress is None or any(one.kind == "path" for one in later):
            return
        if target.kind == "stdin" and self._stdin is None and is_input_awaited():
            self._progress.waits_for(STANDARD_INPUT, 1, 1)
        elif target.kind == "path" and is_pipe(target.name):
            self._progress.waits_for(target.name, 1, 1)

    def _counted(self, product: Product) -> Product:
        self._totals.add(product)
        if isinstance(product, Audited):
            self.baselined.update(f.fingerprint for f in product.baselined)
        return product

    def _domain(self, domain: Domain, host: HostConfig, target: str) -> Product:
        self._macs.take(self._work.nics_to_compare(domain, target))
        return self._work.domain(domain, host, target)

    @property
    def results(self) -> tuple[TargetResult, ...]:
        """How reading each target went."""
        return tuple(tally.result(name) for name, tally in self._tallies.items())

    @property
    def summary(self) -> Summary:
        """The totals so far; what was read as a server and as a domain is one."""
        tallies, joined = self._tallies.values(), self._servers
        return self._totals.summary(
            domains=sum(each.domains for each in tallies) - (joined.read_twice if joined else 0),
            nics=sum(each.nics for each in tallies) - (joined.nics_read_twice if joined else 0),
        )

    @property
    def graded(self) -> dict[tuple[Severity, Confidence], int]:
        """How many findings there are so far of each severity and confidence."""
        return dict(self._totals.graded)

    def count_extra(self, audited: Audited) -> None:
        """Add findings that came from no target (unused suppressions) to the totals."""
        self._totals.add(audited)

    def _products_of(self, target: Target) -> Iterator[Product]:
        tally = self._tallies[target.name]
        if target.kind == "path":
            yield from self._files(target.name, tally)
        elif target.kind == "stdin":
            stream = self._stdin or standard_input()
            if stream is None:
                tally.error(ReadError("standard input is closed", "-"))
                return
            items = read_stream(stream, "-", self._work.platforms.files)
            yield from self._worked_items(items, target.name, tally)
        elif target.kind == "together":
            for read_together in self._work.platforms.read_together:
                items = read_together(self._options.nova_config, target.name)
                yield from self._worked_items(items, target.name, tally)
        else:
            yield from self._live(self._met_at(target), target.name, tally)

    def _met_at(self, target: Target) -> Iterator[Met]:
        return next(self._read_ahead) if target in self._ahead else self._reading(target)()

    def _waits(self, target: Target) -> bool:
        kind = self._work.platforms.kind_of(target)
        return kind is not None and kind.waits(target.name)

    def _reading(self, target: Target) -> Callable[[], Iterator[Met]]:
        """Reads what runs at a target, once it is called."""
        kind = self._work.platforms.kind_of(target)
        if kind is None or kind.read is None:
            raise KeyError(target.kind)
        read, live = kind.read, self._options.live
        if len(self._ahead) > 1:
            from vnicaudit.audit.reading.side_by_side import CALLS

            live = replace(live, calls=live.calls or CALLS)
        return lambda: guarded(target.name, read(target.name, live))

    def _files(self, top: str, tally: TargetCounts) -> Iterator[Product]:
        named = not os.path.isdir(top)
        selection = self._options.selection

        def paths() -> Iterator[str]:
            for path in self._seen_files.unread(top, selection):
                if isinstance(path, ReadError):
                    tally.error(path)
                else:
                    yield path

        passed = self._seen_files.passed
        jobs = self._options.jobs or default_jobs()
        explicit = named and not selection.skip_unrecognised
        job = Job(self._work, top, self._cloud)
        total, done = self._number_of_files(top), 0
        for batch in run_files(paths(), job, explicit=explicit, jobs=jobs):
            self._account(batch, top, tally)
            done += batch.files
            if self._progress is not None:
                total = total or self._number_of_files(top, done)
                self._progress.read_files(done, total)
            yield from batch.products
        whole = self._seen_files.passed == passed and selection.changed is None
        if tally.is_empty and whole and not named:
            kinds = ", ".join(kind.name for kind in self._work.platforms.files)
            tally.notes.append(f"nothing in it is recognised; looked for: {kinds}")
        tally.passed_over = tally.is_empty and whole and named

    def _number_of_files(self, top: str, done: int = 0) -> int | None:
        """How many files a target has, of which so many are ``done``, where somebody wants to know;
        None: not counted."""
        selection = self._options.selection
        if self._progress is None or not self._progress.is_shown or selection.changed is not None:
            return None
        if done and self._seen_files.several:
            return None  # those that are read now count as seen
        return self._seen_files.number_unread(top, selection)

    def _account(self, batch: Batch, top: str, tally: TargetCounts) -> None:
        tally.domains += batch.domains
        tally.nics += batch.nics
        tally.configs += len(batch.products) + len(batch.guests) - batch.domains
        self.usage |= batch.usage
        self._macs.take_encoded(batch.nics_seen)
        self._nodes += batch.nodes[: MAX_NODES - len(self._nodes)]
        self._guests += [(guest, top) for guest in batch.guests]
        for error in batch.errors:
            tally.error(error)
        for copy in batch.aside:
            self._put_aside(copy, tally)
        for part in batch.not_judged:
            tally.unjudged(part)
        tally.not_recognised(batch.unrecognised)

    def _put_aside(self, copy: PutAside, tally: TargetCounts) -> None:
        """A copy is not judged, unless it is given to Nova in this very run."""
        if os.path.realpath(copy.file) not in self._nova_files:
            tally.put_aside(copy)

    def _worked_items(
        self, items: Iterable[Item], name: str, tally: TargetCounts, *, met: bool = False
    ) -> Iterator[Product]:
        """``met``: clouds were read before, and their servers may be among these."""
        for item in items:
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, PutAside):
                self._put_aside(item, tally)
            elif isinstance(item, NotJudged):
                tally.unjudged(item)
            elif isinstance(item, Domain):
                if self._chosen.is_left_out(item.uuid):
                    continue
                tally.domain(item)
                if self._cloud and not met and item.nova_uuid is not None:
                    self._guests.append((item, name))
                else:
                    yield self._domain(self._joined(item), _NO_HOST, name)
            else:
                tally.configs += 1
                if (product := self._work.description(item, name)) is not None:
                    yield product
                node = self._work.node(item, joins=self._cloud)
                if node is not None and len(self._nodes) < MAX_NODES:
                    self._nodes.append(node)

    def _joined(self, domain: Domain) -> Domain:
        """The domain with what its cloud says of it, where clouds were read."""
        return domain if self._servers is None else self._servers.joined(domain)

    def _clouds(self, clouds: list[Target], machines: list[Target]) -> Iterator[Product]:
        """Clouds, and then the definitions in files that waited for them."""
        from vnicaudit.audit.reading.nodes import NodesByHost  # loaded when there is a cloud
        from vnicaudit.audit.reading.seen_objects import SeenObjects
        from vnicaudit.audit.reading.servers import JoinedServers

        awaited = frozenset(bare_uuid(guest.uuid or "") for guest, _target in self._guests)
        nodes = NodesByHost(self._nodes)
        seen = SeenObjects() if len(clouds) > 1 else None
        self._servers = JoinedServers(nodes, awaited, everyone=bool(machines), seen=seen)
        for target in clouds:
            self._note_waiting(target, [*clouds, *machines])
            products = self._one_cloud(target, self._servers, seen)
            yield from self._with_progress(target, products)
        for target in clouds:
            for missing in (*self._chosen.missing(), *self._chosen.ambiguous()):
                self._tallies[target.name].error(ReadError(missing, target.name))
        for name, item in () if seen is None else seen.waiting():
            if (found := self._work.description(item, name)) is not None:
                yield found
        same = () if seen is None else seen.notes("reported")
        for target_name, note in chain(same, nodes.notes()):
            self._tallies[target_name].notes.append(note)
        self._guests.reverse()
        while self._guests:  # dropped as they are judged
            guest, name = self._guests.pop()
            if self._chosen.is_left_out(guest.uuid):
                self._tallies[name].forget(guest)
                continue
            yield self._domain(self._joined(guest), _NO_HOST, name)

    def _one_cloud(
        self, target: Target, joined: JoinedServers, seen: SeenObjects | None
    ) -> Iterator[Product]:
        tally = self._tallies[target.name]
        cloud = self._work.platforms.cloud(target, self._options.live)
        items = guarded(target.name, cloud.items)
        for item in self._chosen.selected(target.name, items, tally.notes):
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, Server):
                tally.domain(item)
                if (server := joined.take(item, target.name)) is not None:
                    yield self._domain(server, _NO_HOST, target.name)
            else:
                tally.configs += 1
                if seen is not None:
                    seen.take(item, target.name)
                elif (product := self._work.description(item, target.name)) is not None:
                    yield product
        tally.notes += cloud.notes
        tally.calls = cloud.calls

    def _unmatched_servers(self) -> Iterator[Product]:
        """Servers whose domain was not met: judged by what their cloud says alone."""
        for name, server in () if self._servers is None else self._servers.unmatched():
            yield self._domain(server, _NO_HOST, name)

    def _live(self, items: Iterable[Met], name: str, tally: TargetCounts) -> Iterator[Product]:
        from vnicaudit.audit.effective import uses_of  # loaded when there is a live host

        host: Host | None = None
        uses: set[str] = set()
        for item in items:
            if isinstance(item, Host):
                host = item
            elif isinstance(item, HostTraffic):
                continue  # asked for, and kept, by an audit of a fleet alone
            elif not isinstance(item, LiveDomain):
                yield from self._worked_items((item,), name, tally, met=True)
            elif not self._chosen.is_left_out(item.domain.uuid):
                tally.domain(item.domain)
                uses |= uses_of(item.domain, item.host)
                yield self._domain(self._joined(item.domain), item.host, name)
        if host is not None:
            product = self._work.host(host, frozenset(uses), name)
            if product is not None:
                yield product
