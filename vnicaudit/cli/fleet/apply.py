"""``vnicaudit fleet apply``: apply a plan to the hosts of an inventory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal, get_args

import click
import msgspec

from vnicaudit.cli.fleet.next_audit import tell_next_audit
from vnicaudit.cli.fleet.options import (
    ChosenHosts,
    InventoryOptions,
    chosen_hosts,
    inventory_notes,
    inventory_options,
)
from vnicaudit.cli.fleet.request import check_hosts, sources_of
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.reading import HistoryOptions, history_option
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_option
from vnicaudit.cli.options.remedy import (
    ApplyScheduleOptions,
    ConnectionOptions,
    NovaManageOptions,
    RemedyOptions,
    apply_schedule_options,
    deadline_option,
    mode_option,
    run_context,
)
from vnicaudit.cli.output.files import emit, flush
from vnicaudit.cli.output.process import hang_up_noted
from vnicaudit.cli.output.progress import RunTelling, tell
from vnicaudit.cli.remedy.apply import print_dry_run, print_no_run, read_plan
from vnicaudit.cli.remedy.run_output import (
    confirm,
    print_run,
    split_steps,
    tell_damage,
    tell_reasons,
)
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.apply import apply, dry_run_apply
from vnicaudit.remedy.applying.journal.past_run import damaged
from vnicaudit.reports.plan.json import from_json
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.safe import safe
from vnicaudit.text.diff import unsafe_parts

if TYPE_CHECKING:
    from vnicaudit.model.fleet import InventoryHost
    from vnicaudit.model.plan import Plan, Step
    from vnicaudit.remedy.applying.apply import RunContext

CanaryBy = Literal["group", "site", "host", "fleet"]
_NO_CLOUD = NovaManageOptions(None, "nova-manage", 60.0, 1, None)

_EPILOG = """\b
Examples:
  vnicaudit fleet apply plan.json -i fleet.toml --dry-run
  vnicaudit fleet apply plan.json -i fleet.toml           takes effect at the next power cycle
  vnicaudit fleet apply plan.json -i fleet.toml --limit zone_a --yes
  vnicaudit fleet apply plan.json -i fleet.toml --mode restart --canary 2 --canary-by site \\
      --batch 10 --max-failures 3 --window 22:00-04:00 --yes

\b
To resume an interrupted run, repeat the command; to undo it, use `vnicaudit rollback RUN`. A host
with an unfinished change stays locked until then. Hosts that did not answer, or that another
operator has locked, are listed; repeat the command after the run to change them.

\b
To measure (--bench) or to change a cloud (--nova-manage), use `vnicaudit apply`.

\b
Exit codes: the same as for `vnicaudit apply`."""


class FleetApplyOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit fleet apply``."""

    plan: str
    inventory: InventoryOptions
    mode: Mode
    include_unsafe: bool
    format: Format
    schedule: ApplyScheduleOptions
    canary_by: CanaryBy
    without_host_lock: bool
    deadline: float
    history: str | None
    state: str | None
    output: OutputOptions

    def remedy(self, hosts: Iterable[InventoryHost]) -> RemedyOptions:
        """These options in the form used by the other commands on runs. URIs in the inventory were
        written by the user, so they are trusted."""
        own = (host.uri for host in hosts if unsafe_parts(host.uri))
        trusted = tuple(dict.fromkeys((*self.inventory.trusted_uris, *own)))
        connection = ConnectionOptions(self.deadline, trusted)
        return RemedyOptions(
            state=self.state, connection=connection, cloud=_NO_CLOUD, output=self.output
        )


