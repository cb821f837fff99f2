"""``vnicaudit fleet plan``: plan changes on the hosts of an inventory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from vnicaudit.audit.reading.targets import Target, unique_targets
from vnicaudit.cli.fleet.options import (
    InventoryOptions,
    RunningOptions,
    chosen_hosts,
    inventory_notes,
    inventory_options,
    inventory_words,
    limits_of,
    running_options,
)
from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.cli.fleet.request import check_hosts, sources_of
from vnicaudit.cli.options.filters import domain_option
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.reading import (
    HistoryOptions,
    ReadingOptions,
    history_option,
    is_on_command_line,
    named_history,
    reading_of,
    reading_options,
)
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_folder, state_option
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.remedy.plan import print_plan, works_of
from vnicaudit.cli.remedy.plan_options import plan_file_option, plan_rule_options
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import HistoryError, TargetError, UsageError
from vnicaudit.fleet.plan_history import plan_history
from vnicaudit.fleet.ranking import Estimates
from vnicaudit.fleet.running.host_reading import DefinitionItem, read_definitions
from vnicaudit.history.opening import optional_history
from vnicaudit.model.fleet import HostStatus, InventoryHost, LiveDefinition, LiveOptions
from vnicaudit.model.ranking import NO_HISTORY, PlanHistory
from vnicaudit.model.report import FailureKind, LostRead, ReadError
from vnicaudit.remedy.planning.run import PlanOptions, PlanRequest, make_plan
from vnicaudit.remedy.planning.subject import Judges
from vnicaudit.reports.plan.grouped import PLAN_GROUP_BY, PlanGroupBy
from vnicaudit.reports.safe import safe
from vnicaudit.text.diff import command as command_on

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.fleet.running.host_reading import HostItems, ReadingLimits
    from vnicaudit.model.plan import Plan
    from vnicaudit.remedy.planning.run import ReadHosts

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
            if is_on_command_line():
                raise UsageError(str(error)) from None
            self.missing = str(error)

    def of(
        self, plan: Plan, hosts: Mapping[str, InventoryHost], unread: Collection[str]
    ) -> PlanHistory:
        """The facts known about a plan. ``hosts``: by URI; ``unread``: URIs of those that could not
        be read."""
        if self.missing or not self._is_used:
            return NO_HISTORY

        names = [host.name for host in hosts.values()]
        marks = {one.fingerprint for step in plan.steps for one in step.findings}
        try:
            with optional_history(self._place) as history:
                known, gains = history.last_readings(names, marks), history.gains()
        except (UsageError, HistoryError) as error:
            self.missing, self.is_failed = str(error), is_on_command_line()
            return NO_HISTORY
        if not (known.hosts or known.marks):
            self.missing = f"history {self._place.label}: it has no audit of these hosts"
        return plan_history(plan, hosts, unread, known, Estimates(gains))


_EPILOG = """\b
Examples:
  vnicaudit fleet plan -i fleet.toml -o plan.json
  vnicaudit fleet plan -i hosts.ini --limit 'zone_a,!kvm7' -o plan.json
  vnicaudit fleet plan -i fleet.toml --group-by host     by host, not by change
  vnicaudit fleet plan -i fleet.toml --select VNIC001 -o plan.json
  vnicaudit fleet plan -i fleet.toml --history postgresql://audit@db/vnicaudit -o plan.json

\b
Exit codes: 0 planned (or nothing to change), 2 usage, configuration or a mistake in an inventory,
4 a host could not be read (each is explained), or --history failed once the hosts were read; the
rest is planned."""


class FleetPlanOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit fleet plan``."""

    inventory: InventoryOptions
    running: RunningOptions
    plan_file: str | None
    domains: tuple[str, ...]
    include_unsafe: bool
    group_by: PlanGroupBy
    selected: tuple[str, ...]
    ignored: tuple[str, ...]
    history: str | None
    state: str | None
    reading: ReadingOptions
    output: OutputOptions


