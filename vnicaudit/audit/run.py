"""One run: every target read, worked through, and accounted for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.chunk import Batch, Job, work_on
from vnicaudit.audit.reading.files import shown_path
from vnicaudit.audit.reading.targets import (
    SeenFiles,
    Target,
    awaited_pipe,
    expanded_targets,
    unique_targets,
)
from vnicaudit.audit.same_guest import SameGuests, SameTemplates
from vnicaudit.audit.tally import (
    ComparingWork,
    FileCount,
    RunProgress,
    TargetCounts,
    Totals,
)
from vnicaudit.audit.workers import default_jobs, run_files
from vnicaudit.base.deadlines import standard_input
from vnicaudit.model.file_kind import is_domain
from vnicaudit.model.finding import SETTINGS
from vnicaudit.model.fleet import HostTraffic, LiveDomain
from vnicaudit.model.names import STANDARD_INPUT, file_title
from vnicaudit.model.report import Audited, ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.clouds import CloudServers
    from vnicaudit.audit.reading.selection import RunOptions
    from vnicaudit.audit.reading.targets import HostItem
    from vnicaudit.audit.work import Product, Work
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.finding import Confidence, Finding, Severity
    from vnicaudit.model.report import Summary, TargetResult


def _with_file_apart(product: Product) -> tuple[Product, ...]:
    """The product; findings about a file that describes several things are a judgement of that
    file, behind it."""
    if not isinstance(product, Audited) or product.scope == "config":
        return (product,)
    of_file = tuple(filter(_is_of_file, product.findings))
    if not of_file:
        return (product,)
    own = tuple(one for one in product.findings if not _is_of_file(one))
    file = of_file[0].location.file or product.target
    judged = Audited(
        product.target,
        file_title(file),
        owner=SETTINGS,
        scope="config",
        findings=of_file,
        file=file,
    )
    return replace(product, findings=own), judged


_HOSTS_COPIED = (
    "sosreports (folders, or archives called sosreport-*), sysinfo.tgz; any other archive of a "
    "host, and a recording, must be named itself"
)
"""What is recognised in a folder besides kinds of files."""


def _of_copy(product: Product) -> Product:
    """A judgement of a copy of a host's files: as it is, but nothing in it is to be changed."""
    if not isinstance(product, Audited) or not product.findings:
        return product
    found = (replace(finding, change=None, fixes=()) for finding in product.findings)
    return replace(product, findings=tuple(found))


def _is_of_file(finding: Finding) -> bool:
    return finding.owner == SETTINGS and finding.about.kind == "config"


