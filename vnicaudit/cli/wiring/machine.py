"""The machine that the program runs on, as far as it decides what an audit can judge."""

from __future__ import annotations

import os
from typing import NamedTuple

from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.host.read import read_release
from vnicaudit.platforms.host.tree import Tree
from vnicaudit.platforms.host.vhost_net import read_vhost_net
from vnicaudit.platforms.qemu.proc import read_proc, vhost_descriptors


class AuditMachine(NamedTuple):
    """``vhost_net``: None where it cannot be told. ``qemus``: those that can be seen, ``closed``
    those of them whose open descriptors may not be read. ``hidden``: processes of other users
    cannot be seen."""

    vhost_net: bool | None
    qemus: int
    closed: int
    hidden: bool


def this_machine(root: str = "/") -> AuditMachine:
    """The machine whose file system is mounted at ``root``."""
    tree = Tree(root)
    proc = str(tree.path("/proc"))
    pids = [one.pid for one in read_proc(proc) if isinstance(one, RunningQemu)]
    closed = [pid for pid in pids if vhost_descriptors(f"{proc}/{pid}/fd") is None]
    hidden = not os.path.exists(f"{proc}/1")
    return AuditMachine(read_vhost_net(tree, read_release(tree)), len(pids), len(closed), hidden)
