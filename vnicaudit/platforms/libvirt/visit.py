"""One visit to one host, in separate threads: connect, list, fetch, read the rest, leave.

Fetching begins as soon as domains are listed, while facts of the host are still being read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.host import Host
from vnicaudit.model.live import HostTraffic
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.agent import GuestFacts, ask_guests
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.capabilities import emulator_version, is_here, read_host
from vnicaudit.platforms.libvirt.connection import explain, open_read_only
from vnicaudit.platforms.libvirt.domains import Fetched, fetch
from vnicaudit.platforms.libvirt.failures import failure_of
from vnicaudit.platforms.libvirt.state import DomainListing, list_domains
from vnicaudit.platforms.libvirt.traffic import TrafficCount
from vnicaudit.platforms.libvirt.workers import HostSilentError, Mailbox, Pulse, WorkerThreads
from vnicaudit.text.libvirt_uri import Uri

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


class PendingTraffic(msgspec.Struct, frozen=True):
    """Traffic that is being counted: ``seconds`` between two readings, and the mailbox for the
    result."""

    seconds: float
    box: Mailbox[HostTraffic | None]


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
    traffic: PendingTraffic | None = None
    """None: the counters of NICs are not read."""

    def take_traffic(self) -> HostTraffic | None:
        """The traffic, once it has been counted; ends the visit. None if it is unknown: not
        requested, not answered, or the visit has failed."""
        try:
            if self.traffic is None or self.pulse.has_ended:
                return None
            return self.traffic.box.take(self.traffic.seconds)
        except HostSilentError:
            return None
        finally:
            self.pulse.end()


class VisitRequest(NamedTuple):
    """How a host is visited, see :func:`vnicaudit.platforms.libvirt.read.read`; ``again``,
    ``traffic``: see :class:`Visit`. ``clock``: the clock for the deadline."""

    deadline: float
    agent: bool
    threads: int | None = None
    again: bool = False
    traffic: float | None = None
    clock: Callable[[], float] = time.monotonic


def start(uri: Uri, request: VisitRequest) -> Visit:
    """Start a thread for the host; returns at once."""
    pulse, traffic = Pulse(request.deadline, request.clock), request.traffic
    size = request.threads or (_REMOTE_THREADS if uri.remote else _LOCAL_THREADS)
    pending = None if traffic is None else PendingTraffic(traffic, Mailbox(pulse))
    boxes: tuple[Mailbox[OpenedHost | VisitFailure], Mailbox[VisitFailure | None]]
    boxes = Mailbox(pulse), Mailbox(pulse)
    visit = Visit(pulse, *boxes, {}, request.again, size, pending)
    patience = min(_AGENT_SECONDS, request.deadline / 2) if request.agent else 0.0
    go = partial(_run_visit, uri, size, patience, visit)
    threading.Thread(target=go, name=f"visit {uri.text}", daemon=True).start()
    return visit


def _run_visit(uri: Uri, threads: int, patience: float, visit: Visit) -> None:
    """The visit from beginning to end. Any failure is reported to the reader."""
    try:
        _connected(uri, threads, patience, visit)
    except libvirt.libvirtError as error:
        _fail(visit, TargetError(explain(error), file=uri.text, failure=failure_of(error)))
    except BaseException as error:  # an edge: a host's failure
        _fail(visit, error)


def _fail(visit: Visit, error: BaseException) -> None:
    visit.opened.post(VisitFailure(error))
    visit.progress.post(VisitFailure(error))
    if visit.traffic is not None:
        visit.traffic.box.post(None)


def _connected(uri: Uri, threads: int, patience: float, visit: Visit) -> None:
    connection = open_read_only(uri)
    visit.pulse.beat()
    workers, aside = WorkerThreads(threads, visit.pulse.beat), WorkerThreads(1, visit.pulse.beat)
    try:
        emulator = aside.call(partial(emulator_version, connection))
        listing = list_domains(connection, workers)
        traffic = _begin_traffic(connection, aside, visit)
        fetching = fetch_all(listing, workers, visit)
        host, errors = read_host(connection, emulator, patience=visit.pulse.deadline / 2)
        names = tuple(handle.name() for handle in listing.handles)
        guests = _ask_guests(uri, listing, patience)
        visit.opened.post(OpenedHost(host, is_here(uri, host.name), names, errors, guests))
        if visit.traffic is not None and traffic is not None:
            visit.traffic.box.post(traffic.result())
        for thread in fetching:
            thread.result()
    finally:
        workers.dismiss()
        aside.dismiss()
        with suppress(libvirt.libvirtError):  # a peer that is gone cannot close its side
            connection.close()


def _begin_traffic(
    connection: libvirt.virConnect, worker: WorkerThreads, visit: Visit
) -> TrafficCount | None:
    if visit.traffic is None:
        return None
    return TrafficCount(connection, worker, visit.pulse, visit.traffic.seconds)


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


def _ask_guests(uri: Uri, listing: DomainListing, patience: float) -> dict[str, GuestFacts]:
    active = [handle.UUIDString() for handle in listing.handles if handle.ID() != -1]
    return ask_guests(uri, active, patience=patience) if patience and active else {}
