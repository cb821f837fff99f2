"""Live hosts, and files with definitions, as targets of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.progress import FileCount
from vnicaudit.audit.reading.platform import Platforms
from vnicaudit.audit.reading.targets import Target
from vnicaudit.base.cpu_deadline import FILE_SECONDS, Deadline, OutOfTime
from vnicaudit.model.live import LiveOptions
from vnicaudit.model.plan import Planned
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.planning.domains import DomainPlanner
from vnicaudit.remedy.planning.guests import AgentNames, InterfaceNames, no_names
from vnicaudit.remedy.planning.nic_step import NicContext
from vnicaudit.remedy.planning.source import Source, live_sources, sources
from vnicaudit.remedy.planning.target_planner import PlanContext, PlanParts, ReadHosts

_TOO_LONG = (
    f"took more than {FILE_SECONDS:.0f} s of CPU time to plan: given up, and the rest of it is "
    "left out"
)


class DomainTargets:
    """Plans domains of live hosts, and in files."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._platforms = context.judges.work.platforms
        self._file = ""
        self._deadline = Deadline(FILE_SECONDS)
        """The deadline of ``_file``, whose domains are being planned."""
        self._late = False

    def takes(self, target: Target) -> bool:
        """True for a live host, and for a target that may be a file."""
        kind = self._platforms.kind_of(target)
        return kind is None or kind.definitions is not None

    def plan(self, targets: tuple[Target, ...], parts: PlanParts) -> None:
        """Plan each domain once."""
        context = self._context
        live = context.run.live
        guests = AgentNames(context.adapters, live.deadline) if live.agent else None
        nics = self._nics(targets, InterfaceNames(guests or no_names))
        planner = DomainPlanner(context.judges, nics)
        read: set[str] = set()
        try:
            for target, source in self._sources(targets):
                if not isinstance(source, Source):
                    parts.add_unread(target, source)
                    continue
                read.add(target.name)
                context.requested.add_domain(source.domain, source.running)
                context.observers.add_domain(source.running)
                self._plan_domain(target, source, planner, parts)
        finally:
            if guests is not None:
                guests.close()
        parts.add_unread_targets(targets, read)

    def missing(self) -> list[str]:
        """Always empty: only domains and NICs can be named."""
        return []

    def covers(self, found: Planned) -> bool:
        """Always False: nothing that others plan is covered by domains."""
        del found
        return False

    def _nics(self, targets: tuple[Target, ...], names: InterfaceNames) -> NicContext:
        """The context in which all NICs are planned."""
        context, to = self._context, self._context.options.to
        return NicContext(
            context.options,
            context.adapters.texts,
            context.adapters.machine.vdpa_devices() if to == "vdpa" else None,
            {} if to == "virtio" else _users(targets, context.run.live, self._platforms),
            names,
            context.judges.work.platforms.wordings,
        )

    def _plan_domain(
        self, target: Target, source: Source, planner: DomainPlanner, parts: PlanParts
    ) -> None:
        """Add the planned items of one domain to ``parts``. All domains of a file share the CPU
        time of one file; a file that exceeds it is reported, and the run goes on."""
        found, file = parts.planned[target.name], source.file
        if file is None:
            found.extend(planner.plan(source))
            return
        if file != self._file:
            self._file, self._deadline = file, Deadline(FILE_SECONDS)
        elif self._late:
            return
        self._late = False
        try:
            with self._deadline:
                found.extend(planner.plan(source))
        except OutOfTime:
            self._late = True
            parts.errors[target.name].append(f"{file}: {_TOO_LONG}")

    def _sources(
        self, targets: tuple[Target, ...]
    ) -> Iterator[tuple[Target, Source | ReadError | NotJudged]]:
        """All domains; a file in two targets is read once."""
        context = self._context
        is_of_use = context.observers.add_description
        if context.read_hosts is not None:
            yield from self._host_sources(context.read_hosts, targets)
            return
        for target in targets:
            files = FileCount(
                target.name, context.run.selection, context.seen_files, context.file_progress
            )
            if target.kind == "path":
                files.begin()
            found = sources(
                target, context.run, self._platforms, context.seen_files, is_of_use, files.read
            )
            for number, source in enumerate(found, 1):
                context.on_progress(target.name, number)
                yield target, source

    def _host_sources(
        self, read_hosts: ReadHosts, targets: tuple[Target, ...]
    ) -> Iterator[tuple[Target, Source | ReadError]]:
        """Domains of live hosts, in the order in which the hosts were read; the planned items are
        put into the order of the targets."""
        for target, items in read_hosts(targets):
            for number, source in enumerate(live_sources(target.name, items), 1):
                self._context.on_progress(target.name, number)
                yield target, source


def _users(
    targets: Iterable[Target], live: LiveOptions, platforms: Platforms
) -> dict[tuple[str, str], str]:
    """(host, device or socket) -> the domain on a live host that uses it, by its definition or
    while it runs: two guests cannot share one."""
    kinds = ((target.name, platforms.kind_of(target)) for target in targets)
    return {
        (name, nic.source): source.domain.name
        for name, kind in kinds
        if kind is not None and kind.definitions is not None
        for source in live_sources(name, kind.definitions(name, live))
        if isinstance(source, Source)
        for nic in (*source.running.nics, *source.domain.nics)
        if nic.source is not None and nic.declared.type in ("vdpa", "vhostuser")
    }
