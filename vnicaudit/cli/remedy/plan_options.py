"""Options of ``vnicaudit plan``, combined into one request and checked."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import click
import msgspec

from vnicaudit.audit.reading.targets import TargetKind, is_cloud, target_of
from vnicaudit.base.wording import MAC
from vnicaudit.cli.options.candidates import rules
from vnicaudit.cli.options.filters import DomainsOption, ServerOptions
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.options.reading import InventoryOptions, ReadingOptions
from vnicaudit.cli.options.records import option
from vnicaudit.cli.output.files import check_not_compressed, is_of_another_format
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Goal
from vnicaudit.remedy.planning.backends import functions_lost
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.reports.plan.steps import PlanGroupBy


def _json_file(
    _context: click.Context, _parameter: click.Parameter, path: str | None
) -> str | None:
    """Raises UsageError for a file whose suffix stands for a format other than JSON."""
    check_not_compressed(path or "")
    if path is not None and is_of_another_format(path, ("json",)):
        raise UsageError(
            f"{path}: a plan is written as JSON: name it plan.json; what the command prints is the "
            "plan as text"
        )
    return path


class PlanCommandOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit plan``."""

    targets: tuple[str, ...]
    inventory: InventoryOptions
    plan_file: Annotated[
        str | None,
        option(
            "Write the plan (JSON) to FILE; - is standard output. Without this option it is only "
            "shown.",
            "-o",
            "--output",
            metavar="FILE",
            type=click.Path(dir_okay=False),
            callback=_json_file,
        ),
    ] = None
    to: Annotated[Goal, option("NIC type to convert to.")] = "virtio"
    macs: Annotated[
        tuple[str, ...],
        option(
            "Use only this NIC. Repeatable; needed with --to vdpa and vhostuser.",
            "--nic",
            metavar="MAC",
        ),
    ] = ()
    domains: DomainsOption = ()
    vdpa_devices: Annotated[
        tuple[str, ...],
        option(
            "/dev/vhost-vdpa-N for each --nic, in the same order. In a cloud Nova chooses it.",
            "--vdpa-device",
            metavar="PATH",
        ),
    ] = ()
    sockets: Annotated[
        tuple[str, ...],
        option("Socket for each --nic, in the same order.", "--vhostuser-socket", metavar="PATH"),
    ] = ()
    socket_mode: Annotated[
        Literal["server", "client"],
        option(
            "QEMU's role on the socket; a dpdkvhostuserclient port of Open vSwitch needs server.",
            "--vhostuser-mode",
        ),
    ] = "server"
    accepted: Annotated[
        tuple[str, ...],
        option(
            "Accept the loss of this NIC function: filterref, isolation, bandwidth, mtu… as named "
            "in the plan.",
            "--accept-loss",
            metavar="NAME",
        ),
    ] = ()
    include_unsafe: Annotated[
        bool,
        option("Also plan unsafe changes, for example for a guest that may lack a virtio driver."),
    ] = False
    over_owner: Annotated[
        bool,
        option(
            "Also plan settings of a host that another program there sets (tuned, a performance "
            "profile, a machine config), and may set again."
        ),
    ] = False
    patches: Annotated[
        str | None,
        option(
            "Write what the owner of a setting or definition is to apply (a machine config, a "
            "tuned profile, a patch) to DIR, one file for each object. No file there is "
            "overwritten.",
            metavar="DIR",
            type=click.Path(file_okay=False),
        ),
    ] = None
    diff: Annotated[
        bool,
        option(
            "Show every step in full, with its diff, instead of the table. --verbose adds "
            "preparations inside the guest and each item that was left out."
        ),
    ] = False
    group_by: Annotated[
        PlanGroupBy | None,
        option(
            "Merge identical steps into one entry with a count and some names. The plan file still "
            "has each step."
        ),
    ] = None
    selected: Annotated[
        tuple[str, ...],
        option(
            "Rules to run: plan only for their findings.",
            "--select",
            metavar="RULE",
            shell_complete=rules,
        ),
    ] = ()
    ignored: Annotated[
        tuple[str, ...],
        option(
            "Rules to skip: plan nothing for their findings.",
            "--ignore",
            metavar="RULE",
            shell_complete=rules,
        ),
    ] = ()
    servers: ServerOptions
    history: str | None
    state: str | None
    reading: ReadingOptions
    output: OutputOptions


