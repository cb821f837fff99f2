"""Live hosts, and files with definitions, as targets of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.reading.targets import Platforms, Target
from vnicaudit.audit.tally import FileCount
from vnicaudit.base.deadlines import FILE_SECONDS, Deadline, OutOfTime
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import NotPlanned, Planned, Reason
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.planning import backends
from vnicaudit.remedy.planning.nic import EditedNic, NicFacts, OwnerEditedNic, PlannedNic
from vnicaudit.remedy.planning.policy import Tuning, planned_tuning
from vnicaudit.remedy.planning.run import PlanRequest, PlanRun, TargetPlanner
from vnicaudit.remedy.planning.source import (
    AgentNames,
    DomainSource,
    JudgedDomain,
    live_sources,
    no_names,
    sources,
)
from vnicaudit.remedy.planning.subject import NotPlannedError, plan_subject, reason_of

# A domain -> steps, one for each NIC to be changed, and the NICs that are not planned.


_TEMPLATE = (
    "the file is a template ({}): plan its rendered form; audit --fix can change literal values "
    "in it"
)
_LONE = "only its <interface> was given: plan the definition of its domain (virsh dumpxml)"
MOST_NICS = 256
"""Maximum number of NICs of a domain that is planned: each step is judged, and shown, with the
whole definition."""
_TOO_MANY = f"the domain has more than {MOST_NICS} NICs: it is not planned"
_LIVE_ONLY = Reason(
    "live-only", "only the running guest has it: it was attached live and is not in the definition"
)


class DomainPlanner:
    """Plans one domain after the other."""

    def __init__(self, request: PlanRequest, facts: NicFacts) -> None:
        self._request = request
        self._facts = facts
        self._options = request.options

    def plan(self, source: DomainSource) -> Iterator[Planned]:
        """The steps of one domain, and its NICs that are not planned."""
        domain = source.domain
        if not self._options.takes(domain.name, domain.uuid):
            return
        try:
            judged = self._judged_domain(source)
        except RefusedError as error:
            for nic in filter(self._takes, domain.nics):
                yield _not_planned(domain, nic, source, reason_of(error))
            return
        tuning = self._tuning(judged)
        for nic in filter(self._takes, domain.nics):
            if backends.owner_blocks(domain):
                subject: PlannedNic = OwnerEditedNic(self._request, judged, nic, self._facts)
            else:
                given = tuning.get(nic.index)
                subject = EditedNic(self._request, judged, nic, self._facts, given)
            yield from plan_subject(subject)
        yield from self._plugged_in(source)

    def _judged_domain(self, source: DomainSource) -> JudgedDomain:
        """The domain, judged. Raises RefusedError for a domain that is not planned at all."""
        if source.domain.declared.is_lone_nic:
            raise NotPlannedError(Reason("no-domain", _LONE))
        if source.domain.template:
            text = _TEMPLATE.format(source.domain.template)
            raise NotPlannedError(Reason("template", text))
        if len(source.domain.nics) > MOST_NICS:
            raise NotPlannedError(Reason("too-many-nics", _TOO_MANY))
        return JudgedDomain(source, self._request)

    def _takes(self, nic: Nic) -> bool:
        return not self._options.macs or nic.mac in self._options.macs

    def _plugged_in(self, source: DomainSource) -> Iterator[NotPlanned]:
        """Running NICs that are not virtio and that no definition has."""
        known = {nic.mac for nic in source.domain.nics}
        for nic in filter(self._takes, source.running.nics):
            emulated = nic.declared.model not in (None, *VIRTIO)
            if source.text and emulated and nic.mac is not None and nic.mac not in known:
                yield _not_planned(source.running, nic, source, _LIVE_ONLY)

    def _tuning(self, judged: JudgedDomain) -> dict[int, Tuning]:
        """NIC index -> the queues and rings that the policy gives to each NIC that is or becomes
        virtio."""
        domain = judged.source.domain
        chosen = {
            nic.index: self._options.to for nic in domain.nics
            if nic.declared.model in VIRTIO or judged.findings_of(nic)
        }  # fmt: skip
        return planned_tuning(self._options.policy, domain.declared, domain.nics, chosen)


def _not_planned(domain: Domain, nic: Nic, source: DomainSource, reason: Reason) -> NotPlanned:
    return NotPlanned(
        domain.ref_of(nic), source.target, (), reason.text, code=reason.code,
        file=source.file, line=source.line,
    )  # fmt: skip


_TOO_LONG = (
    f"took more than {FILE_SECONDS:.0f} s of CPU time to plan: given up, and the rest of it is "
    "left out"
)


class DomainTargetPlanner(TargetPlanner):
    """Plans domains of live hosts, and in files."""

    def __init__(self, run: PlanRun) -> None:
        super().__init__(run)
        self._file = ""
        self._deadline = Deadline(FILE_SECONDS)
        """The deadline of ``_file``, whose domains are being planned."""
        self._late = False

    def takes(self, target: Target) -> bool:
        """True for a live host, and for a target that may be a file."""
        kind = self._platforms.kind_of(target)
        return kind is None or kind.definitions is not None

    def plan(self, targets: tuple[Target, ...]) -> None:
        """Plan each domain once."""
        run, request = self._run, self._request
        live, to = request.reading.live, request.options.to
        guests = AgentNames(request.adapters, live.deadline) if live.agent else None
        facts = NicFacts(
            request.adapters.machine.vdpa_devices() if to == "vdpa" else None,
            {} if to == "virtio" else _users(targets, live, self._platforms),
            guests or no_names,
        )
        planner = DomainPlanner(request, facts)
        read: set[str] = set()
        try:
            for target, source in self._sources(targets):
                if not isinstance(source, DomainSource):
                    run.add_unread(target, source)
                    continue
                read.add(target.name)
                run.requested.add_domain(source.domain, source.running)
                for other in run.planners:
                    other.learns(source.running)
                self._plan_domain(target, source, planner)
        finally:
            if guests is not None:
                guests.close()
        run.add_unread_targets(targets, read)

    def _plan_domain(self, target: Target, source: DomainSource, planner: DomainPlanner) -> None:
        """Add the planned items of one domain to the run. All domains of a file share the CPU
        time of one file; a file that exceeds it is reported, and the run goes on."""
        found, file = self._run.planned[target.name], source.file
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
            self._run.errors[target.name].append(f"{file}: {_TOO_LONG}")

    def _sources(
        self, targets: tuple[Target, ...]
    ) -> Iterator[tuple[Target, DomainSource | ReadError | NotJudged]]:
        """All domains; a file in two targets is read once. Live hosts are in the order in which
        they were read; the planned items are put into the order of the targets."""
        hosts = self._request.read_hosts
        found = (
            ((target, live_sources(target.name, items)) for target, items in hosts(targets))
            if hosts is not None
            else ((target, self._in_target(target)) for target in targets)
        )
        for target, items in found:
            for number, source in enumerate(items, 1):
                self._request.progress(target.name, number)
                yield target, source

    def _in_target(self, target: Target) -> Iterator[DomainSource | ReadError | NotJudged]:
        run, options = self._run, self._request.reading
        files = FileCount(target.name, options.selection, run.seen_files, self._request.progress)
        if target.kind == "path":
            files.begin()
        return sources(target, options, self._platforms, run.seen_files, run.is_of_use, files.read)


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
        if isinstance(source, DomainSource)
        for nic in (*source.running.nics, *source.domain.nics)
        if nic.source is not None and nic.declared.type in ("vdpa", "vhostuser")
    }
