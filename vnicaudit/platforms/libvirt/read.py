"""Read a live libvirt: its host, then its domains as a stream, over one read-only connection.

If a host does not answer, or stops answering, everything read until then is delivered, and each
domain that is missing is an error of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host
from vnicaudit.model.live import DEADLINE, HostTraffic
from vnicaudit.model.report import LostRead, ReadError, failure_kind
from vnicaudit.platforms.libvirt.domains import (
    Fetched,
    JudgedDefinition,
    Surroundings,
    definition_from,
    domain_from,
    read_fetched,
)
from vnicaudit.platforms.libvirt.visit import OpenedHost, Visit, VisitFailure, VisitRequest, start
from vnicaudit.platforms.libvirt.workers import HostSilentError
from vnicaudit.text.libvirt_uri import Uri, parse

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
    asked for their operating system (see :mod:`vnicaudit.platforms.libvirt.agent`). ``traffic``:
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
    read = read_fetched(item, around.uri) if isinstance(item, Fetched) else item
    if isinstance(read, ReadError):
        yield read
    elif read is not None:
        found = domain_from(read, around)
        yield found
        yield from found.unread


def _defined(
    item: Fetched | ReadError | None, around: Surroundings
) -> Iterator[JudgedDefinition | ReadError]:
    if isinstance(item, ReadError):
        yield item
    elif item is not None:
        yield definition_from(item, around)
