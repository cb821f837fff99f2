"""Connections to one libvirt, each for one call at a time.

Threads may share a connection, but libvirt's client can miss that a second one has something to
send while a first one waits for its answer: the second then waits as long as the first. Seen with
libvirt 9.0.0: the state of a domain, which takes a millisecond, was not told for the minute in
which libvirt waited for an agent. So a call that may not be answered has its connection for itself,
and other calls get another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from vnicaudit.errors import SilentError
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.calls import within
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.platforms.libvirt.uri import Uri

T = TypeVar("T")

_KEEPALIVE = (5, 3)


class Line:
    """One connection, and the domains that were found over it."""

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
        """Whether the connection still stands, as far as can be told from here."""
        try:
            return self.connection.isAlive() == 1
        except libvirt.libvirtError:
            return False


class Lines:
    """As many as calls are under way at once."""

    def __init__(self, uri: Uri) -> None:
        self._uri = uri
        self._idle: deque[Line] = deque()

    def connect(self, seconds: float) -> None:
        """Have a first one. Raises ActionError as ``within`` does."""
        self._idle.append(within(seconds, "connect", lambda: Line(self._uri)))

    def call(self, seconds: float, what: str, function: Callable[[Line], T]) -> T:
        """What ``function`` returns. Raises ActionError as ``within`` does, and SilentError where
        the connection broke: libvirt was ended, and what was asked may have been done."""
        return within(seconds, what, lambda: self._lent(what, function))

    def close(self, seconds: float) -> None:
        """Leave. Those that are not idle are left as they are."""
        while self._idle:
            within(seconds, "close the connection", self._idle.pop().connection.close)

    def _lent(self, what: str, function: Callable[[Line], T]) -> T:
        line = self._free(what)
        try:
            return function(line)
        except libvirt.libvirtError as error:
            if line.open:
                raise
            raise _broken(what, error) from None
        finally:
            if line.open:
                self._idle.append(line)

    def _free(self, what: str) -> Line:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return Line(self._uri)
        except libvirt.libvirtError as error:
            raise _broken(what, error) from None


def _broken(what: str, error: libvirt.libvirtError) -> SilentError:
    return SilentError(
        f"libvirt went away when asked to {what}: {explain(error)}; it may have done so"
    )
