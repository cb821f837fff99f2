"""A live libvirt -> its host, then its domains as a stream, over one read-only connection.

A host that does not answer, or stops answering, costs that host: what was read by then is
delivered, and each domain that was not is an error of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host, Network
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.agent import GuestFacts, ask_guests
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.capabilities import host_config, is_here
from vnicaudit.platforms.libvirt.connection import explain, open_read_only
from vnicaudit.platforms.libvirt.crew import Crew, Mailbox, Silence
from vnicaudit.platforms.libvirt.domains import Fetched, Surroundings, domain_from, fetch
from vnicaudit.platforms.libvirt.networks import network_of
from vnicaudit.platforms.libvirt.state import Listing, list_domains
from vnicaudit.platforms.libvirt.uri import Uri, parse

DEADLINE = 30.0
"""Seconds a host may keep silent."""
_LOCAL_THREADS = 4
_REMOTE_THREADS = 32
"""On one shared connection more threads are more requests under way: what hides a round trip."""
_BATCH_MAX = 32
_AGENT_SECONDS = 10.0


class LiveHost(msgspec.Struct, frozen=True):
    """``local``: the host is this machine, its /proc and /dev can be read as well.
    ``domains`` can be walked once, in the order of names."""

    host: Host
    local: bool
    domains: Iterator[Domain | ReadError]


class _Opened(msgspec.Struct, frozen=True):
    """The first report of a visit: all but the domains themselves."""

    host: Host
    local: bool
    names: tuple[str, ...]
    errors: tuple[ReadError, ...]
    around: Surroundings


class _Read(msgspec.Struct, frozen=True):
    """A report on some domains, from the one that is ``first`` in the list; None: gone since."""

    first: int
    items: tuple[Fetched | ReadError | None, ...]


class _Failed(msgspec.Struct, frozen=True):
    """The visit ended before its time."""

    error: BaseException


_Report = _Opened | _Read | _Failed
_Waiting = dict[int, Fetched | ReadError | None]
"""What came before its turn, by place in the list."""


def read(
    uri: str, *, deadline: float = DEADLINE, agent: bool = False, threads: int | None = None
) -> LiveHost:
    """Connect read-only and read everything that bears on NICs.

    ``deadline`` is how many seconds the host may keep silent, ``threads`` how many calls may be
    under way at once (None: few on a local socket, many over a network). With ``agent`` guests
    are asked for their operating system (see :mod:`.agent`).

    Raises TargetError when the host cannot be reached or its domains cannot be listed.
    """
    where = parse(uri)
    size = threads or (_REMOTE_THREADS if where.remote else _LOCAL_THREADS)
    box: Mailbox[_Report] = Mailbox(deadline)
    patience = min(_AGENT_SECONDS, deadline / 2) if agent else 0.0
    visit = partial(_visit, where, size, patience, box)
    threading.Thread(target=visit, name=f"visit {uri}", daemon=True).start()
    try:
        first = box.take()
    except Silence:
        box.close()
        raise TargetError(f"no answer within {deadline:g} s", file=uri) from None
    if isinstance(first, _Opened):
        return LiveHost(first.host, first.local, _stream(first, box, deadline))
    raise first.error if isinstance(first, _Failed) else RuntimeError("a report out of order")


def _stream(
    opened: _Opened, box: Mailbox[_Report], deadline: float
) -> Iterator[Domain | ReadError]:
    """Domains and errors in the order of the list; those missing at the end are errors."""
    waiting: _Waiting = {}
    reason = ""
    position = 0
    yield from opened.errors
    try:
        while position < len(opened.names) and not reason:
            reason = _receive(box, waiting, deadline)
            while position in waiting:
                yield from _finished(waiting.pop(position), opened.around)
                position += 1
    finally:
        box.close()
    for index in range(position, len(opened.names)):
        lost = ReadError(f"domain {opened.names[index]!r}: not read: {reason}")
        yield from _finished(waiting.get(index, lost), opened.around)


def _finished(
    item: Fetched | ReadError | None, around: Surroundings
) -> Iterator[Domain | ReadError]:
    if isinstance(item, ReadError):
        yield item
    elif item is not None:
        yield domain_from(item, around)


def _receive(box: Mailbox[_Report], waiting: _Waiting, deadline: float) -> str:
    """Take one report; the text says why there will be no more, empty while there will."""
    try:
        report = box.take()
    except Silence:
        return f"no answer within {deadline:g} s"
    if isinstance(report, _Read):
        waiting.update(enumerate(report.items, report.first))
    elif isinstance(report, _Failed):
        if not isinstance(report.error, TargetError):
            raise report.error
        return report.error.message
    return ""


def _visit(uri: Uri, threads: int, patience: float, box: Mailbox[_Report]) -> None:
    """Read one host from beginning to end, in a thread of its own, reporting to ``box``."""
    try:
        connection = open_read_only(uri)
        box.heard()
        crew = Crew(threads, box.heard)
        try:
            _read_host(connection, uri, crew, patience, box)
        except libvirt.libvirtError as error:
            box.post(_Failed(TargetError(explain(error), file=uri.text)))
        finally:
            crew.dismiss()
            with suppress(libvirt.libvirtError):  # a peer that is gone cannot say goodbye
                connection.close()
    except BaseException as error:  # an edge: a host's failure, told to the reader
        box.post(_Failed(error))


def _read_host(
    connection: libvirt.virConnect, uri: Uri, crew: Crew, patience: float, box: Mailbox[_Report]
) -> None:
    hostname = connection.getHostname()
    config = host_config(connection, crew)
    networks, errors = _networks(connection, crew)
    listing = list_domains(connection, crew)
    names = tuple(handle.name() for handle in listing.handles)
    host = Host(hostname, config, tuple(networks.values()))
    around = Surroundings(uri, networks, _guests(uri, listing, patience))
    box.post(_Opened(host, is_here(uri, hostname), names, errors, around))
    _fetch_domains(listing, crew, box)


def _networks(
    connection: libvirt.virConnect, crew: Crew
) -> tuple[dict[str, Network], tuple[ReadError, ...]]:
    """The networks by name. A driver without networks is no error; one that refuses is, for
    ``type='network'`` cannot be resolved then."""
    try:
        asked = [
            crew.call(partial(_network, handle))
            for handle in crew.call(connection.listAllNetworks).result()
        ]
        found = [answer.result() for answer in asked]
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return {}, ()
        return {}, (ReadError(f"networks: {explain(error)}"),)
    return {network.name: network for network in found if network is not None}, ()


def _network(handle: libvirt.virNetwork) -> Network | None:
    """None: undefined since it was listed."""
    try:
        return network_of(handle.XMLDesc(), active=bool(handle.isActive()))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_NETWORK:
            return None
        raise


def _guests(uri: Uri, listing: Listing, patience: float) -> dict[str, GuestFacts]:
    if not patience:
        return {}
    active = [handle.UUIDString() for handle in listing.handles if handle.ID() != -1]
    return ask_guests(uri, active, patience=patience)


def _fetch_domains(listing: Listing, crew: Crew, box: Mailbox[_Report]) -> None:
    """Have every domain fetched and reported, and wait until that is done. A thread takes several
    at once: handing each over by itself costs as much as fetching it from a local socket."""
    handles = listing.handles
    size = max(1, min(_BATCH_MAX, len(handles) // (crew.size * 2)))

    def job(first: int) -> None:
        if not box.closed:
            batch = handles[first : first + size]
            box.post(_Read(first, tuple(fetch(handle, listing) for handle in batch)))

    asked = [crew.call(partial(job, first)) for first in range(0, len(handles), size)]
    for answer in asked:
        answer.result()
