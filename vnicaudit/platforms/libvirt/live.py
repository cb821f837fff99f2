"""A libvirt host, combined with its QEMU processes if it is this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from vnicaudit.base.deadlines import PROCESS_SECONDS, Deadline, OutOfTime
from vnicaudit.base.opening import open_file
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import HostTraffic, LiveDefinition, LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.nic import Nic, RunningQemu
from vnicaudit.model.report import LostRead, ReadError, failure_kind
from vnicaudit.platforms.host.local import Tree, read_host, read_path_mtu, read_paths
from vnicaudit.platforms.libvirt.domains import (
    Fetched,
    Surroundings,
    definition_from,
    domain_from,
)
from vnicaudit.platforms.libvirt.visit import OpenedHost, Visit, VisitFailure, start
from vnicaudit.platforms.libvirt.workers import HostSilentError
from vnicaudit.platforms.qemu.proc import find, join, read_proc, with_log
from vnicaudit.platforms.qemu.read import read_tail, read_text
from vnicaudit.text.targets import parse

if TYPE_CHECKING:
    from vnicaudit.model.host_facts import HostFacts
    from vnicaudit.platforms.host.visiting.visit import HostVisit


def read_live(
    uri: str, options: LiveOptions
) -> Iterator[Host | HostFacts | LiveDomain | HostTraffic | ReadError]:
    """A libvirt host: the Host first, then its domains as they come, and errors; its traffic last,
    if it was requested and is known. Raises TargetError for a host that cannot be read at all.

    On this machine each active domain is combined with its QEMU process and log, and the host's own
    devices are checked.
    """
    live = read(uri, options)
    try:
        here = _LocalMachine(options) if live.local else None
        host = live.host if here is None else here.host(live.host)
        visited = None
        if options.host_facts:
            try:
                visited = _visited(uri, options, local=live.local)
            except TargetError as error:
                yield ReadError(error.message, uri)
        if visited is not None and here is None:
            host = _with_facts(host, visited.host.declared)
        yield host
        if visited is not None:
            yield visited.facts
        for item in live.domains:
            if isinstance(item, ReadError):
                yield item
            elif here is None:
                qemu = find(item, visited.qemus) if visited and _is_active(item) else None
                yield LiveDomain(item if qemu is None else join(item, qemu), host.declared)
            else:
                yield LiveDomain(here.joined(item), here.config(host.declared, item))
        if (traffic := live.visit.take_traffic()) is not None:
            yield traffic
    finally:
        live.visit.pulse.end()


def _with_facts(host: Host, facts: HostConfig) -> Host:
    """The host with the facts of its devices and kernel; versions, architecture and networks stay
    libvirt's."""
    own = host.declared
    declared = msgspec.structs.replace(
        facts,
        libvirt_version=own.libvirt_version,
        qemu_version=own.qemu_version,
        arch=own.arch or facts.arch,
    )
    return msgspec.structs.replace(host, declared=declared)


def _is_active(domain: Domain) -> bool:
    return domain.state is not None and bool(domain.state.active)


def _visited(uri: str, options: LiveOptions, *, local: bool) -> HostVisit:
    """The host of a libvirt, visited by the way of its URI. Raises TargetError."""
    where = parse(uri)
    if where.transport in _BY_SSH and where.server:
        url = ssh_url(uri)
    elif local:
        url = "local"
    else:
        text = "the host's facts were not read: its URI does not go over ssh; name ssh://HOST too"
        raise TargetError(text, file=uri, failure="refused")
    from vnicaudit.platforms.host.visiting.visit import visit_beside

    return visit_beside(url, uri, options)


_BY_SSH = ("ssh", "libssh", "libssh2")
_SAME = {"keyfile": "ssh_identity_file", "known_hosts": "known_hosts"}
"""Parameters of a URI, and what they are for an ``ssh://`` URL."""


def ssh_url(uri: str) -> str:
    """The host of a URI that goes over ssh, with the same key and file of known hosts. Its
    ``no_verify`` is not followed: facts come from a host that is known."""
    where = parse(uri)
    given = parse_qsl(urlsplit(uri).query)
    query = "&".join(f"{_SAME[name]}={quote(text)}" for name, text in given if name in _SAME)
    return f"ssh://{where.server}" + (f"?{query}" if query else "")


def read_live_definitions(
    uri: str, options: LiveOptions
) -> Iterator[Host | LiveDefinition | ReadError]:
    """Read like :func:`read_live`, each domain with its persistent definition. Raises TargetError
    for a host that cannot be read at all."""
    live = _read(uri, msgspec.structs.replace(options, traffic=None), definition_from, again=True)
    here = _LocalMachine(options) if live.local else None
    host = live.host if here is None else here.host(live.host)
    yield host
    for item in live.domains:
        if isinstance(item, ReadError):
            yield item
        elif here is None:
            yield item._replace(host=host.declared)
        else:
            config = here.config(host.declared, item.domain)
            yield item._replace(running=here.joined(item.running), host=config, local=True)