@click.command("apply", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("plan", metavar="PLAN", type=click.Path(dir_okay=False))
@inventory_options
@mode_option("next-boot")
@click.option("--include-unsafe", is_flag=True, help="Also apply the unsafe steps of the plan.")
@format_option
@apply_schedule_options
@deadline_option
@click.option(
    "--canary-by",
    type=click.Choice(get_args(CanaryBy)),
    default="group",
    show_default=True,
    help="Choose --canary canaries in each group of the inventory (or site, or host); all canaries "
    "go before any batch. A host without a group counts by its site. fleet: all hosts are one "
    "group.",
)
@click.option(
    "--without-host-lock",
    is_flag=True,
    help="Do not lock the hosts. Use this for hosts that cannot hold a lock and that nobody else "
    "changes. Runs with the same state directory still exclude each other.",
)
@history_option
@state_option
@output_options
@pass_wiring
@as_record(FleetApplyOptions)
def command(options: FleetApplyOptions, wiring: Wiring) -> int:
    """Apply a PLAN to the hosts of an inventory, host by host.

    This works like `vnicaudit apply`, for many hosts. Each host is connected to when its turn
    comes, and locked on the host itself during the work, so that an operator on another machine
    cannot change it at the same time. A host that does not answer, or that somebody else has
    locked, is skipped. Canaries of each group go first; if a canary fails, nothing else is changed.
    """
    sources = sources_of(LiveOptions(), wiring.platforms())
    chosen = chosen_hosts(options.inventory, sources, quiet=options.output.quiet)
    check_hosts(chosen.hosts, wiring)
    data = read_plan(options.plan)
    whole = from_json(data, options.plan)
    plan = _of_hosts(whole, chosen)
    targets = {step.target for step in plan.steps}
    remedy = options.remedy(host for host in chosen.hosts if host.uri in targets)
    context = _context(options, remedy, chosen.hosts, wiring)
    unsafe, quiet = options.include_unsafe, options.output.quiet
    steps, not_done = split_steps(plan, context.kinds, options.mode, unsafe=unsafe)
    if not quiet:
        _tell_notes(chosen, plan, whole)
        if steps:
            _print_steps(plan, steps, options)
    tell_reasons(not_done)
    if not steps:
        return print_no_run(not_done, context.kinds, options)
    if options.schedule.dry_run:
        units = dry_run_apply(steps, data, context)
        return print_dry_run(units, not_done, options.format, options.mode, options.output)
    hosts = len({step.target for step in steps})
    confirm(
        f"Apply {len(steps):,} of {len(plan.steps):,} steps on {hosts:,} hosts, "
        f"--mode {options.mode}?",
        yes=options.schedule.yes,
    )
    tell_damage(damaged(context.state))
    with hang_up_noted() as halted:
        context = msgspec.structs.replace(context, halted=halted)
        total = len(context.kinds.units(steps))
        with closing(RunTelling(quiet=quiet, total=total, waits=True)) as say:
            done = apply(steps, data, context, say)
    code = print_run(done, remedy, context.kinds, refused=bool(not_done), form=options.format)
    if not quiet:
        place = HistoryOptions(options.history, None, (), options.state)
        tell_next_audit(done.run, chosen.hosts, options.inventory, place)
    return code


def _context(
    options: FleetApplyOptions,
    remedy: RemedyOptions,
    hosts: Sequence[InventoryHost],
    wiring: Wiring,
) -> RunContext:
    context = run_context(remedy, wiring, options.mode, options.schedule)
    groups = {host.uri: _canary_groups(host, options.canary_by) for host in reversed(hosts)}
    schedule = msgspec.structs.replace(
        context.schedule, groups=groups if options.canary_by != "fleet" else {}
    )
    return msgspec.structs.replace(
        context,
        schedule=schedule,
        host_by_host=True,
        without_host_lock=options.without_host_lock,
    )


def _canary_groups(host: InventoryHost, by: CanaryBy) -> tuple[str, ...]:
    site = f"site {host.site}" if host.site else "no group"
    if by == "host":
        return (f"host {host.name}",)
    return host.groups if by == "group" and host.groups else (site,)


def _of_hosts(plan: Plan, chosen: ChosenHosts) -> Plan:
    """The plan's steps on the chosen hosts. Raises UsageError for a step on a host outside the
    whole inventory, and if no step is left."""
    known = {host.uri for host in chosen.inventory.hosts}
    for step in plan.steps:
        if step.target not in known:
            raise UsageError(
                f"step {step.id} of the plan is for {step.target[:200]}, which is not in the "
                "inventory: use the inventory that the plan was made with (or `vnicaudit apply`)"
            )
    uris = {host.uri for host in chosen.hosts}
    steps = tuple(step for step in plan.steps if step.target in uris)
    if plan.steps and not steps:
        raise UsageError("--limit: the plan has no step for these hosts")
    return msgspec.structs.replace(plan, steps=steps, not_planned=(), errors=())


def _tell_notes(chosen: ChosenHosts, plan: Plan, whole: Plan) -> None:
    for note in inventory_notes(chosen):
        tell(safe(f"Note: {note}"))
    if len(plan.steps) < len(whole.steps):
        rest = len(whole.steps) - len(plan.steps)
        tell(f"Note: {rest:,} of {len(whole.steps):,} steps are for other hosts (--limit)")


def _print_steps(plan: Plan, steps: list[Step], options: FleetApplyOptions) -> None:
    if options.format != "text":
        return
    shown = msgspec.structs.replace(plan, steps=tuple(steps))
    for text in render(shown, screen_options(options.output, group_by="change")):
        emit(text)
    flush()