class AuditRun:
    """Reads targets and works through them. ``items`` is the stream; when it has ended,
    ``results`` tells the fate of each target (in command-line order) and ``summary`` the totals.
    """

    def __init__(
        self,
        work: Work,
        options: RunOptions,
        progress: RunProgress | None = None,
        stdin: BinaryIO | None = None,
        read_host: Callable[[Target], Iterator[HostItem]] | None = None,
    ) -> None:
        """``stdin``: what to read as standard input, where that was read already. ``read_host``:
        reads live hosts, in the order of the targets."""
        self._work = work
        self._options = options
        self._progress = progress or RunProgress()
        self._stdin = stdin
        self._read_host = read_host
        self._tallies: dict[str, TargetCounts] = {}
        self._totals = Totals()
        self._compared = ComparingWork(work)
        self._same = SameGuests(work)
        self._templates = SameTemplates()
        self._has_cloud = False
        self._seen_files = SeenFiles(())
        self._guests: list[tuple[Domain, str]] = []
        self._clouds: CloudServers | None = None
        self._told: set[int] = set()
        """Marks of the problems of each configuration."""
        self._nova_files = frozenset(map(os.path.realpath, options.nova_config))
        self.usage = Usage()
        self.baselined: set[str] = set()

    def items(self, names: Iterable[str]) -> Iterator[Product]:
        """The products of all targets; what is wrong with the comments of a file is a judgement of
        that file. Raises UsageError for targets that make no sense."""
        for product in self._read(names):
            told = chain.from_iterable(map(self._same.take, _with_file_apart(product)))
            once = map(self._templates.without_repeats, told)
            yield from map(self._counted, filterfalse(self._is_repeated, once))
        yield from map(self._counted, self._same.rest())

    def _is_repeated(self, product: Product) -> bool:
        """True for the problems of a template that were told already: several files of tasks may
        write it to a nova.conf."""
        if not isinstance(product, Audited) or product.scope != "config" or not product.findings:
            return False
        problems = ((one.fingerprint, one.location) for one in product.findings)
        mark = hash((product.file, *problems))
        if mark in self._told:
            return True
        self._told.add(mark)
        return False

    def _read(self, names: Iterable[str]) -> Iterator[Product]:
        """The products of all targets. Files come first: worker processes are forked before any
        live connection or cloud starts threads, and nova.conf of a host is known when its servers
        come. Then clouds, then what their servers are joined with."""
        kind_of = self._work.platforms.kind_of
        targets = self._expanded(names)
        clouds = [each for each in targets if (kind := kind_of(each)) and kind.cloud]
        hosts = [each for each in targets if (kind := kind_of(each)) and kind.read]
        waited = [*clouds, *hosts]
        self._tallies = {target.name: TargetCounts() for target in targets}
        self._seen_files = SeenFiles(targets)
        self._has_cloud = bool(clouds)
        self._compared = ComparingWork(self._work, joins=self._has_cloud)
        for target in targets:
            if target not in waited:
                together = target.kind == "together"
                yield from self._read_together(target) if together else self._files(target)
        if clouds:
            others = len(targets) > len(clouds)
            yield from self._read_clouds(clouds, hosts, others=others)
        if hosts:
            yield from self._read_hosts(hosts, waited)
        if self._clouds is not None:
            yield from self._clouds.unmatched()
        yield from self._compared.comparisons()
        for note in (*self._same.notes(), *self._templates.notes(), *self._compared.notes()):
            self._tallies[targets[-1].name].notes.append(note)
        self.usage |= self._work.usage()

    def _expanded(self, names: Iterable[str]) -> list[Target]:
        """All targets of the run; a cloud may be asked for its regions, which takes its time."""
        kinds = self._work.platforms.targets
        unique = unique_targets(names, kinds)
        if unique and all(self._is_live(each) for each in unique):
            self._note_waiting(unique[0], unique)
        targets = expanded_targets(unique, kinds, self._options.live)
        if self._options.nova_config:
            targets.append(Target(" ".join(self._options.nova_config), "together"))
        return targets

    def _read_clouds(
        self, clouds: list[Target], live: list[Target], *, others: bool
    ) -> Iterator[Product]:
        """Clouds, and then the definitions in files that waited for them. ``live``: the hosts that
        are read afterwards; ``others``: there are other targets than clouds."""
        from vnicaudit.audit.clouds import CloudServers
        from vnicaudit.audit.reading.machines import ServerSelection

        servers = self._clouds = CloudServers(
            clouds,
            self._compared,
            ServerSelection(self._options.servers, remember=others),
            self._tallies,
            self._guests,
            everyone=bool(live),
        )
        for target in clouds:
            self._note_waiting(target, [*clouds, *live])
            cloud = self._work.platforms.cloud(target, self._options.live)
            for product in servers.items(target, cloud):
                yield product
                self._show_progress(target)
        yield from servers.rest()

    def _read_hosts(self, hosts: list[Target], waited: list[Target]) -> Iterator[Product]:
        """Live hosts. ``waited``: all targets for which the run waits."""
        read = self._read_host
        if read is None:
            from vnicaudit.audit.reading.machines import Machines

            read = Machines(hosts, self._work.platforms, self._options.live).items
        for target in hosts:
            self._note_waiting(target, waited)
            kind = self._work.platforms.kind_of(target)
            for product in self._live(read(target), target.name):
                yield _of_copy(product) if kind is not None and kind.is_copy else product
                self._show_progress(target)

    def _show_progress(self, target: Target) -> None:
        name = STANDARD_INPUT if target.kind == "stdin" else target.name
        self._progress(name, self._tallies[target.name].domains)

    def _is_live(self, target: Target) -> bool:
        kind = self._work.platforms.kind_of(target)
        return kind is not None and bool(kind.read or kind.cloud)

    def _note_waiting(self, target: Target, live: list[Target]) -> None:
        self._progress.waits_for(target.name, live.index(target) + 1, len(live))

    def _read_together(self, target: Target) -> Iterator[Product]:
        for read_together in self._work.platforms.read_together:
            items = read_together(self._options.nova_config, shown_path(target.name))
            for product in chain.from_iterable(self._worked(item, target.name) for item in items):
                yield product
                self._show_progress(target)

    def _counted(self, product: Product) -> Product:
        self._totals.add(product)
        if isinstance(product, Audited):
            self.baselined |= self._work.in_baseline(product)
        return product

    @property
    def results(self) -> tuple[TargetResult, ...]:
        """How reading each target went."""
        return tuple(tally.result(shown_path(name)) for name, tally in self._tallies.items())

    @property
    def summary(self) -> Summary:
        """The totals so far; what was read as a server and as a domain is one."""
        tallies, clouds = self._tallies.values(), self._clouds
        return self._totals.summary(
            domains=sum(each.domains for each in tallies)
            - self._same.read_again
            - (clouds.servers.read_twice if clouds else 0),
            nics=sum(each.nics for each in tallies)
            - self._same.nics_again
            - (clouds.servers.nics_read_twice if clouds else 0),
            read_again=self._same.read_again,
        )

    @property
    def graded(self) -> dict[tuple[Severity, Confidence], int]:
        """How many findings there are so far of each severity and confidence."""
        return dict(self._totals.graded)

    @property
    def undecided(self) -> dict[str, int]:
        """Rule -> the subjects for which it could not be judged so far, although it needs no live
        host."""
        return dict(self._totals.undecided)

    def count_extra(self, audited: Audited) -> None:
        """Add findings that came from no target (unused suppressions) to the totals."""
        self._totals.add(audited)

    def _files(self, target: Target) -> Iterator[Product]:
        """The products of a file, of the files of a folder, or of standard input. While a pipe is
        awaited, that is shown without a thread: a process is forked to read it."""
        top, tally, selection = target.name, self._tallies[target.name], self._options.selection
        is_stdin = target.kind == "stdin"
        stdin = (self._stdin or standard_input()) if is_stdin else None
        if is_stdin and stdin is None:
            tally.error(ReadError("standard input is closed", "-"))
            return
        named = is_stdin or not os.path.isdir(top)
        passed = self._seen_files.passed
        explicit = is_stdin or (named and not selection.skip_unrecognised)
        job = Job(self._work, shown_path(top), self._has_cloud, stdin, self._progress.still_waits)
        # standard input is one file: there is nothing to count
        shown = RunProgress() if is_stdin else self._progress
        files, done = FileCount(top, selection, self._seen_files, shown), 0
        files.begin()
        pipe = "" if stdin and stdin is self._stdin else awaited_pipe(target)
        if pipe:
            self._progress.waits_for(pipe, forks=True)
        try:
            every = iter([top]) if is_stdin else self._unread(top, tally)
            jobs = self._options.jobs or default_jobs()
            for batch in run_files(every, job, explicit=explicit, jobs=jobs):
                products = self._account(batch, top, tally)
                done += batch.files
                files.read(done)
                for product in products:
                    yield product
                    self._show_progress(target)
        finally:
            if pipe:
                self._progress.waits_no_more()
        if not is_stdin and self._seen_files.passed == passed and selection.changed is None:
            self._note_nothing_recognised(tally, named=named)

    def _unread(self, top: str, tally: TargetCounts) -> Iterator[str]:
        for path in self._seen_files.unread(top, self._options.selection):
            if isinstance(path, ReadError):
                tally.error(path)
            else:
                yield path

    def _note_nothing_recognised(self, tally: TargetCounts, *, named: bool) -> None:
        if tally.is_empty and not named:
            kinds = self._work.platforms.files
            tally.notes.append(f"nothing in it is recognised; looked for: {kinds}, {_HOSTS_COPIED}")
        tally.passed_over = tally.is_empty and named

    def _account(self, batch: Batch, top: str, tally: TargetCounts) -> Iterable[Product]:
        """Count a batch; returns its products."""
        tally.domains += batch.domains
        tally.nics += batch.nics
        tally.configs += batch.configs
        self.usage |= batch.usage
        self._compared.take(batch)
        self._guests += [(guest, top) for guest in batch.guests]
        for error in batch.errors:
            tally.error(error)
        for copy in batch.aside:  # not judged, unless it is given to Nova in this very run
            if os.path.realpath(copy.file) not in self._nova_files:
                tally.put_aside(copy)
        for part in batch.not_judged:
            tally.unjudged(part)
        tally.not_recognised(batch.unrecognised, batch.naming_nics)
        return batch.products

    def _worked(self, item: Item, name: str) -> Iterable[Product]:
        """The products of one item of a target, which is counted."""
        batch = Batch()
        work_on(item, batch, Job(self._work, shown_path(name), self._has_cloud))
        return self._account(batch, name, self._tallies[name])

    def _is_left_out(self, uuid: str | None) -> bool:
        """True for the domain of a server that was not selected, where clouds were read."""
        return self._clouds is not None and self._clouds.is_left_out(uuid)

    def _joined(self, domain: Domain) -> Domain:
        """The domain with what its cloud says of it, where clouds were read."""
        return domain if self._clouds is None else self._clouds.servers.joined(domain)

    def _live(self, items: Iterable[HostItem], name: str) -> Iterator[Product]:
        tally = self._tallies[name]
        from vnicaudit.audit.judging.hosts import SeenHost

        seen, shown = SeenHost(), shown_path(name)
        for item in map(seen.take, items):
            if item is None or isinstance(item, HostTraffic):
                continue  # traffic is asked for, and kept, by an audit of a fleet alone
            live = item if isinstance(item, LiveDomain) else None
            domain = item.domain if isinstance(item, LiveDomain) else item
            if not is_domain(domain):
                yield from self._worked(domain, name)
            elif not self._is_left_out(domain.uuid):
                tally.domain(domain)
                if live is None:
                    yield self._compared.domain(self._joined(domain), shown)
                else:
                    seen.runs(domain, live.host)
                    yield self._compared.domain(self._joined(domain), shown, live.host, seen.name)
        if (subject := seen.subject()) is not None:
            product = self._work.host(seen.name, subject, name)
            if product is not None:
                yield product
