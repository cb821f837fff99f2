"""Options shared by apply, rollback and runs, converted for the remedy."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Literal

import click
import msgspec

from vnicaudit.cli.options.environment import Environment, environment
from vnicaudit.cli.options.filters import DomainsOption, MacsOption
from vnicaudit.cli.options.output import FormatOption, OutputOptions
from vnicaudit.cli.options.reading import LimitOption, settings_in
from vnicaudit.cli.options.records import option, state_folder
from vnicaudit.cli.output.run_progress import RunTelling
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.journal.events import RunLimits
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.unit_queue import Schedule, Window
from vnicaudit.remedy.hypervisor import CloudAccess

# Access to a cloud besides its API.


def reach_of(trusted: Iterable[str], variables: Environment, wiring: Wiring) -> CloudAccess:
    """Access to a cloud besides its API, with the trusted libvirt URIs (``--trust-uri``).
    Connections are closed when the command ends. Raises UsageError for an invalid endpoint."""
    uris = frozenset(trusted)
    template = variables.libvirt_of_host or ""
    if variables.nova_manage is None:
        return CloudAccess(None, template, trusted=uris)
    command = _command(variables.nova_manage_command)
    controller = wiring.controller(variables.nova_manage, command, variables.nova_manage_timeout)
    click.get_current_context().call_on_close(controller.close)
    return CloudAccess(controller, template, jobs=variables.nova_manage_jobs, trusted=uris)


def check_reach(reach: CloudAccess, servers: Iterable[str]) -> None:
    """Raises UsageError if servers are to be changed but the place of nova-manage is unknown, or if
    they belong to several clouds."""
    targets = sorted(set(servers))
    if not targets:
        return
    if len(targets) > 1:
        raise UsageError(
            f"these servers belong to several clouds ({', '.join(targets)}), each with its own "
            "controller: make one plan per cloud"
        )
    if reach.manage is None:
        raise UsageError(
            f"servers of {targets[0]} are changed with nova-manage, on a controller: set "
            "VNICAUDIT_NOVA_MANAGE (local, ssh://controller, docker://nova_api, kubectl://POD), "
            "and if needed the command to run there, VNICAUDIT_NOVA_MANAGE_COMMAND "
            "('sudo docker exec nova_api nova-manage' with kolla, 'sudo lxc-attach -n NAME -- "
            "nova-manage' with openstack-ansible)"
        )


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"VNICAUDIT_NOVA_MANAGE_COMMAND={text!r}: {error}") from None
    if not words:
        raise UsageError("VNICAUDIT_NOVA_MANAGE_COMMAND is empty")
    return words


def _to_window(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Window | None:
    if value is None:
        return None
    try:
        return Window.parse(value)
    except UsageError as error:
        raise click.BadParameter(str(error), context, parameter) from None


class ScheduleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a run proceeds: with or without a question, how many units at once, and when."""

    dry_run: Annotated[bool, option("Run all checks and print what would be done.")] = False
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")] = False
    batch: Annotated[
        int,
        option(
            "Domains changed in parallel; of a server group one member at a time.",
            env=True,
            type=click.IntRange(min=1),
            metavar="N",
        ),
    ] = 1
    window: Annotated[
        Window | None,
        option(
            "Start work on a domain only within this time window (local time).",
            env=True,
            metavar="HH:MM-HH:MM",
            callback=_to_window,
        ),
    ] = None
    force_off: Annotated[
        bool,
        option(
            "Power off a guest that does not shut down in time. It may lose data. (Nova always "
            "does this with servers.)"
        ),
    ] = False


class ApplyScheduleOptions(ScheduleOptions, frozen=True, kw_only=True):
    """How a plan is applied: also when the run stops. A rollback does not stop, whatever fails."""

    canary: Annotated[
        int,
        option(
            "Domains (or servers) changed first, one at a time and before any batch; all must "
            "succeed.",
            env=True,
            type=click.IntRange(min=0),
            metavar="N",
        ),
    ] = 1
    max_failures: Annotated[
        int,
        option(
            "Stop when more domains than this have failed.",
            env=True,
            type=click.IntRange(min=0),
            metavar="N",
        ),
    ] = 0


MODE_HELP = (
    "next-boot: change the definition only; running guests are not touched. restart: shut guests "
    "down and start them. hotswap: replace the NIC of the running guest (needs its guest agent)."
)


class RemedyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options shared by ``apply``, ``rollback`` and ``runs``."""

    config: str | None
    state: str | None
    trusted_uris: Annotated[
        tuple[str, ...],
        option(
            "Allow this libvirt URI from the plan or run, although it contains more than a host "
            "(the ext transport, command=, socket=, keyfile= or similar). `all`: every URI in it.  "
            "[repeatable]",
            "--trust-uri",
            metavar="URI",
        ),
    ] = ()
    format: FormatOption = "text"
    output: OutputOptions

    @property
    def folder(self) -> str:
        """The directory in which runs are stored."""
        return state_folder(self.state)


CanaryBy = Literal["group", "site", "host", "fleet"]


class BenchOptions(msgspec.Struct, frozen=True):
    """How guests are measured while a plan is applied; ``bench`` None: they are not measured."""

    bench: Annotated[
        str | None,
        option(
            "Measure each guest with this profile (`vnicaudit bench profiles`) before and after "
            "the change, one guest at a time, which is made and undone two to seven times. A "
            "change that makes a guest slower is rolled back, with exit code 6. If several NICs of "
            "a guest change at once, it is made once: only what breaks is rolled back. Needs the "
            "guest agent, and the profile's tools in the guest and at the peer.",
            metavar="NAME|FILE",
        ),
    ] = None
    bench_peer: Annotated[
        str, option("Endpoint that sends the load (ssh://root@gen1).", metavar="URL")
    ] = "local"
    on_undecided: Annotated[
        Literal["keep", "rollback"],
        option("Keep or undo a change if the measurement cannot tell whether it helped."),
    ] = "rollback"


class ApplyOptions(RemedyOptions, frozen=True, kw_only=True):
    """The options of ``vnicaudit apply``."""

    plan: str
    mode: Annotated[Mode, option(MODE_HELP)] = "next-boot"
    include_unsafe: Annotated[bool, option("Also apply the unsafe steps of the plan.")] = False
    domains: DomainsOption = ()
    macs: MacsOption = ()
    limit: LimitOption = None
    canary_by: Annotated[
        CanaryBy,
        option(
            "For a plan of an inventory: choose --canary canaries in each of its groups (or site, "
            "or host); all canaries go before any batch. A host without a group counts by its "
            "site. fleet: all hosts are one group."
        ),
    ] = "group"
    without_host_lock: Annotated[
        bool,
        option(
            "Do not lock the hosts of an inventory: for hosts that cannot hold a lock and that "
            "nobody else changes. Runs with the same state directory still exclude each other."
        ),
    ] = False
    schedule: ApplyScheduleOptions
    trials: BenchOptions


def run_context(
    options: RemedyOptions,
    wiring: Wiring,
    mode: Mode,
    schedule: ScheduleOptions | None = None,
    *,
    reads_settings: bool = False,
) -> RunContext:
    """The context of a run, from the options. ``schedule`` None: nothing is started, only
    checked. ``reads_settings``: also those of the nearest file, and not only of one that is named;
    a way back needs no file but its run's."""
    is_read = reads_settings or bool(options.config)
    settings = settings_in(options.config).settings if is_read else None
    variables = environment(settings)
    reach = reach_of(options.trusted_uris, variables, wiring)
    return RunContext(
        mode=mode,
        limits=RunLimits() if schedule is None else _limits(variables, schedule),
        schedule=Schedule() if schedule is None else _schedule(schedule),
        deadline=variables.deadline,
        state=StateFolder(options.folder),
        kinds=wiring.platforms().unit_kinds(),
        adapters=wiring.adapters(),
        reach=reach,
        tell_remaining=RunTelling(quiet=False),
    )


def _limits(variables: Environment, schedule: ScheduleOptions) -> RunLimits:
    return RunLimits(
        guest_deadline=variables.guest_deadline,
        force_off=schedule.force_off,
        manage_seconds=variables.nova_manage_timeout,
        confirm_seconds=variables.confirm_deadline,
    )


def _schedule(schedule: ScheduleOptions) -> Schedule:
    if not isinstance(schedule, ApplyScheduleOptions):
        return Schedule(batch=schedule.batch, window=schedule.window)
    return Schedule(schedule.canary, schedule.batch, schedule.max_failures, schedule.window)
