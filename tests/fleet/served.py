"""A server of the tests, and plain requests to it."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from vnicaudit.fleet.serving import (
    HTML,
    Limits,
    ListenAddress,
    ReadOnlyServer,
    Route,
    RouteContent,
    host_names,
)

ROUTES: Mapping[str, Route] = {
    "/": lambda: RouteContent(HTML, b"<!doctype html><title>page</title>"),
    "/metrics": lambda: RouteContent("text/plain; version=0.0.4", b"up 1\n"),
}


@contextmanager
def served(
    routes: Mapping[str, Route] = ROUTES,
    limits: Limits | None = None,
    names: tuple[str, ...] = (),
    errors: list[str] | None = None,
) -> Iterator[ReadOnlyServer]:
    """A server that runs in a thread."""
    told = [] if errors is None else errors
    address = ListenAddress("127.0.0.1", 0)
    server = ReadOnlyServer(address, host_names(names), routes, told.append, limits)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def connected(server: ReadOnlyServer) -> socket.socket:
    """A connection to it."""
    return socket.create_connection((server.address.host, server.address.port), timeout=120)


def asked(server: ReadOnlyServer, data: bytes) -> bytes:
    """Everything that comes back."""
    with connected(server) as connection:
        connection.sendall(data)
        return everything(connection)


def everything(connection: socket.socket) -> bytes:
    """What comes until the other side closes, or cuts."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionError:
        pass
    return found


def status(answer: bytes) -> int:
    """Of an answer."""
    return int(answer.split(b" ", 2)[1])
