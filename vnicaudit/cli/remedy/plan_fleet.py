"""``vnicaudit plan -i``: the hosts of an inventory, read in parallel, and their history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.reading.targets import Target, unique_targets
from vnicaudit.audit.tally import RunProgress
from vnicaudit.cli.fleet.hosts import chosen_hosts, tell_inventory
from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.cli.options.environment import Environment
from vnicaudit.cli.options.history import HistoryOptions, is_history_named
from vnicaudit.cli.options.records import state_folder
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.remedy.plan_options import PlanCommandOptions
from vnicaudit.cli.remedy.plan_output import print_plan, write_owner_files
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PlatformRegistry
from vnicaudit.errors import HistoryError, TargetError, UsageError
from vnicaudit.fleet.host_reading import HostItems, HostQueue, HostReaders, Threads
from vnicaudit.fleet.plan_history import plan_history
from vnicaudit.fleet.ranking import Estimates
from vnicaudit.history import optional_history
from vnicaudit.model.cluster import ClusterFacts
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import HOST
from vnicaudit.model.fleet import HostStatus, InventoryHost, LiveDefinition, LiveDomain, LiveOptions
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.plan import Plan, PlanHost
from vnicaudit.model.ranking import NO_HISTORY, PlanHistory
from vnicaudit.model.report import LostRead, ReadError
from vnicaudit.remedy.planning.run import PlanRequest, make_plan
from vnicaudit.reports.safe import safe
from vnicaudit.text.targets import command as own_command

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import PlannedItem


def plan_fleet(
    options: PlanCommandOptions, request: PlanRequest, environment: Environment, wiring: Wiring
) -> int:
    """Plan changes on the hosts of an inventory, read in parallel; returns the exit code."""
    platforms, quiet, live = wiring.platforms(), options.output.quiet, request.reading.live
    chosen = chosen_hosts(options.inventory, live, wiring, quiet=quiet)
    if not quiet:
        tell_inventory(chosen)
    hosts = PlannedHosts(chosen.hosts, platforms, live, environment, quiet=quiet)
    earlier = PlanHistoryReader(
        HistoryOptions(options.history, options.reading.config, options.state)
    )
    request = request._replace(
        read_hosts=hosts.read,
        progress=RunProgress(),
    )
    try:
        hosts.progress.reads()
        targets = unique_targets(hosts.by_uri, platforms.targets)
        plan = make_plan(targets, platforms.planners, request)
    finally:
        hosts.progress.clear()
    planned = {step.target for step in plan.steps}
    plan = replace(plan, hosts=tuple(
        PlanHost(host.name, uri, host.site, host.groups)
        for uri, host in hosts.by_uri.items() if uri in planned
    ))  # fmt: skip
    state = state_folder(options.state)
    print_plan(plan, options.plan_file, options.group_by or "change", options.output,
               lambda path: own_command(f"apply {path}", state), diff=options.diff,
               history=lambda: earlier.of(plan, hosts))  # fmt: skip
    if options.patches is not None:
        write_owner_files(plan, options.patches)
    if earlier.missing and (earlier.is_failed or not quiet):
        kind = "Error" if earlier.is_failed else "Note"
        text = f"{kind}: the plan is shown without facts from earlier audits: {earlier.missing}"
        tell(safe(text))
    if not quiet:
        tell(hosts.progress.summary())
    return TargetError.exit_code if plan.errors or earlier.is_failed else 0


_PLANNED_KINDS = (HOST, "kube")
"""Kinds of targets that are planned without definitions of domains."""


class PlannedHosts:
    """The hosts of an inventory whose changes are planned. ``progress`` counts them; ``unread``:
    URIs of those that could not be read."""

    def __init__(
        self,
        hosts: Sequence[InventoryHost],
        platforms: PlatformRegistry,
        live: LiveOptions,
        limits: Environment,
        *,
        quiet: bool,
    ) -> None:
        """Raises UsageError for a host of which nothing can be planned."""
        self.by_uri: dict[str, InventoryHost] = {}
        for host in hosts:
            kind = platforms.kind_of(next(iter(unique_targets([host.uri], platforms.targets))))
            if kind is None or (kind.definitions is None and kind.kind not in _PLANNED_KINDS):
                raise UsageError(
                    f"{host.source}: {host.name}: no changes can be planned for {host.uri}"
                )
            self.by_uri.setdefault(host.uri, host)
        self.unread: set[str] = set()
        self.progress = FleetProgress(len(self.by_uri), enabled=not quiet)
        self._platforms = platforms
        self._live = live
        self._limits = limits

    def read(self, targets: Sequence[Target]) -> Iterator[tuple[Target, Iterator[PlannedItem]]]:
        """Everything to be planned on each host, in whatever order the hosts are read."""
        by_uri = {target.name: target for target in targets}
        chosen = [self.by_uri[uri] for uri in by_uri]
        limits = self._limits
        queued = HostQueue(enumerate(chosen), limits.per_site)
        engine = Threads(self._platforms.read_to_plan, self._live, limits.host_deadline)
        with closing(HostReaders["PlannedItem"](queued, engine, limits).results()) as results:
            for done in results:
                self._count(done)
                yield by_uri[done.host.uri], iter(done.items)

    def _count(self, done: HostItems[PlannedItem]) -> None:
        domains = sum(isinstance(item, LiveDefinition | LiveDomain | Domain) for item in done.items)
        is_read = domains or any(isinstance(item, HostFacts | ClusterFacts) for item in done.items)
        errors = [item for item in done.items if isinstance(item, ReadError)]
        lost = next((one.failure for one in errors if isinstance(one, LostRead)), None)
        status: HostStatus = "ok" if not errors else "partial" if is_read else "failed"
        if status == "failed":
            self.unread.add(done.host.uri)
        self.progress.count_host(status, lost, domains)


# The history of a fleet while a plan is made. It is queried but never written, and its absence
# never prevents planning, unless it was named on the command line.


class PlanHistoryReader:
    """The history used for a plan. ``missing``: why it adds nothing, for a note; empty: it can be
    used, or nobody ever made one. ``is_failed``: it was named on the command line, and could not be
    read once the hosts were read."""

    def __init__(self, options: HistoryOptions) -> None:
        """Raises UsageError if the history named on the command line cannot be opened."""
        self._place = options.place
        self._is_used = options.is_named or self._place.exists
        self.missing = ""
        self.is_failed = False
        if self._is_used:
            self._check()

    def _check(self) -> None:
        try:
            with optional_history(self._place):
                pass
        except (UsageError, HistoryError) as error:
            if is_history_named():
                raise UsageError(str(error)) from None
            self.missing = str(error)

    def of(self, plan: Plan, hosts: PlannedHosts) -> PlanHistory:
        """The facts known about a plan."""
        if self.missing or not self._is_used:
            return NO_HISTORY
        names = [host.name for host in hosts.by_uri.values()]
        marks = {one.fingerprint for step in plan.steps for one in step.findings}
        try:
            with optional_history(self._place) as history:
                known, gains = history.last_readings(names, marks), history.gains()
        except (UsageError, HistoryError) as error:
            self.missing, self.is_failed = str(error), is_history_named()
            return NO_HISTORY
        if not (known.hosts or known.marks):
            self.missing = f"history {self._place.label}: it has no audit of these hosts"
        return plan_history(plan, hosts.by_uri, hosts.unread, known, Estimates(gains))