def planning_options(options: PlanCommandOptions, kinds: tuple[TargetKind, ...]) -> PlanOptions:
    """The options for planning. ``kinds``: the known kinds of targets. Raises UsageError for
    conflicting options."""
    devices = _devices(options, kinds)
    _check_accepted(options.accepted, options.to)
    return PlanOptions(
        to=options.to,
        domains=frozenset(options.domains),
        macs=_macs(options.macs),
        accepted=frozenset(options.accepted),
        devices=devices,
        socket_mode=options.socket_mode,
        unsafe=options.include_unsafe,
        over_owner=options.over_owner,
    )


def _devices(options: PlanCommandOptions, kinds: tuple[TargetKind, ...]) -> tuple[str, ...]:
    """A device or socket for each ``--nic``; none for a cloud, where Nova chooses them."""
    to, targets = options.to, options.targets
    devices = {"vdpa": options.vdpa_devices, "vhostuser": options.sockets}
    for goal, name in (("vdpa", "--vdpa-device"), ("vhostuser", "--vhostuser-socket")):
        if devices[goal] and to != goal:
            raise UsageError(f"{name} needs --to {goal}")
    if to == "virtio":
        return ()
    if not options.macs:
        raise UsageError(f"--to {to} needs --nic: name the NICs to change")
    wanted = devices[to]
    if any(is_cloud(target, kinds) for target in targets):
        return _of_cloud(to, wanted, targets, kinds)
    if len(wanted) != len(options.macs):
        raise UsageError(f"--to {to} needs one device or socket for each --nic, in the same order")
    _check_paths(wanted)
    return wanted


def _of_cloud(
    to: str, wanted: tuple[str, ...], targets: tuple[str, ...], kinds: tuple[TargetKind, ...]
) -> tuple[str, ...]:
    if wanted:
        raise UsageError(
            f"--to {to}: in a cloud, Nova and Neutron choose the device or socket; do not name one"
        )
    if not all(is_cloud(target, kinds) or _may_be_nova_conf(target, kinds) for target in targets):
        raise UsageError(
            f"--to {to}: plan clouds and hosts separately (a cloud may be planned with nova.conf "
            "of its compute nodes), as only NICs on hosts are given a device"
        )
    return ()


def _may_be_nova_conf(target: str, kinds: tuple[TargetKind, ...]) -> bool:
    """True for a file named like nova.conf, or a folder that may contain some."""
    kind = target_of(target, kinds).kind
    return kind == "path" and (target.endswith(".conf") or os.path.isdir(target))


def _check_paths(wanted: tuple[str, ...]) -> None:
    if len(set(wanted)) != len(wanted):
        raise UsageError("each NIC needs its own device or socket")
    for path in wanted:
        if not path.startswith("/"):
            raise UsageError(f"{path}: use the absolute path")


def _macs(texts: tuple[str, ...]) -> tuple[str, ...]:
    macs = tuple(mac.strip().lower() for mac in texts)
    for mac in macs:
        if MAC.fullmatch(mac) is None:
            raise UsageError(f"--nic {mac!r}: expected a MAC address such as 52:54:00:12:34:56")
        if macs.count(mac) > 1:
            raise UsageError(f"--nic {mac} is used twice")
    return macs


def _check_accepted(names: tuple[str, ...], to: Goal) -> None:
    """Raises UsageError for the name of an unknown loss: accepting it would have no effect."""
    if names and to == "virtio":
        raise UsageError(
            "--accept-loss needs --to vdpa or vhostuser: a change to virtio loses nothing"
        )
    known = functions_lost(to)
    for name in names:
        if name not in known:
            raise UsageError(
                f"--accept-loss {name}: unknown; with --to {to}, a NIC can lose {', '.join(known)}"
            )
