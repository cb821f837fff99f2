"""What the options of ``vnicaudit plan`` ask for together."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from vnicaudit.audit.targets import CLOUD, target_of
from vnicaudit.errors import UsageError

if TYPE_CHECKING:
    from vnicaudit.model.plan import Goal
    from vnicaudit.remedy.planning.options import PlanOptions

_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")


def asked_for(given: dict[str, Any], targets: tuple[str, ...]) -> PlanOptions:
    """Raises UsageError for what makes no sense together."""
    from vnicaudit.remedy.planning.options import PlanOptions

    if given["projects"] and not any(map(_is_cloud, targets)):
        raise UsageError(f"--projects is for a cloud ({CLOUD}CLOUD)")
    wanted = _devices(given, targets)
    _check_accepted(given["accepted"], given["to"])
    return PlanOptions(
        to=given["to"],
        domains=frozenset(given["domains"]),
        macs=_macs(given["macs"]),
        accepted=frozenset(given["accepted"]),
        devices=wanted,
        socket_mode=given["socket_mode"],
        unsafe=given["include_unsafe"],
    )


def _is_cloud(target: str) -> bool:
    return target.startswith(CLOUD)


def _devices(given: dict[str, Any], targets: tuple[str, ...]) -> tuple[str, ...]:
    """A device or socket for each ``--nic``; none in a cloud, where Nova chooses them."""
    to = given["to"]
    devices = {"vdpa": given["vdpa_devices"], "vhostuser": given["sockets"]}
    for goal, option in (("vdpa", "--vdpa-device"), ("vhostuser", "--vhostuser-socket")):
        if devices[goal] and to != goal:
            raise UsageError(f"{option} is for --to {goal}")
    if to == "virtio":
        return ()
    if not given["macs"]:
        raise UsageError(f"--to {to} needs --nic: say which NICs")
    wanted: tuple[str, ...] = devices[to]
    if any(map(_is_cloud, targets)):
        return _of_cloud(to, wanted, targets)
    if len(wanted) != len(given["macs"]):
        raise UsageError(f"--to {to} needs one device or socket for each --nic, in their order")
    _check_paths(wanted)
    return wanted


def _of_cloud(to: str, wanted: tuple[str, ...], targets: tuple[str, ...]) -> tuple[str, ...]:
    if wanted:
        raise UsageError(f"--to {to}: in a cloud Nova and Neutron choose the device or socket")
    if not all(_is_cloud(target) or _may_be_nova_conf(target) for target in targets):
        raise UsageError(
            f"--to {to}: plan a cloud by itself, or with nova.conf of its compute nodes; on a host "
            "each NIC is given a device"
        )
    return ()


def _may_be_nova_conf(target: str) -> bool:
    """A file by its name, or a folder that may hold some."""
    return target_of(target).kind == "path" and (target.endswith(".conf") or os.path.isdir(target))


def _check_paths(wanted: tuple[str, ...]) -> None:
    if len(set(wanted)) != len(wanted):
        raise UsageError("each NIC needs a device or socket of its own")
    for path in wanted:
        if not path.startswith("/"):
            raise UsageError(f"{path}: give the whole path")


def _macs(given: tuple[str, ...]) -> tuple[str, ...]:
    macs = tuple(mac.strip().lower() for mac in given)
    for mac in macs:
        if _MAC.fullmatch(mac) is None:
            raise UsageError(f"--nic {mac!r}: give a MAC address, as 52:54:00:12:34:56")
        if macs.count(mac) > 1:
            raise UsageError(f"--nic {mac} is given twice")
    return macs


def _check_accepted(names: tuple[str, ...], to: Goal) -> None:
    """A name that nothing is called would be accepted in vain."""
    from vnicaudit.remedy.planning.backends import functions_lost

    if names and to == "virtio":
        raise UsageError("--accept-loss is for --to vdpa and vhostuser: virtio loses nothing")
    known = functions_lost(to)
    for name in names:
        if name not in known:
            raise UsageError(f"--accept-loss {name}: --to {to} loses {', '.join(known)}")
