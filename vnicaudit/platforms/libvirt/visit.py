"""One visit to one host, in separate threads: connect, list, fetch, read the rest, leave.

Fetching begins as soon as domains are listed, while facts of the host are still being read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import HostTraffic, LiveOptions, NicTraffic
from vnicaudit.model.host import Host
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.connection import (
    DomainListing,
    emulator_version,
    explain,
    failure_of,
    is_here,
    libvirt,
    list_domains,
    open_read_only,
    read_host,
)
from vnicaudit.platforms.libvirt.domains import Fetched, GuestFacts, ask_guests, fetch
from vnicaudit.platforms.libvirt.workers import HostSilentError, Mailbox, Pulse, WorkerThreads
from vnicaudit.text.targets import Uri

# Traffic of running NICs: two readings of libvirt's counters for all guests of a host, each one
# call (``virConnectGetAllDomainStats``).
#
# The call does not wait for a guest that is busy with a job (a migration). If a driver counts
# nothing, such as the test driver, traffic is unknown.


_NICS_MAX = 1024
"""Maximum number of NICs of one domain."""
_NAMES = (
    ("rx_bytes", "rx.bytes"), ("tx_bytes", "tx.bytes"), ("rx_packets", "rx.pkts"),
    ("tx_packets", "tx.pkts"), ("rx_drops", "rx.drop"), ("tx_drops", "tx.drop"),
    ("rx_errors", "rx.errs"), ("tx_errors", "tx.errs"),
)  # fmt: skip
"""Our names, and libvirt's after ``net.N.``."""

Counters = Mapping[str, int]
"""Counters by our names; missing ones are not counted."""


class CounterReading(msgspec.Struct, frozen=True):
    """All counters at one time (monotonic, in seconds), by the UUID of the domain and the NIC's
    device on the host."""

    time: float
    nics: Mapping[tuple[str, str], Counters]


def read_counters(connection: libvirt.virConnect) -> CounterReading:
    """The counters of all running domains now. Raises libvirtError."""
    flags = (
        libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE
        | libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
    )
    answers = connection.getAllDomainStats(libvirt.VIR_DOMAIN_STATS_INTERFACE, flags)
    now = time.monotonic()
    nics = {
        (handle.UUIDString(), device): counters
        for handle, stats in answers
        for device, counters in counters_of(stats)
    }
    return CounterReading(now, nics)


def counters_of(stats: Mapping[str, object]) -> Iterator[tuple[str, Counters]]:
    """The host device of each NIC of one domain, and its counters, from ``net.N.…``. Values that
    are not numbers, and NICs without a name, are left out."""
    number = stats.get("net.count")
    for index in range(min(number, _NICS_MAX) if isinstance(number, int) else 0):
        device = stats.get(f"net.{index}.name")
        values = {name: stats.get(f"net.{index}.{key}") for name, key in _NAMES}
        counters = {name: value for name, value in values.items() if isinstance(value, int)}
        if isinstance(device, str) and device and counters:
            yield device, counters


def traffic_between(first: CounterReading, last: CounterReading) -> Iterator[NicTraffic]:
    """The increase for each NIC that is in both readings. A counter that went down was reset: its
    increase is unknown."""
    for key in sorted(first.nics.keys() & last.nics.keys()):
        early, late = first.nics[key], last.nics[key]
        increase = {
            name: late[name] - early[name]
            for name in early.keys() & late.keys()
            if late[name] >= early[name]
        }
        seconds = last.time - first.time
        yield NicTraffic(uuid=key[0], device=key[1], seconds=seconds, **increase)


_LOCAL_THREADS = 4
_REMOTE_THREADS = 32
"""On one shared connection, more threads mean more concurrent requests, which hides the round
trip."""
_PROGRESS_EVERY = 32
"""Maximum number of domains that a thread fetches before it reports progress: reporting costs as
much as a local call."""
_AGENT_SECONDS = 10.0


class OpenedHost(msgspec.Struct, frozen=True):
    """Everything but the domains themselves, of which only the names are known."""

    host: Host
    local: bool
    names: tuple[str, ...]
    errors: tuple[ReadError, ...]
    guests: Mapping[str, GuestFacts]


class VisitFailure(msgspec.Struct, frozen=True):
    """The visit ended early."""

    error: BaseException


