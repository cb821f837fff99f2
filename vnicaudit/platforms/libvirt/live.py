"""A libvirt host, combined with its QEMU processes if it is this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.base.cpu_deadline import PROCESS_SECONDS, Deadline, OutOfTime
from vnicaudit.base.opening import open_file
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.live import HostTraffic, LiveDefinition, LiveDomain, LiveOptions
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import ReadError
from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.host.links import read_path_mtu
from vnicaudit.platforms.host.read import read_host
from vnicaudit.platforms.host.tree import Tree
from vnicaudit.platforms.host.vdpa import read_paths
from vnicaudit.platforms.libvirt.join import find, join
from vnicaudit.platforms.qemu.log import read_tail
from vnicaudit.platforms.qemu.proc import read_proc
from vnicaudit.platforms.qemu.read import read_text

if TYPE_CHECKING:
    from vnicaudit.platforms.libvirt.read import LiveHost


def read_live(
    uri: str, options: LiveOptions
) -> Iterator[Host | LiveDomain | HostTraffic | ReadError]:
    """A libvirt host: the Host first, then its domains as they come, and errors; its traffic last,
    if it was requested and is known. Raises TargetError for a host that cannot be read at all.

    On this machine each active domain is combined with its QEMU process and log, and the host's own
    devices are checked.
    """
    from vnicaudit.platforms.libvirt.read import read

    live = read(
        uri,
        deadline=options.deadline,
        agent=options.agent,
        threads=options.calls,
        traffic=options.traffic,
    )
    try:
        yield from _items(live, options)
    finally:
        live.leave()


def _items(
    live: LiveHost[Domain], options: LiveOptions
) -> Iterator[Host | LiveDomain | HostTraffic | ReadError]:
    here, host = _with_this_machine(live.host, options, local=live.local)
    yield host
    for item in live.domains:
        if isinstance(item, ReadError):
            yield item
        elif here is None:
            yield LiveDomain(item, host.declared)
        else:
            yield LiveDomain(here.joined(item), here.config(host.declared, item))
    if (traffic := live.traffic()) is not None:
        yield traffic


def read_live_definitions(
    uri: str, options: LiveOptions
) -> Iterator[Host | LiveDefinition | ReadError]:
    """Read like :func:`read_live`, each domain with its persistent definition. Raises TargetError
    for a host that cannot be read at all."""
    from vnicaudit.platforms.libvirt.read import read_definitions

    live = read_definitions(uri, deadline=options.deadline, agent=options.agent)
    here, host = _with_this_machine(live.host, options, local=live.local)
    yield host
    for item in live.domains:
        if isinstance(item, ReadError):
            yield item
        elif here is None:
            yield LiveDefinition(
                item.running, item.domain, item.text, host.declared, local=False,
                way_back=item.way_back,
            )  # fmt: skip
        else:
            config = here.config(host.declared, item.domain)
            running = here.joined(item.running)
            yield LiveDefinition(
                running, item.domain, item.text, config, local=True, way_back=item.way_back
            )


def _with_this_machine(
    host: Host, options: LiveOptions, *, local: bool
) -> tuple[_LocalMachine | None, Host]:
    """This machine, if it is the host; and the host with the facts of this machine."""
    here = _LocalMachine(options) if local else None
    return here, host if here is None else here.host(host)


class _LocalMachine:
    """This machine: its processes and devices, read once."""

    def __init__(self, options: LiveOptions) -> None:
        self._options = options
        found = read_proc(options.proc, target=options.proc)
        self._running = tuple(qemu for qemu in found if isinstance(qemu, RunningQemu))

    def host(self, host: Host) -> Host:
        """The host with the facts of its devices and kernel; versions stay libvirt's."""
        facts = read_host(self._options.root)
        declared = msgspec.structs.replace(
            facts,
            libvirt_version=host.declared.libvirt_version,
            qemu_version=host.declared.qemu_version,
            arch=host.declared.arch or facts.arch,
        )
        return msgspec.structs.replace(host, declared=declared)

    def config(self, host: HostConfig, domain: Domain) -> HostConfig:
        """The host's facts, with the device files checked that this domain names."""
        named = (path for nic in domain.nics for path in
                 (nic.declared.device, nic.declared.backend_vhost) if path)  # fmt: skip
        paths = sorted(set(named))
        if not paths:
            return host

        looked_at = read_paths(Tree(self._options.root), paths)
        return msgspec.structs.replace(host, vhost_paths=looked_at)

    def joined(self, domain: Domain) -> Domain:
        """An active domain combined with its QEMU; others unchanged."""
        if domain.state is None or not domain.state.active:
            return domain
        qemu = find(domain, self._running)
        if qemu is not None:
            domain = join(domain, with_log(qemu, _log_of(self._options.logs, domain.name)))
        if not any(map(_sets_mtu, domain.nics)):
            return domain
        return msgspec.structs.replace(domain, nics=tuple(map(self._with_path, domain.nics)))

    def _with_path(self, nic: Nic) -> Nic:
        """The NIC with the MTUs on its path on this machine, if an MTU is set for it."""
        if nic.target_dev is None or not _sets_mtu(nic):
            return nic

        return msgspec.structs.replace(
            nic, path=read_path_mtu(Tree(self._options.root), nic.target_dev)
        )


def _sets_mtu(nic: Nic) -> bool:
    return nic.declared.mtu is not None or (nic.running is not None and nic.running.mtu is not None)


def with_log(qemu: RunningQemu, log: RunningQemu | None) -> RunningQemu:
    """A process with the facts that only the log of its start has: the versions of QEMU and
    libvirt, and warnings about vhost-net. A log of another start (or of none) adds nothing."""
    if log is None or log.stopped or (log.uuid, log.name) != (qemu.uuid, qemu.name):
        return qemu
    warned = {nic.id: nic.log_warning for nic in log.nics}
    nics = tuple(msgspec.structs.replace(nic, log_warning=warned.get(nic.id)) for nic in qemu.nics)
    return msgspec.structs.replace(
        qemu,
        nics=nics,
        qemu_version=log.qemu_version,
        libvirt_version=log.libvirt_version,
    )


def _log_of(folder: str, name: str) -> RunningQemu | None:
    """The last start in a domain's log; None if it cannot be read (usually only by root)."""
    if "/" in name or name.startswith("."):
        return None  # not a file name that libvirt uses; stay inside the folder
    path = os.path.join(folder, f"{name}.log")
    try:
        descriptor = open_file(path)
    except OSError:
        return None
    try:
        with Deadline(PROCESS_SECONDS):
            data = read_tail(descriptor, os.fstat(descriptor).st_size)
            return next(read_text(data, target=folder, file=path), None)
    except (OSError, TargetError, OutOfTime):
        return None
    finally:
        os.close(descriptor)