class _LocalMachine:
    """This machine: its processes and devices, read once."""

    def __init__(self, options: LiveOptions) -> None:
        self._options = options
        found = read_proc(options.proc, target=options.proc)
        self._running = tuple(qemu for qemu in found if isinstance(qemu, RunningQemu))

    def host(self, host: Host) -> Host:
        """The host with the facts of this machine."""
        return _with_facts(host, read_host(self._options.root))

    def config(self, host: HostConfig, domain: Domain) -> HostConfig:
        """The host's facts, with the device files checked that this domain names."""
        named = {path for nic in domain.nics for path in
                 (nic.declared.device, nic.declared.backend_vhost) if path}  # fmt: skip
        if not named:
            return host
        read = read_paths(Tree(self._options.root), sorted(named))
        return msgspec.structs.replace(host, vhost_paths=read)

    def joined(self, domain: Domain) -> Domain:
        """An active domain combined with its QEMU; others unchanged."""
        if not _is_active(domain):
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
        path = read_path_mtu(Tree(self._options.root), nic.target_dev)
        return msgspec.structs.replace(nic, path=path)


def _sets_mtu(nic: Nic) -> bool:
    return nic.declared.mtu is not None or (nic.running is not None and nic.running.mtu is not None)


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


# Read a live libvirt: its host, then its domains as a stream, over one read-only connection.
#
# If a host does not answer, or stops answering, everything read until then is delivered, and each
# domain that is missing is an error of its own.


T = TypeVar("T", Domain, LiveDefinition)


class LiveHost(msgspec.Struct, Generic[T], frozen=True):
    """A host that is being read. ``local``: it is this machine, so its /proc and /dev can be read
    as well. ``domains`` can be iterated once, in the order of names, with errors among them; then
    ``visit`` knows the traffic."""

    host: Host
    local: bool
    domains: Iterator[T | ReadError]
    visit: Visit


def read(
    uri: str,
    options: LiveOptions = LiveOptions(),  # noqa: B008 - it never changes
    clock: Callable[[], float] = time.monotonic,
) -> LiveHost[Domain]:
    """Connect read-only and read everything that affects NICs. ``clock`` is that of the deadline.

    Raises TargetError if the host cannot be reached or its domains cannot be listed.
    """
    return _read(uri, options, domain_from, clock=clock)


def _read(
    uri: str,
    options: LiveOptions,
    finish: Callable[[Fetched, Surroundings], T | ReadError],
    *,
    again: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> LiveHost[T]:
    where = parse(uri)
    visit = start(where, options, again=again, clock=clock)
    try:
        opened = visit.opened.take()
    except HostSilentError:
        visit.pulse.end()
        text = f"no answer within {visit.pulse.deadline:g} s"
        raise TargetError(text, file=uri, failure="deadline") from None
    if isinstance(opened, VisitFailure):
        raise opened.error
    networks = {each.name: each for each in opened.host.networks}
    around = Surroundings(where, networks, opened.guests)
    domains = stream(opened, visit, lambda item: finish(item, around))
    return LiveHost(opened.host, opened.local, domains, visit)


def stream(
    opened: OpenedHost, visit: Visit, finish: Callable[[Fetched], T | ReadError]
) -> Iterator[T | ReadError]:
    """Domains and errors in the order of the list; those missing at the end are errors."""
    shelf, names = visit.shelf, opened.names
    end: TargetError | None = None
    position = 0
    yield from opened.errors
    try:
        while position < len(names) and end is None:
            end = _receive(visit)
            while position in shelf:
                yield from _finished(shelf.pop(position), finish)
                position += 1
    finally:
        if visit.traffic is None or position < len(names):
            visit.pulse.end()
    missing = [index for index in range(position, len(names)) if index not in shelf]
    # if at most one per thread is missing, the threads wait for guests, and the host answers
    few = len(missing) <= min(visit.threads, len(names) - 1)
    for index in range(position, len(names)):
        if index in shelf or end is None:
            yield from _finished(shelf.get(index), finish)
        else:
            text = f"domain {names[index]!r}: not read: {end.message}"
            whole = not (few and end.failure == "deadline")
            yield LostRead(text, failure=failure_kind(end.failure) or "broken", whole=whole)


def _receive(visit: Visit) -> TargetError | None:
    """Wait for the next result; returns the reason if there will be none."""
    try:
        report = visit.progress.take()
    except HostSilentError:
        return TargetError(f"no answer within {visit.pulse.deadline:g} s", failure="deadline")
    if report is None:
        return None
    if isinstance(report.error, TargetError):
        return report.error
    raise report.error


def _finished(
    item: Fetched | ReadError | None, finish: Callable[[Fetched], T | ReadError]
) -> Iterator[T | ReadError]:
    """The domain, followed by errors for parts that could not be read; nothing if it has
    disappeared since it was listed."""
    found = finish(item) if isinstance(item, Fetched) else item
    if found is not None:
        yield found
    if isinstance(found, Domain):
        yield from found.unread