class Visit(msgspec.Struct, frozen=True):
    """Where the threads of a visit report: ``shelf`` holds domains by their position in the list
    (None: gone since); ``progress`` reports that there are more (None) or
    that there will be none."""

    pulse: Pulse
    opened: Mailbox[OpenedHost | VisitFailure]
    progress: Mailbox[VisitFailure | None]
    shelf: dict[int, Fetched | ReadError | None]
    again: bool = False
    """Also fetch each definition as it would be if it were defined again."""
    threads: int = 1
    """Number of domains that are fetched at once."""
    seconds: float = 0.0
    """Time between two readings of the counters of NICs."""
    traffic: Mailbox[HostTraffic | None] | None = None
    """None: the counters are not read."""

    def take_traffic(self) -> HostTraffic | None:
        """The traffic, once it has been counted; ends the visit. None if it is unknown: not
        requested, not answered, or the visit has failed."""
        try:
            if self.traffic is None or self.pulse.has_ended:
                return None
            return self.traffic.take(self.seconds)
        except HostSilentError:
            return None
        finally:
            self.pulse.end()


def start(
    uri: Uri, options: LiveOptions, *, again: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Visit:  # fmt: skip
    """Start a thread for the host; returns at once. ``again``: see :class:`Visit`."""
    pulse = Pulse(options.deadline, clock)
    size = options.calls or (_REMOTE_THREADS if uri.remote else _LOCAL_THREADS)
    counts: Mailbox[HostTraffic | None] | None
    counts = None if options.traffic is None else Mailbox(pulse)
    visit = Visit(
        pulse, Mailbox(pulse), Mailbox(pulse), {}, again, size, options.traffic or 0.0, counts
    )
    patience = min(_AGENT_SECONDS, options.deadline / 2) if options.agent else 0.0
    go = partial(_run_visit, uri, patience, visit)
    threading.Thread(target=go, name=f"visit {uri.text}", daemon=True).start()
    return visit


def _run_visit(uri: Uri, patience: float, visit: Visit) -> None:
    """The visit from beginning to end. Any failure is reported to the reader."""
    try:
        _connected(uri, patience, visit)
    except BaseException as error:  # an edge: a host's failure
        if isinstance(error, libvirt.libvirtError):
            error = TargetError(explain(error), file=uri.text, failure=failure_of(error))
        visit.opened.post(VisitFailure(error))
        visit.progress.post(VisitFailure(error))
        if visit.traffic is not None:
            visit.traffic.post(None)


def _connected(uri: Uri, patience: float, visit: Visit) -> None:
    connection, beat = open_read_only(uri), visit.pulse.beat
    beat()
    workers, aside = WorkerThreads(visit.threads, beat), WorkerThreads(1, beat)
    try:
        emulator = aside.call(partial(emulator_version, connection))
        listing = list_domains(connection, workers)
        count = partial(aside.call, partial(read_counters, connection))
        first = None if visit.traffic is None else count()
        fetching = fetch_all(listing, workers, visit)
        host, errors = read_host(connection, emulator, patience=visit.pulse.deadline / 2)
        names = tuple(handle.name() for handle in listing.handles)
        active = [handle.UUIDString() for handle in listing.handles if handle.ID() != -1]
        guests = ask_guests(uri, active, patience=patience) if patience and active else {}
        visit.opened.post(OpenedHost(host, is_here(uri, host.name), names, errors, guests))
        if visit.traffic is not None and first is not None:
            visit.traffic.post(_traffic_since(first, count, visit))
        for thread in fetching:
            thread.result()
    finally:
        workers.dismiss()
        aside.dismiss()
        with suppress(libvirt.libvirtError):  # a peer that is gone cannot close its side
            connection.close()


def _traffic_since(
    reading: Future[CounterReading], count: Callable[[], Future[CounterReading]], visit: Visit
) -> HostTraffic | None:
    """The traffic since a reading that is under way; None if the driver does not count, or there is
    no reader any more."""
    try:
        first = reading.result()
        if not first.nics:
            return None
        visit.pulse.pause(first.time + visit.seconds - time.monotonic())
        if visit.pulse.has_ended:
            return None
        return HostTraffic(tuple(traffic_between(first, count().result())))
    except libvirt.libvirtError:
        return None


def fetch_all(listing: DomainListing, workers: WorkerThreads, visit: Visit) -> list[Future[None]]:
    """Fetch every domain; each thread takes the next one in turn, so that a domain that hangs
    blocks one thread and no other domain."""
    handles = listing.handles
    every = max(1, min(_PROGRESS_EVERY, len(handles) // (workers.size * 4)))
    turns = iter(range(len(handles)))
    lock = threading.Lock()

    def work() -> None:
        done = 0
        while not visit.pulse.has_ended:
            with lock:
                turn = next(turns, None)
            if turn is None:
                break
            visit.shelf[turn] = fetch(handles[turn], listing, again=visit.again)
            visit.pulse.beat()
            done += 1
            if done % every == 0:
                visit.progress.post(None)
        visit.progress.post(None)

    return [workers.call(work) for _ in range(workers.size)]
