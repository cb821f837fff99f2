"""Live targets: a libvirt host, joined to what its QEMUs run; or the processes of this host."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from vnicaudit.audit.join import find, join
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host
from vnicaudit.model.report import ReadError
from vnicaudit.model.running import RunningQemu


class LiveOptions(msgspec.Struct, frozen=True):
    """How to read live hosts: ``deadline`` in seconds per call, ``agent`` whether to ask guest
    agents, ``proc`` and ``root`` where this host's processes and devices are looked at."""

    deadline: float = 30.0
    agent: bool = False
    proc: str = "/proc"
    root: str = "/"


def read_processes(name: str) -> Iterator[Domain]:
    """The QEMUs below a proc file system, or the one of ``/proc/PID``."""
    from vnicaudit.platforms.qemu.domain import domain_of
    from vnicaudit.platforms.qemu.proc import read_proc

    folder = os.path.realpath(name)
    wanted = os.path.basename(folder)
    root = os.path.dirname(folder) if wanted.isdigit() else name
    for qemu in read_proc(root, target=name):
        if not wanted.isdigit() or qemu.pid == int(wanted):
            yield domain_of(qemu, name)


def read_live(uri: str, options: LiveOptions) -> Iterator[Host | Domain | ReadError]:
    """A libvirt host: the Host first, then its domains as they come, and what went wrong."""
    raise NotImplementedError


def joined(domain: Domain, running: tuple[RunningQemu, ...]) -> Domain:
    """An active domain with what its QEMU runs; others as they are."""
    if domain.state is None or not domain.state.active:
        return domain
    qemu = find(domain, running)
    return domain if qemu is None else join(domain, qemu)
