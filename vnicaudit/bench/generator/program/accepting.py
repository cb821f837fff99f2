"""The listening socket of the server."""

import errno
import hmac
import selectors
import socket
from typing import Any

from .task import CONNECTIONS, PATIENCE, TOKEN, Failure, clock

WAITING = 64
"""Connections that have not shown their token yet; more are refused."""


class AcceptSocket:
    """The listening socket: admits clients that know the token."""

    def __init__(self, address: str, port: int, token: bytes) -> None:
        self.listener = listening_socket(address, port)
        self.token = token
        self.refused = 0
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.strangers: dict[socket.socket, tuple[float, bytes]] = {}

    def admit(
        self,
        kind: bytes,
        count: int,
        deadline: float,
        control: "socket.socket | None" = None,
    ) -> "list[socket.socket]":
        """``count`` connections of a kind. Raises Failure if ``control`` ends meanwhile."""
        guests: list[socket.socket] = []
        if control:
            self.selector.register(control, selectors.EVENT_READ)
        while len(guests) < count:
            if clock() > deadline:
                raise Failure("the client did not come, or not with all its connections")
            for key, _ in self.selector.select(0.5):
                if key.fileobj is control:
                    raise Failure("the client went away")
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    guests += self.read_token(key.fileobj, kind)
            self.drop_silent()
        return guests

    def accept(self) -> None:
        """Accept a new connection."""
        try:
            sock = self.listener.accept()[0]
        except OSError:
            return
        if len(self.strangers) >= WAITING:
            self.refused += 1
            sock.close()
            return
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ)
        self.strangers[sock] = (clock(), b"")

    def read_token(self, sock: Any, kind: bytes) -> "list[socket.socket]":
        """Continue to read the token of an unknown client; returns the connection when the token is
        right."""
        since, had = self.strangers[sock]
        try:
            got = sock.recv(TOKEN + 1 - len(had))
        except OSError:
            got = b""
        had += got
        if got and len(had) <= TOKEN:
            self.strangers[sock] = (since, had)
            return []
        self.selector.unregister(sock)
        del self.strangers[sock]
        if got and hmac.compare_digest(had, self.token + kind):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return [sock]
        self.refused += 1
        sock.close()
        return []

    def drop_silent(self) -> None:
        """Close connections that have been silent for long."""
        for sock, (since, _) in list(self.strangers.items()):
            if clock() - since > PATIENCE:
                self.selector.unregister(sock)
                del self.strangers[sock]
                self.refused += 1
                sock.close()

    def close(self) -> None:
        """Stop listening."""
        for sock in list(self.strangers):
            sock.close()
        self.strangers = {}
        self.selector.close()
        self.listener.close()


def listening_socket(address: str, port: int) -> socket.socket:
    """A listening socket: bound to ``address`` if that is one of this machine's, else to all of its
    addresses (the target may be reached by a translated one). A name is ignored: here it may
    resolve to another address than at the client (Debian's 127.0.1.1)."""
    try:
        return bound_socket(address, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Failure(f"port {port} is in use") from error
    try:
        return bound_socket("::", port)
    except OSError:
        return bound_socket("0.0.0.0", port)  # noqa: S104  (the token keeps others out)


def bound_socket(address: str, port: int) -> socket.socket:
    """A socket that listens on an address."""
    family, kind, protocol, _, place = socket.getaddrinfo(
        address or "::", port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address not in ("", "::"))
        sock.bind(place)
        sock.listen(CONNECTIONS)
    except OSError:
        sock.close()
        raise
    return sock
