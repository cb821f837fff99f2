"""``vnicaudit apply --bench``: measure each guest before and after, then keep the change or undo
it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from vnicaudit.bench.endpoints.opening import parse
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.trials.guest_by_guest import (
    Applied,
    GuestByGuest,
    GuestMeasured,
    GuestRefused,
    TakenBack,
)
from vnicaudit.bench.trials.single_flip import TrialFactory
from vnicaudit.cli.bench.options import drawn_seed, limits_of, line_of
from vnicaudit.cli.bench.output import BenchProgress
from vnicaudit.cli.options.output import Format, screen_options
from vnicaudit.cli.options.records import group
from vnicaudit.cli.options.remedy import ApplyScheduleOptions, RemedyOptions
from vnicaudit.cli.output.progress import RunTelling, tell
from vnicaudit.cli.remedy.run_output import ROLLED_BACK, print_result, print_run
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.plan import Mode
from vnicaudit.reports.bench.formats.text import render
from vnicaudit.reports.safe import safe
from vnicaudit.text.targets import command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vnicaudit.bench.trials.guest_by_guest import Event
    from vnicaudit.bench.trials.request import TrialRequest
    from vnicaudit.model.measurement import BenchResult
    from vnicaudit.model.plan import Step
    from vnicaudit.remedy.applying.apply import RunContext
    from vnicaudit.remedy.applying.driver import KindTable
    from vnicaudit.remedy.hypervisor import GetAdapters

CanaryBy = Literal["group", "site", "host", "fleet"]
_ABOUT = ("bench_peer", "on_undecided")
"""Options that need ``--bench``."""


class BenchOptions(msgspec.Struct, frozen=True):
    """How guests are measured while a plan is applied; ``bench`` None: they are not measured."""

    bench: str | None
    bench_peer: str
    on_undecided: Literal["keep", "rollback"]


class ApplyOptions(RemedyOptions, frozen=True, kw_only=True):
    """The options of ``vnicaudit apply``."""

    plan: str
    mode: Mode
    include_unsafe: bool
    domains: tuple[str, ...]
    macs: tuple[str, ...]
    limit: str | None
    canary_by: CanaryBy
    without_host_lock: bool
    format: Format
    schedule: ApplyScheduleOptions
    trials: BenchOptions


bench_options = group(
    "trials",
    BenchOptions,
    click.option(
        "--bench",
        metavar="NAME|FILE",
        help="Measure each guest with this profile (`vnicaudit bench profiles`) before and after "
        "the change, one guest at a time, which is made and undone two to seven times. A change "
        "that makes a guest slower is rolled back, with exit code 6. If several NICs of a guest "
        "change at once, it is made once: only what breaks is rolled back. Needs the guest agent, "
        "and the profile's tools in the guest and at the peer.",
    ),
    click.option(
        "--bench-peer",
        metavar="URL",
        default="local",
        show_default=True,
        help="Endpoint that sends the load (ssh://root@gen1).",
    ),
    click.option(
        "--on-undecided",
        type=click.Choice(["keep", "rollback"]),
        default="rollback",
        show_default=True,
        help="Keep or undo a change that proved neither better nor worse, or that could not be "
        "measured (a tool did not start).",
    ),
)


def trials_of(order: TrialRequest) -> TrialFactory:
    """The trials of a run: each guest is measured once before and once after."""
    return TrialFactory(order)


def trial_order(options: ApplyOptions, adapters: GetAdapters) -> TrialRequest | None:
    """The requested measurement; None: none requested. Raises UsageError."""
    wanted = options.trials
    if wanted.bench is None:
        _check_alone()
        return None
    if options.mode == "next-boot":
        raise UsageError("--bench measures the running guest: add --mode restart or --mode hotswap")
    if options.schedule.batch > 1:
        raise UsageError("--bench needs --batch 1: guests would disturb each other's measurements")
    from vnicaudit.bench.trials.request import TrialRequest

    parse(wanted.bench_peer)  # report an invalid endpoint before anything is measured
    profile = load_profile(wanted.bench)
    if profile.states:
        raise UsageError(
            f"profile {profile.name} needs commands that switch the server between states, which "
            "apply cannot run: measure with `bench run` before and after"
        )
    return TrialRequest(
        profile=profile,
        peer=wanted.bench_peer,
        line=line_of(profile),
        seed=drawn_seed(),
        limits=limits_of(profile),
        undecided="keep" if wanted.on_undecided == "keep" else "roll-back",
        state=Path(options.folder),
        listener=BenchProgress(options.output),
        adapters=adapters,
        restarts=options.mode == "restart",
    )


def _check_alone() -> None:
    """Raises UsageError for an option about measuring without ``--bench``."""
    context = click.get_current_context()
    for name in _ABOUT:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} needs --bench PROFILE")


def measure_in_turns(
    steps: Sequence[Step],
    text: bytes,
    context: RunContext,
    trial: TrialRequest,
    options: ApplyOptions,
) -> int:
    """Guest by guest, make the change and undo it in turns, and keep it if it helps; returns the
    exit code. ``text``: contents of the plan file."""
    say = RunTelling(quiet=options.output.quiet)
    trials = GuestByGuest(steps, text, context, trial, say)
    codes = [0, *(_print_event(event, options, context.kinds) for event in trials.run())]
    return max(codes, key=lambda code: (code == RefusedError.exit_code, code))


def _print_event(event: Event, options: ApplyOptions, kinds: KindTable) -> int:
    """Print an event; returns the exit code of this event alone."""
    if isinstance(event, GuestMeasured):
        show_result(event.result, options)
        return 0
    if isinstance(event, TakenBack):
        tell(safe(f"{event.name}: rolled back: {'; '.join(event.decision.reasons[:3])}"))
        return ROLLED_BACK
    if isinstance(event, Applied):
        return print_run(event.run, options, kinds)
    if isinstance(event, GuestRefused):
        tell(safe(f"{event.name}: refused: {event.reason}"))
    else:
        reason = f"{event.reason}; {event.name} and the guests after it were not reached"
        tell(safe(f"Stopped: {reason}"))
    return RefusedError.exit_code


def show_trials(made: TrialFactory | None, options: ApplyOptions) -> None:
    """Print the results of all measurements."""
    for kept in () if made is None else made.measurements():
        show_result(kept.result(), options)


def show_result(result: BenchResult, options: ApplyOptions) -> None:
    """Print one measurement."""

    def pieces() -> Iterator[str]:
        yield from render(result, screen_options(options.output))
        shown = command(f"bench show {result.run.id}", options.folder)
        yield f"Stored as {safe(result.run.id)}: {safe(shown)}\n\n"

    print_result(pieces)
