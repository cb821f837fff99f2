"""How a run reads its targets."""

from __future__ import annotations

import msgspec

from vnicaudit.audit.chosen import Wanted
from vnicaudit.audit.selection import Selection
from vnicaudit.model.host import DEADLINE, CloudLimits


class LiveOptions(msgspec.Struct, frozen=True):
    """How to read live hosts: ``deadline`` in seconds per call, ``agent`` whether to ask guest
    agents; ``root``, ``proc`` and ``logs``: where this host's devices, processes and QEMU logs
    are found. ``cloud``: how much, and for how long, a cloud is asked;
    ``servers``: which of its servers."""

    deadline: float = DEADLINE
    agent: bool = False
    root: str = "/"
    proc: str = "/proc"
    logs: str = "/var/log/libvirt/qemu"
    cloud: CloudLimits = CloudLimits()
    servers: Wanted = Wanted()


class RunOptions(msgspec.Struct, frozen=True):
    """``jobs``: worker processes for files (0: one per core); ``selection``: which files.
    ``nova_config``: files and folders that nova-compute reads together, in its order."""

    jobs: int = 0
    live: LiveOptions = LiveOptions()
    selection: Selection = Selection()
    nova_config: tuple[str, ...] = ()
