"""``vnicaudit plan``: what would be changed, written down to be reviewed."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.audit.catalogue import rule_ids
from vnicaudit.audit.cloud import each_region
from vnicaudit.audit.run import prepared
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import AuditWork
from vnicaudit.cli.audit_orders import rules_of
from vnicaudit.cli.cloud_filters import check_filters, cloud_filter_options
from vnicaudit.cli.options import output_options, reading_options
from vnicaudit.cli.outputs import Output
from vnicaudit.cli.plan_options import asked_for
from vnicaudit.cli.progress import Progress
from vnicaudit.cli.reading import Reading, reading, screen
from vnicaudit.cli.stdout import emit, flush
from vnicaudit.cli.telling import tell
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.plan import GOALS
from vnicaudit.reports.plan.grouped import PLAN_GROUP_BY
from vnicaudit.text.regular import open_regular

if TYPE_CHECKING:
    from vnicaudit.model.plan import Plan
    from vnicaudit.remedy.planning.options import PlanOptions

_HEAD = 100
"""Bytes in which a plan says what it is."""
_LEFT = "is left as it was: not all targets could be read, and this plan would be empty"

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


@click.command("plan", epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the plan here (JSON); - is standard output. Without it, it is only shown.",
)
@click.option(
    "--to",
    type=click.Choice(GOALS),
    default="virtio",
    show_default=True,
    help="What NICs are to become.",
)
@click.option(
    "--nic",
    "macs",
    multiple=True,
    metavar="MAC",
    help="Only this NIC. Repeatable; needed with --to vdpa and vhostuser.",
)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="Only this domain, or this server, image or flavor of a cloud (name or UUID).",
)
@click.option(
    "--vdpa-device",
    "vdpa_devices",
    multiple=True,
    metavar="PATH",
    help="/dev/vhost-vdpa-N for each --nic, in their order; in a cloud Nova chooses it.",
)
@click.option(
    "--vhostuser-socket",
    "sockets",
    multiple=True,
    metavar="PATH",
    help="The socket for each --nic, in their order.",
)
@click.option(
    "--vhostuser-mode",
    "socket_mode",
    type=click.Choice(["server", "client"]),
    default="server",
    show_default=True,
    help="What QEMU is on the socket; Open vSwitch's dpdkvhostuserclient wants a server.",
)
@click.option(
    "--accept-loss",
    "accepted",
    multiple=True,
    metavar="NAME",
    help="Give up this function of the NIC: filterref, isolation, bandwidth, mtu… as the plan "
    "names it.",
)
@click.option(
    "--include-unsafe",
    is_flag=True,
    help="Also what may hurt a guest: one that is not known to have a virtio driver.",
)
@click.option(
    "--projects",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Of a cloud: write here what is planned for each project's servers, one Markdown text for "
    "each and servers.csv for all. Nobody is sent anything.",
)
@click.option(
    "--group-by",
    type=click.Choice(PLAN_GROUP_BY),
    help="Show steps that say the same once, with how many there are and some names. The plan that "
    "is written has each.",
)
@click.option(
    "--select", "selected", multiple=True, metavar="RULE", help="Only what these rules find."
)
@click.option(
    "--ignore", "ignored", multiple=True, metavar="RULE", help="Not what these rules find."
)
@cloud_filter_options
@reading_options
@output_options
def command(targets: tuple[str, ...], **given: Any) -> int:
    """Write down what would be changed on the NICs of the TARGETs, as a diff and in words.

    A TARGET is a libvirt URI, a file or folder of domain XML, or openstack:CLOUD with a name from
    clouds.yaml. Nothing is changed; connections are read-only. Guests that are not known to be
    ready for virtio are left out, and so are findings that are suppressed. Definitions that Nova,
    KubeVirt or oVirt keep are never changed: the plan says what to do there. Of a cloud, what Nova
    keeps for its servers is planned, and images; nova.conf of its compute nodes and their libvirt,
    given as well, tell more of the servers.
    """
    options, read = asked_for(given, targets), reading(given)
    check_filters(read.options.live.servers, targets)
    found = each_region(prepared(targets), read.options.live)
    from vnicaudit.remedy.planning.run import make_plan

    progress = Progress(enabled=not given["quiet"])
    work, by_all = _works(given, read)
    plan = make_plan(found, work, by_all, read.options, _with_policy(options, read), progress)
    progress.clear()
    _write(plan, given)
    if given["projects"]:
        if plan.errors and not (plan.steps or plan.left) and os.path.isdir(given["projects"]):
            tell(f"{given['projects']} {_LEFT}")
        else:
            _write_projects(plan, given)
    return TargetError.exit_code if plan.errors else 0


def _with_policy(options: PlanOptions, read: Reading) -> PlanOptions:
    from msgspec.structs import replace

    return replace(options, policy=read.settings.settings.policy)


def _works(given: dict[str, Any], read: Reading) -> tuple[AuditWork, AuditWork]:
    """What judges by the rules that are asked for, and what judges by all; the same where all
    are asked for."""
    rules = rules_of(given, read.settings.settings)
    work = _work(rules, read)
    return work, work if rules == rule_ids() else _work(rule_ids(), read)


def _work(rules: tuple[str, ...], read: Reading) -> AuditWork:
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules)
    return AuditWork(rules, read.assumptions, suppressor, {})


def _write(plan: Plan, given: dict[str, Any]) -> None:
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.plan.json import to_json
    from vnicaudit.reports.plan.text import render
    from vnicaudit.reports.safe import safe

    if given["output"] == "-":
        emit(to_json(plan).decode())
        return
    left = plan.errors and not plan.steps and _is_there(given["output"])
    if given["output"] and not left:
        _write_file(given["output"], to_json(plan))
    options = screen(given)
    for text in render(plan, options, Paint(color=options.color)):
        emit(text)
    flush()
    if left:
        tell(f"{safe(given['output'])} {_LEFT}")
    elif given["output"] and not given["quiet"]:
        tell(_next(plan, given["output"]))


def _is_there(path: str | None) -> bool:
    """Whether there is a plan that would be lost."""
    try:
        return path is not None and os.path.getsize(path) > 0 and _is_plan(path)
    except OSError:
        return False


def _next(plan: Plan, path: str) -> str:
    """Where the plan is, and what to do with it."""
    from vnicaudit.reports.safe import safe
    from vnicaudit.text.shell import path_word

    if not plan.steps:
        return f"Written to {safe(path)}: nothing in it to apply"
    unread = " (not all targets could be read)" if plan.errors else ""
    return f"Written to {safe(path)}{unread}; next: vnicaudit apply {safe(path_word(path))}"


def _write_projects(plan: Plan, given: dict[str, Any]) -> None:
    from vnicaudit.cli.plan_projects import TABLE, write_projects

    number = write_projects(plan, given["projects"])
    if not given["quiet"]:
        many = f"{number:,} project{'s' * (number != 1)}"
        tell(f"{given['projects']}: {many}, and {TABLE}; hand them on yourself")


def _write_file(path: str, text: bytes) -> None:
    """In the place of an earlier plan, or of nothing: never of a definition. It decides what is
    changed on hosts: nobody else may write to it; a link there is replaced and not followed."""
    try:
        if os.path.isfile(path) and not _is_plan(path):
            raise UsageError(f"{path}: it is there, and no plan: give another name")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    with Output(path, private=True) as output:
        output.write(text.decode())


def _is_plan(path: str) -> bool:
    """Whether a file begins as a plan does, of whatever version; an empty one is as good."""
    with open_regular(path) as stream:
        head = stream.read(_HEAD)
    return not head or b'"schema": "vnicaudit.plan/' in head
