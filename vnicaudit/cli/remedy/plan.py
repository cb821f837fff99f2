"""``vnicaudit plan``: plan changes and write them down for review."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.reading.targets import expanded_targets, unique_targets
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.files import open_descriptor
from vnicaudit.base.opening import as_usage_error, open_regular
from vnicaudit.base.wording import count, path_word
from vnicaudit.cli.audit.request import rules_of
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.filters import (
    check_filters,
    cloud_filter_options,
    domain_option,
    wanted_of,
)
from vnicaudit.cli.options.output import OutputOptions, output_options, screen_options
from vnicaudit.cli.options.reading import ReadingRequest, reading_of, reading_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import ReportOutput, emit, flush
from vnicaudit.cli.output.progress import Progress, tell
from vnicaudit.cli.remedy.plan_options import (
    PlanCommandOptions,
    plan_file_option,
    plan_rule_options,
    planning_options,
)
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.plan import GOALS
from vnicaudit.model.ranking import NO_HISTORY, PlanHistory
from vnicaudit.remedy.planning.run import PlanRequest, make_plan
from vnicaudit.remedy.planning.subject import Judges
from vnicaudit.reports.plan.grouped import PLAN_GROUP_BY, PlanGroupBy
from vnicaudit.reports.plan.json import to_json
from vnicaudit.reports.plan.projects import COLUMNS, MARK, project_text, projects, projects_table
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.safe import safe, wrap

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.model.plan import Plan

# The files written by ``vnicaudit plan``: the plan, and a summary for each project. Files of other
# kinds are never overwritten.


TABLE = "servers.csv"
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_HEAD = 200
"""Bytes in which a file shows that it was written by plan."""
_PLAN_HEAD = 100
"""Bytes in which a plan names its schema."""


def holds_plan(path: str | None) -> bool:
    """True if a file holds a plan that would be lost by writing."""
    try:
        return path is not None and os.path.getsize(path) > 0 and _is_plan(path)
    except OSError:
        return False


def write_plan(path: str, text: bytes) -> None:
    """Write a plan, replacing an earlier plan but no other file. Only this user can read or write
    it, since it decides what is changed on hosts. A link is replaced, not followed, unless it leads
    to an open file of this process (``/dev/stdout``)."""
    with as_usage_error(path):
        is_file = os.path.isfile(path) and open_descriptor(path) is None
        if is_file and not _is_plan(path):
            raise UsageError(f"{path} exists and is not a plan: choose another name")
    with ReportOutput(path, private=True) as output:
        output.write(text.decode())


def _is_plan(path: str) -> bool:
    """True if a file starts like a plan, of any version, or is empty."""
    with open_regular(path) as stream:
        head = stream.read(_PLAN_HEAD)
    return not head or b'"schema": "vnicaudit.plan/' in head


def write_projects(plan: Plan, folder: str) -> int:
    """Write one text for each project with a server in the plan, and one table of all; returns the
    number of projects. With several clouds, each has a folder, because two regions of one Keystone
    have the same projects. Raises UsageError for a folder that cannot be written, or that contains
    another file with one of these names."""
    found = tuple(projects(plan))
    clouds = _folders({project.target: None for project in found}, folder)
    try:
        for place in (folder, *clouds.values()):
            os.makedirs(place, mode=0o750, exist_ok=True)
        for number, project in enumerate(found, 1):
            path = os.path.join(clouds[project.target], f"{_file_name(project.id, number)}.md")
            _write(path, project_text(plan, project), MARK)
        _write(os.path.join(folder, TABLE), projects_table(plan), ",".join(COLUMNS))
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror}") from None
    return len(found)


def _folders(targets: Iterable[str], folder: str) -> dict[str, str]:
    """The folder for the texts of each cloud; a single cloud uses the folder itself."""
    names = tuple(targets)
    if len(names) == 1:
        return {names[0]: folder}
    return {
        target: os.path.join(folder, _plain(target.partition(":")[2], "cloud", number))
        for number, target in enumerate(names, 1)
    }


def _file_name(project: str, number: int) -> str:
    """A file name for a project's id. The id comes from the cloud, so it is used only if it is
    plain."""
    return _plain(project, "project", number)


def _plain(name: str, kind: str, number: int) -> str:
    """A safe name for a file or folder: the name itself if it is plain and cannot be confused with
    our own files, else a number."""
    ours = name == TABLE or name.startswith(f"{kind}-")
    return name if _ID.fullmatch(name) and not ours else f"{kind}-{number}"


def _write(path: str, text: str, mark: str) -> None:
    """Write a file, replacing only an earlier version of it."""
    if os.path.isfile(path):
        with open(path, "rb") as stream:
            head = stream.read(_HEAD)
        if head and not head.replace(b'"', b"").startswith(mark.encode()[: _HEAD // 2]):
            raise UsageError(f"{path} exists and was not written by plan: choose another folder")
    with ReportOutput(path) as output:
        output.write(text)


_LEFT = "was not overwritten: some targets could not be read, and the new plan would be empty"

_EPILOG = """\b
Examples:
  vnicaudit plan qemu:///system -o plan.json      review it, then: vnicaudit apply plan.json
  vnicaudit plan qemu:///system --agent -o plan.json
  vnicaudit plan qemu+ssh://root@kvm7/system --domain mail-01 -o plan.json
  vnicaudit plan definitions/ --include-unsafe -o plan.json
  vnicaudit plan qemu:///system --nic 52:54:00:12:34:56 \\
      --to vdpa --vdpa-device /dev/vhost-vdpa-0 -o plan.json
  vnicaudit plan openstack:prod -o plan.json
  vnicaudit plan openstack:prod nodes/ qemu+ssh://cmp1/system -o plan.json
  vnicaudit plan openstack:prod --projects letters/ -o plan.json
  vnicaudit plan openstack:prod --nic fa:16:3e:12:34:56 --to vdpa

