"""Options shared by apply, rollback and runs, converted for the remedy."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.options.nova_manage import NovaManageOptions, reach_of
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.options.records import (
    Decorator,
    group,
    number_option,
    seconds_option,
    together,
    trust_uri_option,
)
from vnicaudit.cli.options.state import state_folder
from vnicaudit.cli.output.telling import RunTelling
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import UsageError
from vnicaudit.model.live import DEADLINE
from vnicaudit.model.plan import MODES, Mode
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.journal.run_request import RunLimits
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.schedule import Schedule, Window

_GUEST_DEADLINE = 300.0


class ConnectionOptions(msgspec.Struct, frozen=True):
    """Timeout of one call in seconds, and libvirt URIs that are connected to although they name
    more than a host."""

    deadline: float
    trusted_uris: tuple[str, ...]


class ScheduleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a run proceeds: with or without a question, how many units at once, and when."""

    dry_run: bool
    yes: bool
    batch: int
    window: Window | None
    guest_deadline: float
    force_off: bool


class ApplyScheduleOptions(ScheduleOptions, frozen=True, kw_only=True):
    """How a plan is applied: also when the run stops. A rollback does not stop, whatever fails."""

    canary: int
    max_failures: int


class RemedyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options shared by ``apply``, ``rollback`` and ``runs``."""

    state: str | None
    connection: ConnectionOptions
    cloud: NovaManageOptions
    output: OutputOptions

    @property
    def folder(self) -> str:
        """The directory in which runs are stored."""
        return state_folder(self.state)


def _to_window(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Window | None:
    if value is None:
        return None
    try:
        return Window.parse(value)
    except UsageError as error:
        raise click.BadParameter(str(error), context, parameter) from None


deadline_option = seconds_option(
    "--deadline",
    least=0.1,
    most=86_400,
    default=DEADLINE,
    text="Timeout for a single libvirt or cloud API call.",
)
"""Timeout of one call."""

connection_options = group(
    "connection",
    ConnectionOptions,
    deadline_option,
    trust_uri_option(
        "Allow this libvirt URI from the plan or run, although it contains more than a host (the "
        "ext transport, command=, socket=, keyfile= or similar). `all`: every URI in it.  "
        "[repeatable]"
    ),
)


_dry_run_option = together(
    click.option("--dry-run", is_flag=True, help="Run all checks and print what would be done."),
    click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
)
_canary_option = number_option(
    "--canary",
    least=0,
    default=1,
    text="Domains (or servers) changed first, one at a time; all must succeed.",
)
_failures_option = number_option(
    "--max-failures", least=0, default=0, text="Stop when more domains than this have failed."
)


def _batch_option(after: str) -> Decorator:
    return number_option(
        "--batch",
        least=1,
        default=1,
        text=f"Domains changed in parallel{after}; of a server group one member at a time.",
    )


_patience_options = together(
    click.option(
        "--window",
        envvar="VNICAUDIT_WINDOW",
        metavar="HH:MM-HH:MM",
        callback=_to_window,
        help="Start work on a domain only within this time window (local time).",
    ),
    seconds_option(
        "--guest-deadline",
        least=1,
        most=86_400,
        default=_GUEST_DEADLINE,
        text="Time allowed for a guest to shut down, and again for it to come back.",
    ),
    click.option(
        "--force-off",
        is_flag=True,
        help="Power off a guest that does not shut down in time. It may lose data. (Nova always "
        "does this with servers.)",
    ),
)

apply_schedule_options = group(
    "schedule",
    ApplyScheduleOptions,
    _dry_run_option,
    _canary_option,
    _batch_option(" (after the canaries)"),
    _failures_option,
    _patience_options,
)
"""How applying a plan proceeds."""

apply_options = together(apply_schedule_options, connection_options)
"""Options of the commands that apply a plan."""

rollback_options = together(
    group("schedule", ScheduleOptions, _dry_run_option, _batch_option(""), _patience_options),
    connection_options,
)
"""Options of the command that undoes a run."""


def mode_option(default: str | None) -> Decorator:
    """``--mode``; ``default`` None: the mode of the run."""
    return click.option(
        "--mode",
        type=click.Choice(MODES),
        default=default,
        show_default=default is not None,
        help="next-boot: change the definition only; running guests are not touched. restart: shut "
        "guests down and start them. hotswap: replace the NIC of the running guest (needs its "
        "guest agent)." + ("" if default else "  [default: that of the run]"),
    )


def run_context(
    options: RemedyOptions,
    wiring: Wiring,
    mode: Mode,
    schedule: ScheduleOptions | None = None,
) -> RunContext:
    """The context of a run, from the options. ``schedule`` None: nothing is started, only
    checked."""
    reach = reach_of(options.cloud, options.connection.trusted_uris, wiring)
    return RunContext(
        mode=mode,
        limits=RunLimits() if schedule is None else _limits(options, schedule),
        schedule=Schedule() if schedule is None else _schedule(schedule),
        deadline=options.connection.deadline,
        state=StateFolder(options.folder),
        kinds=wiring.platforms().kinds(),
        adapters=wiring.adapters(),
        reach=reach,
        tell_remaining=RunTelling(quiet=False),
    )


def _limits(options: RemedyOptions, schedule: ScheduleOptions) -> RunLimits:
    return RunLimits(schedule.guest_deadline, schedule.force_off, options.cloud.nova_manage_timeout)


def _schedule(schedule: ScheduleOptions) -> Schedule:
    if not isinstance(schedule, ApplyScheduleOptions):
        return Schedule(batch=schedule.batch, window=schedule.window)
    return Schedule(schedule.canary, schedule.batch, schedule.max_failures, schedule.window)
