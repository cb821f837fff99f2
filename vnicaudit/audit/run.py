"""One run: every target read, worked through, and accounted for."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, BinaryIO

from vnicaudit.audit.files import Item, read_stream
from vnicaudit.audit.options import RunOptions
from vnicaudit.audit.pool import Batch, default_jobs, run_files
from vnicaudit.audit.suppressions import Usage
from vnicaudit.audit.targets import Target, target_of, walk
from vnicaudit.audit.work import Product, Work
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.report import Audited, ReadError, Summary, TargetResult
from vnicaudit.model.site import Node

MAX_NODES = 20_000
"""Compute nodes that are compared with one another, at most."""

MAX_ERRORS = 1000
"""Reading errors kept per target; more are counted."""


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
        self._tallies: dict[str, _Tally] = {}
        self._order: list[str] = []
        self._totals = _Totals()
        self._nodes: list[Node] = []
        self.usage = Usage()
        self.baselined: set[str] = set()

    def items(self, names: Iterable[str]) -> Iterator[Product]:
        """The products of all targets. Files come first: worker processes are forked before
        any live connection starts threads. Raises UsageError for targets that make no sense."""
        targets = prepared(names)
        if self._options.nova_config:
            targets.append(Target(" ".join(self._options.nova_config), "nova"))
        self._order = [target.name for target in targets]
        self._tallies = {name: _Tally() for name in self._order}
        for target in sorted(targets, key=lambda target: target.kind == "libvirt"):
            for product in self._read(target):
                yield self._counted(product)
                if self._on_progress is not None:
                    self._on_progress(target.name, self._tallies[target.name].domains)
        for product in self._work.site(self._nodes):
            yield self._counted(product)
        self.usage |= self._work.usage()

    def _counted(self, product: Product) -> Product:
        self._totals.add(product)
        if isinstance(product, Audited):
            self.baselined.update(f.fingerprint for f in product.baselined)
        return product

    @property
    def results(self) -> tuple[TargetResult, ...]:
        """How reading each target went."""
        return tuple(self._tallies[name].result(name) for name in self._order)

    @property
    def summary(self) -> Summary:
        """The totals so far."""
        tallies = self._tallies.values()
        return self._totals.summary(
            domains=sum(tally.domains for tally in tallies),
            nics=sum(tally.nics for tally in tallies),
        )

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

            yield from self._here(read_processes(target.name), target.name, tally)
        elif target.kind == "nova":
            from vnicaudit.platforms.nova_conf.siblings import read_together

            items = read_together(self._options.nova_config, target.name)
            yield from self._here(items, target.name, tally)
        else:
            yield from self._live(target.name, tally)

    def _files(self, top: str, tally: _Tally) -> Iterator[Product]:
        named = not os.path.isdir(top)
        selection = self._options.selection

        def paths() -> Iterator[str]:
            for found in walk(top, selection.leaves_out):
                if isinstance(found, ReadError):
                    if selection.minds(found.file or top):
                        tally.error(found)
                elif selection.wants(found, named=named):
                    yield found

        jobs = self._options.jobs or default_jobs()
        explicit = named and not selection.skip_unrecognised
        for batch in run_files(paths(), top, self._work, explicit=explicit, jobs=jobs):
            self._account(batch, tally)
            yield from batch.products

    def _account(self, batch: Batch, tally: _Tally) -> None:
        tally.domains += batch.domains
        tally.nics += batch.nics
        tally.configs += len(batch.products) - batch.domains
        self.usage |= batch.usage
        self._nodes += batch.nodes[: MAX_NODES - len(self._nodes)]
        for error in batch.errors:
            tally.error(error)

    def _here(self, items: Iterable[Item], name: str, tally: _Tally) -> Iterator[Product]:
        for item in items:
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, Domain):
                tally.domain(item)
                yield self._work.domain(item, HostConfig(), name)
            else:
                tally.configs += 1
                if (product := self._work.description(item, name)) is not None:
                    yield product
                if (node := self._work.node(item)) is not None and len(self._nodes) < MAX_NODES:
                    self._nodes.append(node)

    def _live(self, uri: str, tally: _Tally) -> Iterator[Product]:
        from vnicaudit.audit.live import read_live

        host: Host | None = None
        uses: set[str] = set()
        for item in read_live(uri, self._options.live):
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, Host):
                host = item
            else:
                tally.domain(item.domain)
                uses |= uses_of(item.domain, item.host)
                yield self._work.domain(item.domain, item.host, uri)
        if host is not None:
            product = self._work.host(host, frozenset(uses), uri)
            if product is not None:
                yield product


def prepared(names: Iterable[str]) -> list[Target]:
    """The targets, each once. Raises UsageError for one that makes no sense, and
    MissingExtraError where one needs a package that is not there: both before anything is read
    or written."""
    targets = [target_of(name) for name in dict.fromkeys(names)]
    if any(target.kind == "libvirt" for target in targets):
        import_module("vnicaudit.platforms.libvirt.binding")
    return targets


def uses_of(domain: Domain, host: HostConfig) -> set[str]:
    """What of its host a domain's NICs use: their actual types, and ``kvm-tap`` for one that gets
    vhost-net where the host has it."""
    from vnicaudit.audit.effective import wants_vhost_net

    uses = set()
    for nic in domain.nics:
        kind = nic.declared.actual_type
        if kind is not None:
            uses.add(kind)
        if wants_vhost_net(nic.declared, domain.declared, host, nic.running):
            uses.add("kvm-tap")
    return uses


class _Tally:
    """What is counted per target while it is read."""

    def __init__(self) -> None:
        self.domains = self.nics = self.configs = self.unread = 0
        self.errors: list[ReadError] = []

    def domain(self, domain: Domain) -> None:
        self.domains += 1
        self.nics += len(domain.nics)

    def error(self, error: ReadError) -> None:
        self.unread += 1
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(error)

    def result(self, name: str) -> TargetResult:
        if not self.unread:
            return TargetResult(name, "ok", None, self.domains, self.nics)
        first = self.errors[0]
        place = first.file or name
        where = place if first.line is None else f"{place}:{first.line}"
        more = f" (and {self.unread - 1} more)" if self.unread > 1 else ""
        return TargetResult(
            name,
            "partial" if self.domains or self.configs else "failed",
            f"{where}: {first.message}{more}",
            self.domains,
            self.nics,
            tuple(self.errors),
            self.unread,
        )


class _Totals:
    """What is counted over the whole run."""

    def __init__(self) -> None:
        self.severities: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.crashed = self.suppressed = self.baselined = 0

    def add(self, product: Product) -> None:
        if not isinstance(product, Audited):
            return
        for finding in product.findings:
            self.severities[finding.severity] += 1
            self.rules[finding.rule] += 1
        for skipped in product.skipped:
            self.skipped[skipped.rule] += 1
        self.crashed += len(product.crashed)
        self.suppressed += len(product.suppressed)
        self.baselined += len(product.baselined)

    def summary(self, **counts: Any) -> Summary:
        return Summary(
            findings=sum(self.rules.values()),
            by_severity=dict(sorted(self.severities.items())),
            by_rule=dict(sorted(self.rules.items())),
            skipped=dict(sorted(self.skipped.items())),
            crashed=self.crashed,
            suppressed=self.suppressed,
            baselined=self.baselined,
            **counts,
        )
