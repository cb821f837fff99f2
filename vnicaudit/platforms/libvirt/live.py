"""A libvirt host, combined with its QEMU processes if it is this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from vnicaudit.base.deadlines import PROCESS_SECONDS, Deadline, OutOfTime
from vnicaudit.base.opening import open_file
from vnicaudit.base.wording import bare_uuid
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, LiveFacts
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.fleet import DEADLINE, HostTraffic, LiveDefinition, LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.nic import Nic, RunningNic, RunningQemu
from vnicaudit.model.report import LostRead, ReadError, failure_kind
from vnicaudit.platforms.host import Tree, read_host, read_path_mtu, read_paths
from vnicaudit.platforms.libvirt.domains import (
    Fetched,
    JudgedDefinition,
    Surroundings,
    definition_from,
    domain_from,
)
from vnicaudit.platforms.libvirt.visit import OpenedHost, Visit, VisitFailure, VisitRequest, start
from vnicaudit.platforms.libvirt.workers import HostSilentError
from vnicaudit.platforms.qemu.proc import anonymous, read_proc
from vnicaudit.platforms.qemu.read import read_tail, read_text
from vnicaudit.text.targets import Uri, parse

# Combine a definition and the QEMU that runs it into one domain whose NICs show what runs.


def find(domain: Domain, candidates: Iterable[RunningQemu]) -> RunningQemu | None:
    """The QEMU that runs the domain: by UUID; by name if either has no UUID. The last of several
    wins (a migration leaves two for a moment); None if there is none."""
    by_name = None
    by_uuid = None
    for qemu in candidates:
        if domain.uuid is not None and qemu.uuid is not None:
            if bare_uuid(domain.uuid) == bare_uuid(qemu.uuid):
                by_uuid = qemu
        elif qemu.name is not None and qemu.name == domain.name:
            by_name = qemu
    return by_uuid or by_name


def join(domain: Domain, running: RunningQemu) -> Domain:
    """The domain with ``running`` filled in for each NIC that is on the command line.

    NICs are matched by MAC, among equal MACs by id and then by order; the rest by id. A NIC that
    was plugged later is not on the command line and gets no ``running``. A NIC that is only on the
    command line is gone: the running definition lists every NIC, including those of
    ``<qemu:commandline>``, whereas the command line keeps those that were unplugged. So the command
    line may name a device that was replaced by another one with the same MAC while the guest ran;
    the former does not run.
    """
    pairs = _match(domain.nics, list(running.nics))
    pairs = {
        index: other for index, other in pairs.items() if not _exchanged(domain.nics[index], other)
    }
    nics = tuple(
        nic if index not in pairs else msgspec.structs.replace(nic, running=anonymous(pairs[index]))
        for index, nic in enumerate(domain.nics)
    )
    return msgspec.structs.replace(
        domain,
        nics=nics,
        live=msgspec.structs.replace(domain.live or LiveFacts(), joined=True),
        qemu_version=running.qemu_version or domain.qemu_version,
        libvirt_version=running.libvirt_version or domain.libvirt_version,
    )


def _match(nics: tuple[Nic, ...], left: list[RunningNic]) -> dict[int, RunningNic]:
    """Index of a NIC -> its running NIC; matches are removed from ``left``. The most certain match
    comes first: MAC and id, then MAC, then id."""
    pairs: dict[int, RunningNic] = {}
    for same in (_same_mac_and_id, _same_mac, _same_id):
        for index, nic in enumerate(nics):
            if index in pairs:
                continue
            found = next((place for place, other in enumerate(left) if same(nic, other)), None)
            if found is not None:
                pairs[index] = left.pop(found)
    return pairs


def _exchanged(nic: Nic, other: RunningNic) -> bool:
    """True if exactly one of the two NICs is virtio, and the definition names a model."""
    model = nic.declared.model
    return model is not None and (model in VIRTIO) != (other.model in VIRTIO)


def _same_mac_and_id(nic: Nic, other: RunningNic) -> bool:
    return _same_mac(nic, other) and nic.alias is not None and nic.alias == other.id


def _same_mac(nic: Nic, other: RunningNic) -> bool:
    return nic.mac is not None and nic.mac == other.mac


def _same_id(nic: Nic, other: RunningNic) -> bool:
    """True if both have the same id, and their MACs do not contradict it."""
    if nic.alias is None or nic.alias != other.id:
        return False
    return nic.mac is None or other.mac is None


def read_live(
    uri: str, options: LiveOptions
) -> Iterator[Host | LiveDomain | HostTraffic | ReadError]:
    """A libvirt host: the Host first, then its domains as they come, and errors; its traffic last,
    if it was requested and is known. Raises TargetError for a host that cannot be read at all.

    On this machine each active domain is combined with its QEMU process and log, and the host's own
    devices are checked.
    """

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

    live = read_definitions(uri, deadline=options.deadline, agent=options.agent)
    here, host = _with_this_machine(live.host, options, local=live.local)
    yield host
    for item in live.domains:
        if isinstance(item, ReadError):
            yield item
            continue
        running, config = item.running, host.declared
        if here is not None:
            running, config = here.joined(running), here.config(config, item.domain)
        yield LiveDefinition(
            running, item.domain, item.text, config,
            local=here is not None, way_back=item.way_back,
        )  # fmt: skip


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


# Read a live libvirt: its host, then its domains as a stream, over one read-only connection.
#
# If a host does not answer, or stops answering, everything read until then is delivered, and each
# domain that is missing is an error of its own.


T = TypeVar("T", Domain, JudgedDefinition)


class LiveHost(msgspec.Struct, Generic[T], frozen=True):
    """A host that is being read. ``local``: it is this machine, so its /proc and /dev can be read
    as well. ``domains`` can be iterated once, in the order of names. ``traffic`` is called
    afterwards; None: unknown. ``leave`` ends the visit at any point."""

    host: Host
    local: bool
    domains: Iterator[T | ReadError]
    traffic: Callable[[], HostTraffic | None] = lambda: None
    leave: Callable[[], None] = lambda: None


def read(
    uri: str,
    *,
    deadline: float = DEADLINE,
    agent: bool = False,
    threads: int | None = None,
    traffic: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> LiveHost[Domain]:
    """Connect read-only and read everything that affects NICs.

    ``deadline`` is how many seconds the host may be silent, ``threads`` the maximum number of
    concurrent calls (None: few on a local socket, many over a network). With ``agent`` guests are
    asked for their operating system (see :mod:`vnicaudit.platforms.libvirt.domains`). ``traffic``:
    seconds between two readings of the counters of NICs (None: they are not read).

    Raises TargetError if the host cannot be reached or its domains cannot be listed.
    """
    request = VisitRequest(deadline, agent, threads, traffic=traffic, clock=clock)
    where = parse(uri)
    visit = start(where, request)
    opened = _opened(visit, uri)
    domains = stream(opened, visit, _surroundings(where, opened))
    return LiveHost(opened.host, opened.local, domains, visit.take_traffic, visit.pulse.end)


def read_definitions(
    uri: str, *, deadline: float = DEADLINE, agent: bool = False
) -> LiveHost[JudgedDefinition]:
    """Read as :func:`read` does, each domain with its persistent definition."""
    where = parse(uri)
    visit = start(where, VisitRequest(deadline, agent, again=True))
    opened = _opened(visit, uri)
    around = _surroundings(where, opened)
    domains = _stream(opened, visit, lambda item: _defined(item, around))
    return LiveHost(opened.host, opened.local, domains)


def _opened(visit: Visit, uri: str) -> OpenedHost:
    try:
        opened = visit.opened.take()
    except HostSilentError:
        visit.pulse.end()
        text = f"no answer within {visit.pulse.deadline:g} s"
        raise TargetError(text, file=uri, failure="deadline") from None
    if isinstance(opened, VisitFailure):
        raise opened.error
    return opened


def _surroundings(uri: Uri, opened: OpenedHost) -> Surroundings:
    return Surroundings(uri, {each.name: each for each in opened.host.networks}, opened.guests)


def stream(opened: OpenedHost, visit: Visit, around: Surroundings) -> Iterator[Domain | ReadError]:
    """Domains and errors in the order of the list; those missing at the end are errors."""
    return _stream(opened, visit, lambda item: finished(item, around))


def _stream(
    opened: OpenedHost,
    visit: Visit,
    finish: Callable[[Fetched | ReadError | None], Iterator[T | ReadError]],
) -> Iterator[T | ReadError]:
    """``finish`` is called with the result for each domain; None: it has disappeared since it was
    listed."""
    shelf = visit.shelf
    end: _ReadEnd | None = None
    position = 0
    yield from opened.errors
    try:
        while position < len(opened.names) and end is None:
            end = _receive(visit)
            while position in shelf:
                yield from finish(shelf.pop(position))
                position += 1
    finally:
        if visit.traffic is None or position < len(opened.names):
            visit.pulse.end()
    missing = [index for index in range(position, len(opened.names)) if index not in shelf]
    whole = not _is_of_guests(end, len(missing), len(opened.names), visit.threads)
    for index in range(position, len(opened.names)):
        yield from finish(shelf.get(index, _lost_read(opened.names[index], end, whole=whole)))


class _ReadEnd(NamedTuple):
    """The reason why no more domains will come, and the kind of that failure (empty: unknown)."""

    reason: str
    failure: str


def _is_of_guests(end: _ReadEnd | None, missing: int, domains: int, threads: int) -> bool:
    """True if at most one domain per thread is missing while others are there: the threads wait for
    guests, and the host itself answers."""
    return end is not None and end.failure == "deadline" and missing <= min(threads, domains - 1)


def _lost_read(name: str, end: _ReadEnd | None, *, whole: bool) -> ReadError:
    reason, failure = end or _ReadEnd("", "")
    text = f"domain {name!r}: not read: {reason}"
    return LostRead(text, failure=failure_kind(failure) or "broken", whole=whole)


def _receive(visit: Visit) -> _ReadEnd | None:
    """Wait for the next result; returns the end if there will be none."""
    try:
        report = visit.progress.take()
    except HostSilentError:
        return _ReadEnd(f"no answer within {visit.pulse.deadline:g} s", "deadline")
    if report is None:
        return None
    if isinstance(report.error, TargetError):
        return _ReadEnd(report.error.message, report.error.failure)
    raise report.error


def finished(
    item: Fetched | ReadError | None, around: Surroundings
) -> Iterator[Domain | ReadError]:
    """The domain, followed by errors for parts that could not be read; nothing if it has
    disappeared since it was listed."""
    found = domain_from(item, around) if isinstance(item, Fetched) else item
    if found is not None:
        yield found
    if isinstance(found, Domain):
        yield from found.unread


def _defined(
    item: Fetched | ReadError | None, around: Surroundings
) -> Iterator[JudgedDefinition | ReadError]:
    if isinstance(item, ReadError):
        yield item
    elif item is not None:
        yield definition_from(item, around)