@click.command("plan", cls=SectionedCommand, epilog=_EPILOG)
@inventory_options
@running_options
@plan_file_option
@domain_option
@click.option(
    "--include-unsafe",
    is_flag=True,
    help="Also plan unsafe changes, for example for a guest that may lack a virtio driver.",
)
@click.option(
    "--group-by",
    type=click.Choice(PLAN_GROUP_BY),
    default="change",
    show_default=True,
    help="Merge identical steps into one entry with a count and some names; blocked and unsafe "
    "steps come first. The plan file still has each step.",
)
@plan_rule_options
@history_option
@state_option
@reading_options
@output_options
@pass_wiring
@as_record(FleetPlanOptions)
def command(options: FleetPlanOptions, wiring: Wiring) -> int:
    """Plan changes on the hosts of an inventory, for review.

    Hosts are read in parallel over read-only connections; nothing is changed. If a host cannot be
    read, the others are still planned, and the exit code is 4. The plan file is the same as that of
    `vnicaudit plan`; apply it with `vnicaudit fleet apply`.

    If there is a history of audits, the plan also tells how old its findings are, how many are new,
    and what is open on hosts that could not be read. The history is only read.
    """
    platforms = wiring.platforms()
    read = reading_of(options.reading, (), verbose=options.output.verbose)
    sources = sources_of(read.options.live, platforms)
    chosen = chosen_hosts(options.inventory, sources, quiet=options.output.quiet)
    check_hosts(chosen.hosts, wiring)
    quiet = options.output.quiet
    for note in () if quiet else inventory_notes(chosen):
        tell(safe(f"Note: {note}"))
    hosts = _hosts_by_uri(chosen.hosts, platforms)
    earlier = PlanHistoryReader(_history(options))
    progress = FleetProgress(len(hosts), enabled=not quiet)
    wanted = PlanOptions(
        domains=frozenset(options.domains),
        unsafe=options.include_unsafe,
        policy=read.settings.settings.policy,
    )
    unread: set[str] = set()
    request = PlanRequest(
        Judges(*works_of(options.selected, options.ignored, read, platforms)),
        wiring.adapters(), read.options, wanted, lambda _target, _number: None,
        _reader(hosts, platforms, read.options.live, limits_of(options.running),
                _told(progress, unread)),
    )  # fmt: skip
    try:
        progress.reads()
        plan = make_plan(unique_targets(hosts, platforms.targets), platforms.planners, request)
    finally:
        progress.clear()
    more = inventory_words(options.inventory) + named_history()
    state = state_folder(options.state)
    print_plan(plan, options.plan_file, options.group_by, options.output,
               lambda path: command_on(f"fleet apply {path}{more}", state),
               history=lambda: earlier.of(plan, hosts, unread))  # fmt: skip
    if earlier.missing and (earlier.is_failed or not quiet):
        kind = "Error" if earlier.is_failed else "Note"
        text = f"{kind}: the plan is shown without facts from earlier audits: {earlier.missing}"
        tell(safe(text))
    if not quiet:
        tell(progress.summary())
    return TargetError.exit_code if plan.errors or earlier.is_failed else 0


def _history(options: FleetPlanOptions) -> HistoryOptions:
    reading = options.reading
    return HistoryOptions(options.history, reading.config, reading.trusted_settings, options.state)


class _HostDone(NamedTuple):
    status: HostStatus
    failure: FailureKind | None
    domains: int


def _hosts_by_uri(
    hosts: Sequence[InventoryHost], platforms: PlatformRegistry
) -> dict[str, InventoryHost]:
    """URI -> the first host with that URI. Raises UsageError for a host without definitions."""
    found: dict[str, InventoryHost] = {}
    for host in hosts:
        kind = platforms.kind_of(next(iter(unique_targets([host.uri], platforms.targets))))
        if kind is None or kind.definitions is None:
            raise UsageError(
                f"{host.source}: {host.name}: no changes can be planned for {host.uri}"
            )
        found.setdefault(host.uri, host)
    return found


def _reader(
    hosts: dict[str, InventoryHost],
    platforms: PlatformRegistry,
    live: LiveOptions,
    limits: ReadingLimits,
    on_host: Callable[[HostItems[DefinitionItem]], None],
) -> ReadHosts:
    def read(targets: Sequence[Target]) -> Iterator[tuple[Target, Iterator[DefinitionItem]]]:
        by_uri = {target.name: target for target in targets}
        chosen = [hosts[uri] for uri in by_uri]
        done = read_definitions(chosen, platforms.read_definitions, live, limits, on_host)
        return ((by_uri[host.uri], items) for host, items in done)

    return read


def _told(progress: FleetProgress, unread: set[str]) -> Callable[[HostItems[DefinitionItem]], None]:
    """Counts each host that is done, and adds the URI of one that could not be read to
    ``unread``."""

    def told(done: HostItems[DefinitionItem]) -> None:
        domains = sum(isinstance(item, LiveDefinition) for item in done.items)
        errors = [item for item in done.items if isinstance(item, ReadError)]
        lost = next((one.failure for one in errors if isinstance(one, LostRead)), None)
        status: HostStatus = "ok" if not errors else "partial" if domains else "failed"
        if status == "failed":
            unread.add(done.host.uri)
        progress(_HostDone(status, lost, domains))

    return told
