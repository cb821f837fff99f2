"""Facts about this machine that decide what an audit on it can judge."""

from __future__ import annotations

import os
from typing import NamedTuple

from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.host.read import read_release
from vnicaudit.platforms.host.tree import Tree
from vnicaudit.platforms.host.vhost_net import read_vhost_net
from vnicaudit.platforms.qemu.proc import read_proc, vhost_descriptors


class AuditMachine(NamedTuple):
    """``vhost_net``: None if unknown. ``qemus``: number of visible QEMU processes; ``closed``:
    those of them whose open descriptors cannot be read. ``hidden``: processes of other users are
    not visible."""

    vhost_net: bool | None
    qemus: int
    closed: int
    hidden: bool


def this_machine(root: str = "/") -> AuditMachine:
    """The machine whose file system is mounted at ``root``."""
    tree = Tree(root)
    proc = str(tree.path("/proc"))
    pids = [one.pid for one in read_proc(proc) if isinstance(one, RunningQemu)]
    closed = [pid for pid in pids if _is_closed(f"{proc}/{pid}/fd")]
    hidden = not os.path.exists(f"{proc}/1")
    return AuditMachine(read_vhost_net(tree, read_release(tree)), len(pids), len(closed), hidden)


def _is_closed(descriptors: str) -> bool:
    try:
        return vhost_descriptors(descriptors) is None and bool(os.listdir(descriptors))
    except FileNotFoundError:  # the process has ended since
        return False
    except PermissionError:
        return True
