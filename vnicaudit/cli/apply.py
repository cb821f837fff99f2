"""``vnicaudit apply``: carry a plan out."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.apply_bench import bench_options, flip, show_trials, trial_order, trials_of
from vnicaudit.cli.apply_shadow import Shadowing, shadow_address, take_shadows_out
from vnicaudit.cli.bench_options import line_options
from vnicaudit.cli.doing import asked, dry_run, ended, tell_damage
from vnicaudit.cli.hangup import hang_up_noted
from vnicaudit.cli.nova_manage import check_reach, cloud_options
from vnicaudit.cli.options import output_options
from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import doing_options, mode_option, order_of, state_option
from vnicaudit.cli.stdout import emit, flush
from vnicaudit.cli.telling import tell, telling
from vnicaudit.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from vnicaudit.model.plan import Mode, Plan, Step

_EPILOG = """\b
Examples:
  vnicaudit apply plan.json --dry-run
  vnicaudit apply plan.json                       define; in effect at the next power cycle
  vnicaudit apply plan.json --mode restart --canary 1 --batch 5 --window 22:00-04:00 --yes
  vnicaudit apply plan.json --mode hotswap
  vnicaudit apply plan.json --mode hotswap --bench quick --bench-peer ssh://root@gen1
  vnicaudit apply cloud.json --mode restart --nova-manage ssh://controller
  vnicaudit apply cloud.json --mode restart --nova-manage ssh://ops@controller \\
      --nova-manage-command 'sudo docker exec nova_api nova-manage'

\b
A run that was interrupted is carried on by the same command; `vnicaudit rollback RUN`
takes it back.

\b
Exit codes: 0 all applied, 2 usage, 4 a host could not be reached, 5 something was
refused, failed or could not be verified, 6 something was rolled back because it
made things worse, or was not changed because measuring it beside the old NIC did
not speak for it, 130 interrupted."""


@click.command("apply", epilog=_EPILOG)
@click.argument("plan", metavar="PLAN", type=click.Path(dir_okay=False))
@mode_option("next-boot")
@click.option("--include-unsafe", is_flag=True, help="Also the unsafe steps of the plan.")
@doing_options
@cloud_options
@bench_options
@line_options
@state_option
@output_options
def command(plan: str, **given: Any) -> int:
    """Carry out a PLAN made by `vnicaudit plan`: define, and make it take effect.

    Servers of an OpenStack cloud are stopped, changed by nova-manage on a controller, and started.

    What has changed since the plan was made is refused. What is about to be done is noted first;
    the original definitions are kept. What runs afterwards is looked at, and a guest that does not
    come back is rolled back by itself. With --bench, so is one that the change makes no faster.
    """
    from msgspec.structs import replace

    from vnicaudit.remedy.applying.engine import apply, look
    from vnicaudit.remedy.history import damaged
    from vnicaudit.remedy.trusted_uris import check_uri
    from vnicaudit.reports.plan.json import from_json

    data = _content(plan)
    found = from_json(data, plan)
    mode: Mode = given["mode"]
    steps, not_done = _chosen(found, mode, unsafe=given["include_unsafe"])
    _show(found, steps, not_done, given)
    if not steps:
        return RefusedError.exit_code if not_done else 0
    order = order_of(given, mode)
    clouds = [step for step in steps if step.cloud is not None]
    check_reach(order.reach, _servers(clouds))
    for step in steps:  # measuring connects to them as well
        if step.cloud is None and step.file is None:
            check_uri(step.target, order.reach.trusted)
    if clouds and given["bench"] is not None:
        raise UsageError("--bench measures domains of libvirt; this plan has steps of a cloud")
    trial, address = trial_order(given, mode), shadow_address(given)
    if given["dry_run"]:
        return dry_run(look(steps, data, order), "would be applied")
    asked(f"Apply {len(steps)} of {len(found.steps)} steps, --mode {mode}?", yes=given["yes"])
    tell_damage(damaged(order.state))
    take_shadows_out(given)
    refused = RefusedError.exit_code if not_done else 0
    if trial is not None and given["bench_design"] == "flips":
        # a hang-up ends it: it gives the guest back as it was, and would go on for hours
        return flip(steps, data, order, trial, given) or refused
    with hang_up_noted() as halted:
        order = replace(order, halted=halted)
        if trial is not None and address is not None:
            return Shadowing(steps, data, order, trial, address, given).go() or refused
        trials = None if trial is None else trials_of(trial)
        try:
            done = apply(steps, data, order, telling(quiet=given["quiet"]), trials)
        finally:
            show_trials(trials, given)
    return ended(done, given, refused=bool(not_done))


def _servers(steps: list[Step]) -> list[str]:
    """Targets of the steps on servers."""
    return [step.target for step in steps if step.cloud and step.cloud.object == "server"]


def _content(path: str) -> bytes:
    from vnicaudit.reports.plan.json import MAX_BYTES

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UsageError(f"{path}: not a regular file")  # nor /dev/null: it is no plan
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _chosen(plan: Plan, mode: Mode, *, unsafe: bool) -> tuple[list[Step], list[tuple[Step, str]]]:
    """The steps that are to be done, and the others, each with why not."""
    chosen: list[Step] = []
    others: list[tuple[Step, str]] = []
    for step in plan.steps:
        reason = _why_not(step, mode, unsafe=unsafe)
        if reason:
            others.append((step, reason))
        else:
            chosen.append(step)
    return chosen, others


def _why_not(step: Step, mode: Mode, *, unsafe: bool) -> str:
    if step.refused:
        return "; ".join(step.refused)
    if not step.safe and not unsafe:
        return f"unsafe: {step.reason} (--include-unsafe)"
    option = step.mode(mode)
    if not option.possible and not (step.file and mode == "next-boot"):
        return f"not with --mode {mode}: {option.reason}"
    return ""


def _show(
    plan: Plan, steps: list[Step], not_done: list[tuple[Step, str]], given: dict[str, Any]
) -> None:
    from msgspec.structs import replace

    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.plan.text import render
    from vnicaudit.reports.safe import safe

    if not given["quiet"] and sys.stdout is not None:
        options = screen(given)
        shown = replace(plan, steps=tuple(steps), left=(), errors=())
        for text in render(shown, options, Paint(color=options.color)):
            emit(text)
        flush()
    for step, reason in not_done:
        name = f"{step.nic.domain or step.file or ''} {step.nic.mac or ''}".rstrip()
        tell(safe(f"Not applied: step {step.id}, {name}: {reason}"))
