"""Connections to one libvirt, each for one call at a time.

Threads may share a connection, but libvirt's client can miss that a second thread wants to send
while a first one waits for its answer: the second then waits as long as the first. Seen with
libvirt 9.0.0: the state of a domain, which takes a millisecond, was not returned for the minute in
which libvirt waited for an agent. So a call that may not be answered gets a connection for itself,
and other calls get another one.

A call cannot be cancelled: it is made in a separate daemon thread, and the caller stops waiting for
it. The requested action may still happen when the daemon continues.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import ActionError, GoneError, SilentError
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.text.libvirt_uri import Uri

T = TypeVar("T")

_KEEPALIVE = (5, 3)


class PooledConnection:
    """One connection, and the domains that were looked up with it."""

    def __init__(self, uri: Uri) -> None:
        self.connection = libvirt.open(uri.dial)
        if uri.remote:
            self.connection.setKeepAlive(*_KEEPALIVE)
        self._domains: dict[str, libvirt.virDomain] = {}

    def domain(self, uuid: str) -> libvirt.virDomain:
        """The domain with that UUID."""
        if uuid not in self._domains:
            self._domains[uuid] = self.connection.lookupByUUIDString(uuid)
        return self._domains[uuid]

    @property
    def open(self) -> bool:
        """True while the connection is up, as far as this side knows."""
        try:
            return self.connection.isAlive() == 1
        except libvirt.libvirtError:
            return False


class ConnectionPool:
    """As many connections as there are concurrent calls."""

    def __init__(self, uri: Uri) -> None:
        self._uri = uri
        self._idle: deque[PooledConnection] = deque()

    def connect(self, seconds: float) -> None:
        """Open a first connection. Raises ActionError like ``within``."""
        self._idle.append(within(seconds, "connect", lambda: PooledConnection(self._uri)))

    def call(self, seconds: float, what: str, function: Callable[[PooledConnection], T]) -> T:
        """The result of ``function`` with a free connection. Raises ActionError like ``within``,
        and SilentError if the connection broke: libvirt went away, and may have done what it was
        asked to do."""
        return within(seconds, what, lambda: self._call_on_free(what, function))

    def close(self, seconds: float) -> None:
        """Close the idle connections; busy ones are left alone."""
        while self._idle:
            within(seconds, "close the connection", self._idle.pop().connection.close)

    def _call_on_free(self, what: str, function: Callable[[PooledConnection], T]) -> T:
        pooled = self._free_connection(what)
        try:
            return function(pooled)
        except libvirt.libvirtError as error:
            if pooled.open:
                raise
            raise _connection_lost_error(what, error) from None
        finally:
            if pooled.open:
                self._idle.append(pooled)

    def _free_connection(self, what: str) -> PooledConnection:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return PooledConnection(self._uri)
        except libvirt.libvirtError as error:
            raise _connection_lost_error(what, error) from None


def _connection_lost_error(what: str, error: libvirt.libvirtError) -> SilentError:
    late = "; it may have done so" if _changes(what) else ""
    return SilentError(
        f"libvirt closed the connection when asked to {what}: {explain(error)}{late}"
    )


def _changes(what: str) -> bool:
    """False for a question: whether it was answered makes no difference."""
    return what.partition(" ")[0] not in ("connect", "count", "find", "read", "report")


def within(seconds: float, what: str, function: Callable[[], T]) -> T:
    """The result of ``function``. Raises ActionError if libvirt refuses (GoneError: the domain is
    gone), SilentError if there was no answer within ``seconds``; ``what`` completes "libvirt did
    not answer when asked to …"."""
    try:
        return DaemonCall(f"libvirt: {what}", function).result(seconds)
    except TimeUpError:
        late = "; it may still do so" if _changes(what) else ""
        raise SilentError(
            f"libvirt did not answer within {seconds:g} s when asked to {what}{late}"
        ) from None
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            raise GoneError(f"cannot {what}: {explain(error)}") from error
        raise ActionError(f"cannot {what}: {explain(error)}") from error
