"""``vnicaudit apply``: apply a plan."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.base.wording import close_to, count
from vnicaudit.cli.options.output import screen_options
from vnicaudit.cli.options.records import SectionedCommand, is_on_command_line, takes
from vnicaudit.cli.options.remedy import ApplyOptions, CanaryBy, check_reach, run_context
from vnicaudit.cli.output.files import emit, flush
from vnicaudit.cli.output.process import hang_up_noted
from vnicaudit.cli.output.progress import confirm, tell
from vnicaudit.cli.output.run_progress import RunTelling
from vnicaudit.cli.remedy.run_output import (
    nothing_to_apply,
    print_dry_run,
    print_run,
    split_steps,
    tell_damage,
    tell_not_applied,
)
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.plan import Mode, ServerUnit
from vnicaudit.remedy.applying.apply import apply, dry_run_apply
from vnicaudit.remedy.applying.journal.past_run import damaged
from vnicaudit.reports.plan import MAX_BYTES, from_json
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.runs import runs_json
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vnicaudit.cli.remedy.apply_bench import Measurement
    from vnicaudit.model.plan import Mode, Plan, PlanHost, Step
    from vnicaudit.model.runs import Preview
    from vnicaudit.remedy.applying.apply import RunContext
    from vnicaudit.remedy.applying.driver import KindTable
    from vnicaudit.remedy.applying.runner import RunResult
    from vnicaudit.reports.writers import View

_LISTS_STEPS = "; `vnicaudit apply --dry-run` without --domain and --nic lists all steps"

_EPILOG = """\b
Examples:
  vnicaudit apply plan.json --dry-run
  vnicaudit apply plan.json                       takes effect at the next power cycle
  vnicaudit apply plan.json --mode restart --canary 1 --batch 5 --window 22:00-04:00 --yes
  vnicaudit apply plan.json --domain mail-01 --domain web-01
  vnicaudit apply plan.json --mode hotswap
  vnicaudit apply plan.json --mode hotswap --bench quick --bench-peer ssh://root@gen1
  VNICAUDIT_NOVA_MANAGE=ssh://controller vnicaudit apply cloud.json --mode restart
  vnicaudit apply fleet.json --limit zone_a --mode restart --canary 2 --canary-by site --batch 10

\b
To resume an interrupted run, repeat the command; to undo it, use `vnicaudit rollback RUN`.