\b
Exit codes: 0 planned (or nothing to change), 2 usage or configuration,
4 a target could not be read; the rest is planned."""


@click.command("plan", cls=SectionedCommand, epilog=_EPILOG)
@click.argument(
    "targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=target_words
)
@plan_file_option
@click.option(
    "--to",
    type=click.Choice(GOALS),
    default="virtio",
    show_default=True,
    help="NIC type to convert to.",
)
@click.option(
    "--nic",
    "macs",
    multiple=True,
    metavar="MAC",
    help="Use only this NIC. Repeatable; needed with --to vdpa and vhostuser.",
)
@domain_option
@click.option(
    "--vdpa-device",
    "vdpa_devices",
    multiple=True,
    metavar="PATH",
    help="/dev/vhost-vdpa-N for each --nic, in the same order. In a cloud Nova chooses it.",
)
@click.option(
    "--vhostuser-socket",
    "sockets",
    multiple=True,
    metavar="PATH",
    help="Socket for each --nic, in the same order.",
)
@click.option(
    "--vhostuser-mode",
    "socket_mode",
    type=click.Choice(["server", "client"]),
    default="server",
    show_default=True,
    help="QEMU's role on the socket; a dpdkvhostuserclient port of Open vSwitch needs server.",
)
@click.option(
    "--accept-loss",
    "accepted",
    multiple=True,
    metavar="NAME",
    help="Accept the loss of this NIC function: filterref, isolation, bandwidth, mtu… as named in "
    "the plan.",
)
@click.option(
    "--include-unsafe",
    is_flag=True,
    help="Also plan unsafe changes, for example for a guest that may lack a virtio driver.",
)
@click.option(
    "--projects",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="For a cloud: write the plan for each project's servers to this folder, as one Markdown "
    "file per project and servers.csv for all. Nothing is sent to anyone.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show every step in full, with its diff, instead of the table. --verbose adds "
    "preparations inside the guest and each item that was left out.",
)
@click.option(
    "--group-by",
    type=click.Choice(PLAN_GROUP_BY),
    help="Merge identical steps into one entry with a count and some names. The plan file still "
    "has each step.",
)
@plan_rule_options
@cloud_filter_options
@reading_options
@output_options
@pass_wiring
@as_record(PlanCommandOptions)
def command(options: PlanCommandOptions, wiring: Wiring) -> int:
    """Plan changes to the NICs of the TARGETs, shown as diffs and in words.

    A TARGET is a libvirt URI, a file or folder of domain XML, or openstack:CLOUD with a name from
    clouds.yaml. Nothing is changed; connections are read-only. Suppressed findings are left out,
    and so are guests that may not be ready for virtio. Definitions owned by Nova, KubeVirt or oVirt
    are never changed: the plan says what to do in those systems. For a cloud, the plan changes
    images and the properties that Nova keeps for its servers. Add nova.conf of the compute nodes
    and their libvirt URIs as targets to learn more about the servers.
    """
    platforms = wiring.platforms()
    kinds = platforms.targets
    wanted = planning_options(options, kinds)
    read = reading_of(
        options.reading,
        options.targets,
        verbose=options.output.verbose,
        servers=wanted_of(options.servers),
    )
    check_filters(read.options.servers, options.targets, kinds)
    progress = Progress(enabled=not options.output.quiet)
    named = unique_targets(options.targets, kinds)
    progress.waits_for_live(named)
    targets = expanded_targets(named, kinds, read.options.live)

    judges = Judges(*works_of(options.selected, options.ignored, read, platforms))
    wanted = replace(wanted, policy=read.settings.settings.policy)
    request = PlanRequest(judges, wiring.adapters(), read.options, wanted, progress, None,
                          progress)  # fmt: skip
    plan = make_plan(targets, platforms.planners, request)
    progress.clear()
    print_plan(plan, options.plan_file, options.group_by, options.output,
               "vnicaudit apply {}".format, diff=options.diff)  # fmt: skip
    if options.projects:
        _write_projects(plan, options.projects, quiet=options.output.quiet)
    return TargetError.exit_code if plan.errors else 0


def works_of(
    selected: tuple[str, ...],
    ignored: tuple[str, ...],
    read: ReadingRequest,
    platforms: PlatformRegistry,
) -> tuple[AuditWork, AuditWork]:
    """Work by the selected rules, and work by all rules; the same object if all are selected."""
    settings, every = read.settings.settings, read.catalogue.ids
    rules = rules_of(selected, ignored, settings, read.catalogue)
    work = _work(rules, read, platforms)
    return work, work if rules == every else _work(every, read, platforms)


def _work(rules: tuple[str, ...], read: ReadingRequest, platforms: PlatformRegistry) -> AuditWork:
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules, read.catalogue)
    return AuditWork(rules, read.assumptions, suppressor, {}, platforms, read.catalogue)


def print_plan(
    plan: Plan,
    path: str | None,
    group_by: PlanGroupBy | None,
    output: OutputOptions,
    next_command: Callable[[str], str],
    *,
    diff: bool = False,
    history: Callable[[], PlanHistory] = lambda: NO_HISTORY,
) -> None:
    """Write the plan to its file, print it with the facts of the ``history``, and print the next
    step. ``next_command``: returns that command for the name of the plan's file. ``history`` may
    take time and be interrupted: it is called once the file is written, and not for ``-``."""
    if path == "-":
        emit(to_json(plan).decode())
        return
    would_lose = plan.errors and not plan.steps and holds_plan(path)
    if path and not would_lose:
        write_plan(path, to_json(plan))
    in_full = diff or output.verbose or group_by
    style = screen_options(output, group_by=group_by, view="full" if in_full else "short")
    for text in render(plan, style, history()):
        emit(text)
    if plan.steps and not output.quiet:
        more = "" if in_full else " To see each step in full, use --diff."
        emit(wrap(f"Nothing has been changed.{more}", style.width, "", "  "))
    flush()
    if path and would_lose:
        tell(f"{safe(path)} {_LEFT}")
    elif path and not output.quiet:
        tell(_next_step(plan, path, next_command))


def _next_step(plan: Plan, path: str, command: Callable[[str], str]) -> str:
    """Where the plan was written, and what to do next."""
    if not plan.steps:
        return f"Written to {safe(path)}: there is nothing to apply"
    unread = " (some targets could not be read)" if plan.errors else ""
    allowed = [step for step in plan.steps if not step.refused]
    if not allowed:
        causes = "every step is blocked; remove the causes above, and plan again"
        return f"Written to {safe(path)}{unread}: {causes}"
    following = command(safe(path_word(path)))
    if not any(step.safe for step in allowed):
        following += " --include-unsafe"  # without it, nothing would be applied
    return f"Written to {safe(path)}{unread}; next: {following}"


def _write_projects(plan: Plan, folder: str, *, quiet: bool) -> None:
    if plan.errors and not (plan.steps or plan.not_planned) and os.path.isdir(folder):
        tell(f"{folder} {_LEFT}")
        return
    number = write_projects(plan, folder)
    if not quiet:
        tell(
            f"{folder}: wrote {count(number, 'project')} and {TABLE}; nothing is sent, pass them "
            "on yourself"
        )
