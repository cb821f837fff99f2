"""``vnicaudit plan``: what would be changed, written down to be reviewed."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.audit.catalogue import select
from vnicaudit.audit.run import prepared
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import AuditWork
from vnicaudit.cli.options import output_options, reading_options
from vnicaudit.cli.progress import Progress
from vnicaudit.cli.reading import Reading, reading, screen
from vnicaudit.cli.stdout import emit, flush
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.plan import GOALS

if TYPE_CHECKING:
    from vnicaudit.model.plan import Plan
    from vnicaudit.remedy.planning.options import PlanOptions

_EPILOG = """\b
Examples:
  vnicaudit plan qemu:///system -o plan.json      review it, then: vnicaudit apply plan.json
  vnicaudit plan qemu:///system --agent -o plan.json
  vnicaudit plan qemu+ssh://root@kvm7/system --domain mail-01 -o plan.json
  vnicaudit plan definitions/ --include-unsafe -o plan.json
  vnicaudit plan qemu:///system --nic 52:54:00:12:34:56 \\
      --to vdpa --vdpa-device /dev/vhost-vdpa-0 -o plan.json

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
    "--domain", "domains", multiple=True, metavar="NAME", help="Only this domain (name or UUID)."
)
@click.option(
    "--vdpa-device",
    "vdpa_devices",
    multiple=True,
    metavar="PATH",
    help="/dev/vhost-vdpa-N for each --nic, in their order.",
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
    "--select", "selected", multiple=True, metavar="RULE", help="Only what these rules find."
)
@click.option(
    "--ignore", "ignored", multiple=True, metavar="RULE", help="Not what these rules find."
)
@reading_options
@output_options
def command(targets: tuple[str, ...], **given: Any) -> int:
    """Write down what would be changed on the NICs of the TARGETs, as a diff and in words.

    A TARGET is a libvirt URI, or a file or folder of domain XML. Nothing is changed; connections
    are read-only. Guests that are not known to be ready for virtio are left out, and so are
    findings that are suppressed. Definitions that Nova, KubeVirt or oVirt keep are never changed:
    the plan says what to do there.
    """
    options, read = _options(given), reading(given)
    found = prepared(targets)
    from vnicaudit.remedy.planning.run import make_plan

    progress = Progress(enabled=not given["quiet"])
    plan = make_plan(found, _work(given, read), read.options, _with_policy(options, read), progress)
    progress.clear()
    _write(plan, given)
    return TargetError.exit_code if plan.errors else 0


def _options(given: dict[str, Any]) -> PlanOptions:
    """Raises UsageError for what makes no sense together."""
    from vnicaudit.remedy.planning.options import PlanOptions

    to = given["to"]
    devices = {"vdpa": given["vdpa_devices"], "vhostuser": given["sockets"]}
    for goal, option in (("vdpa", "--vdpa-device"), ("vhostuser", "--vhostuser-socket")):
        if devices[goal] and to != goal:
            raise UsageError(f"{option} is for --to {goal}")
    wanted: tuple[str, ...] = devices.get(to, ())
    if to != "virtio" and not given["macs"]:
        raise UsageError(f"--to {to} needs --nic: say which NICs")
    if to != "virtio" and len(wanted) != len(given["macs"]):
        raise UsageError(f"--to {to} needs one device or socket for each --nic, in their order")
    if len(set(wanted)) != len(wanted):
        raise UsageError("each NIC needs a device or socket of its own")
    for path in wanted:
        if not path.startswith("/"):
            raise UsageError(f"{path}: give the whole path")
    return PlanOptions(
        to=to,
        domains=frozenset(given["domains"]),
        macs=tuple(mac.lower() for mac in given["macs"]),
        accepted=frozenset(given["accepted"]),
        devices=wanted,
        socket_mode=given["socket_mode"],
        unsafe=given["include_unsafe"],
    )


def _with_policy(options: PlanOptions, read: Reading) -> PlanOptions:
    from msgspec.structs import replace

    return replace(options, policy=read.settings.settings.policy)


def _work(given: dict[str, Any], read: Reading) -> AuditWork:
    settings = read.settings.settings
    rules = select(given["selected"] or settings.select, given["ignored"] or settings.ignore)
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules)
    return AuditWork(rules, read.assumptions, suppressor, {})


def _write(plan: Plan, given: dict[str, Any]) -> None:
    from vnicaudit.reports.paint import Paint
    from vnicaudit.reports.plan.json import to_json
    from vnicaudit.reports.plan.text import render

    if given["output"] == "-":
        emit(to_json(plan).decode())
        return
    if given["output"]:
        try:
            with open(given["output"], "wb") as stream:
                stream.write(to_json(plan))
        except OSError as error:
            raise UsageError(f"{given['output']}: {error.strerror}") from None
    options = screen(given)
    for text in render(plan, options, Paint(color=options.color)):
        emit(text)
    flush()
    if given["output"] and not given["quiet"]:
        click.echo(
            f"Written to {given['output']}; next: vnicaudit apply {given['output']}", err=True
        )