\b
Exit codes: 0 all applied, 2 usage, 4 a host could not be reached, 5 something was
refused, failed or could not be verified, 6 something was rolled back because it
made things worse, or was not changed because the new NIC measured no better than
the old one, 130 interrupted."""


@click.command("apply", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("plan", metavar="PLAN", type=click.Path(dir_okay=False))
@pass_wiring
@takes(ApplyOptions)
def command(options: ApplyOptions, wiring: Wiring) -> int:
    """Apply a PLAN made by `vnicaudit plan`: redefine, restart or hot-swap, then verify.

    OpenStack servers are stopped, changed with nova-manage on a controller, and started. Objects of
    a cluster are patched; a virtual machine is restarted by KubeVirt, and not hot-swapped.

    A step is refused if its definition has changed since the plan was made. Each action is written
    to a journal first, and the original definitions are saved. Afterwards the running guests are
    checked, and a guest that does not come back is rolled back automatically. With --bench, so is a
    guest that the change does not make faster.

    For a plan of an inventory (plan -i), each host is connected to when its turn comes, and locked
    on the host itself during the work, so that an operator on another machine cannot change it at
    the same time. A host that does not answer, or that somebody else has locked, is skipped: repeat
    the command after the run. Canaries of each group go first; if one fails, nothing else is
    changed.
    """
    _check_format(options)
    with as_usage_error(options.plan):
        data = read_regular(options.plan, MAX_BYTES + 1)
    whole, kinds = from_json(data, options.plan), wiring.platforms().unit_kinds()
    named = chosen_steps(whole.steps, options.domains, options.macs)
    plan = replace(whole, steps=_on_hosts(named, whole.hosts, options))
    steps, not_done = split_steps(plan, kinds, options.mode, unsafe=options.include_unsafe)
    context = _context(whole.hosts, options, wiring)
    if steps:
        _print_plan(plan, steps, options)
    tell_not_applied(not_done)
    if not steps:
        return _print_no_run(not_done, kinds, options)
    _check_reachable(steps, context, options)
    measurement = _measurement(options, wiring)
    if options.schedule.dry_run:
        units = dry_run_apply(steps, data, context)
        return print_dry_run("apply", options.mode, units, options, [why for _, why in not_done])
    if measurement is not None:
        measurement.choose_design(context.kinds.units(steps))
    where = f" on {len({step.target for step in steps}):,} hosts" if whole.hosts else ""
    if len(steps) < len(whole.steps):
        where += f" ({len(steps):,} of {len(whole.steps):,} steps)"
    confirm(f"{_question(steps)}{where}? {_EFFECTS[options.mode]}.", yes=options.schedule.yes)
    tell_damage(damaged(context.state))
    refused = RefusedError.exit_code if not_done else 0
    if measurement is not None and measurement.in_turns:
        # a hang-up ends it: it restores the guest, and would otherwise go on for hours
        return measurement.apply_in_turns(steps, data, context) or refused
    with hang_up_noted() as halted:
        context = replace(context, halted=halted)
        done = _applied(steps, data, context, measurement, options)
    return print_run(done, options, kinds, refused=bool(not_done), form=options.format)


_EFFECTS: dict[Mode, str] = {
    "next-boot": "Running guests keep running and get the change when next powered off and on",
    "restart": "Running guests are shut down and started",
    "hotswap": "NICs are replaced while their guests run",
}


def _question(steps: list[Step]) -> str:
    """``Change 1 NIC of mail-01``, ``Change 3 NICs of 2 guests``, ``Apply 4 steps``."""
    if any(step.about.kind != "nic" for step in steps):
        return f"Apply {count(len(steps), 'step')}"
    guests = {(step.target, step.about.id or step.about.name): step.about.name for step in steps}
    whose = next(iter(guests.values())) if len(guests) == 1 else None
    return f"Change {count(len(steps), 'NIC')} of {safe(whose or count(len(guests), 'guest'))}"


def _measurement(options: ApplyOptions, wiring: Wiring) -> Measurement | None:
    """How guests are to be measured; None: they are not. Raises UsageError for options that do not
    go together."""
    if options.trials.bench is None:
        for name in ("bench_peer", "on_undecided"):
            if is_on_command_line(name):
                raise UsageError(f"--{name.replace('_', '-')} needs --bench PROFILE")
        return None
    # imported here: most plans are applied without it, and it loads all that measures
    from vnicaudit.cli.remedy.apply_bench import Measurement

    return Measurement(options, options.trials.bench, wiring.adapters)


def _applied(
    steps: list[Step], data: bytes, context: RunContext, measurement: Measurement | None,
    options: ApplyOptions,
) -> RunResult:  # fmt: skip
    """Apply the steps; each guest is measured before and after, if requested."""
    trials = None if measurement is None else measurement.trials
    total = len(context.kinds.units(steps))
    try:
        with closing(
            RunTelling(quiet=options.output.quiet, total=total, waits=trials is None)
        ) as tell_each:
            return apply(steps, data, context, tell_each, trials)
    finally:
        if measurement is not None:
            measurement.show_results()


def _check_format(options: ApplyOptions) -> None:
    """Raises UsageError if the text of a measurement would end up inside a JSON document."""
    if options.format != "text" and options.trials.bench and not options.schedule.dry_run:
        raise UsageError(
            "--format json cannot be used with --bench: use `vnicaudit runs --format json` and "
            "`vnicaudit bench show` afterwards"
        )


def _check_reachable(steps: list[Step], context: RunContext, options: ApplyOptions) -> None:
    """Raises UsageError for a step on a target that these options do not reach, or that cannot be
    measured."""
    units = context.kinds.units(steps)
    check_reach(context.reach, context.kinds.by_controller(units))
    with ExitStack() as stack:  # measuring connects to them too
        context.drivers(stack, hold=False).check(units)
    if options.trials.bench is None:
        return
    for kind in (context.kinds.by_name(unit.kind) for unit in units):
        if which := kind.unmeasured:
            raise UsageError(f"--bench measures libvirt domains only; this plan has steps {which}")


def _on_hosts(
    steps: tuple[Step, ...], hosts: Sequence[PlanHost], options: ApplyOptions
) -> tuple[Step, ...]:
    """The steps on the hosts of ``--limit``. Raises UsageError if it cannot be applied, or if no
    step is left."""
    if not hosts and is_on_command_line("limit"):
        raise UsageError("--limit needs a plan of an inventory (vnicaudit plan -i)")
    if not options.limit or not hosts:
        return steps
    # imported here: most plans are of no inventory
    from vnicaudit.fleet.own_format import LimitedHosts

    known = [InventoryHost(one.name, one.uri, one.site, one.groups) for one in hosts]
    limited = LimitedHosts(known, ())
    uris = {host.uri for host in limited.limited(options.limit)}
    chosen = tuple(step for step in steps if step.target in uris)
    if steps and not chosen:
        raise UsageError("--limit: the plan has no step for these hosts")
    if not options.output.quiet:
        for pattern in limited.unmatched:
            tell(safe(f"Note: --limit: {pattern!r} matches no host or group"))
        if len(chosen) < len(steps):
            rest = len(steps) - len(chosen)
            tell(f"Note: {rest:,} of {len(steps):,} steps are for other hosts (--limit)")
    return chosen


def _context(hosts: Sequence[PlanHost], options: ApplyOptions, wiring: Wiring) -> RunContext:
    """The context of the run. The hosts of an inventory are opened one by one, each when its turn
    comes, and locked; canaries are chosen in each of their groups. A measured run has all of its
    hosts open."""
    context = run_context(options, wiring, options.mode, options.schedule, reads_settings=True)
    context = replace(context, host_names={host.uri: host.name for host in hosts})
    if not hosts or options.trials.bench is not None:
        return context
    groups = {host.uri: _canary_groups(host, options.canary_by) for host in reversed(hosts)}
    schedule = replace(context.schedule, groups=groups if options.canary_by != "fleet" else {})
    return replace(
        context,
        schedule=schedule,
        host_by_host=True,
        without_host_lock=options.without_host_lock,
    )


def _canary_groups(host: PlanHost, by: CanaryBy) -> tuple[str, ...]:
    site = f"site {host.site}" if host.site else "no group"
    if by == "host":
        return (f"host {host.name}",)
    return host.groups if by == "group" and host.groups else (site,)


def chosen_steps(
    steps: Sequence[Step], domains: tuple[str, ...], macs: tuple[str, ...]
) -> tuple[Step, ...]:
    """The steps on these domains (name or UUID) and NICs; all steps if none are named. Raises
    UsageError for a domain or NIC without a step in the plan."""
    wanted = tuple(dict.fromkeys(mac.lower() for mac in macs))
    for word, among in (
        *((one, _words_of(steps, _names)) for one in domains),
        *((one, _words_of(steps, _macs)) for one in wanted),
    ):
        if word not in among:
            raise UsageError(
                f"the plan has no step for {word!r}{close_to(word, sorted(among)) or _LISTS_STEPS}"
            )
    chosen = tuple(
        step
        for step in steps
        if (not domains or _names(step) & set(domains))
        and (not wanted or _macs(step) & set(wanted))
    )
    for word in domains if wanted else ():
        if word not in _words_of(chosen, _names):
            raise UsageError(f"the plan has no step for {word!r} on the NICs named with --nic")
    for word in wanted:
        if word not in _words_of(chosen, _macs):
            raise UsageError(
                f"the plan has no step for NIC {word!r} in the domains named with --domain"
            )
    return chosen


def _words_of(steps: Sequence[Step], named: Callable[[Step], set[str]]) -> set[str]:
    return set().union(*map(named, steps))


def _names(step: Step) -> set[str]:
    return {one for one in (step.about.name, step.about.id) if one}


def _macs(step: Step) -> set[str]:
    more = step.unit.macs if isinstance(step.unit, ServerUnit) else ()
    return {mac for mac in (step.about.mac, *more) if mac}


def _print_no_run(
    not_done: list[tuple[Step, Preview]], kinds: KindTable, options: ApplyOptions
) -> int:
    """Say that there is nothing to do, in the form of a run or a dry run; returns the exit code."""
    if options.format == "json" and not options.schedule.dry_run:
        emit(runs_json([]).decode())
    else:
        if options.format == "text" and not options.output.quiet:
            emit(f"{nothing_to_apply(not_done, kinds, options.mode)}\n")
        print_dry_run("apply", options.mode, (), options, [why for _, why in not_done])
    return RefusedError.exit_code if not_done else 0


def _print_plan(plan: Plan, steps: list[Step], options: ApplyOptions) -> None:
    if options.output.quiet or options.format != "text" or sys.stdout is None:
        return

    shown = replace(plan, steps=tuple(steps), not_planned=(), errors=())
    view: View = "full" if options.output.verbose else "short"
    for text in render(shown, screen_options(options.output, view=view)):
        emit(text)
    flush()
