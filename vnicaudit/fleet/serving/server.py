"""The server: few requests at once, each of limited time and size, and only for our own names.

It has no authentication of its own: whoever can connect can read. A proxy in front of it provides
passwords and TLS (docs/how-to/scheduled-audit.md).
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn

import msgspec

from vnicaudit.errors import VnicauditError
from vnicaudit.fleet.serving.addresses import HostNames, ListenAddress
from vnicaudit.fleet.serving.answers import Response, Route, plain
from vnicaudit.fleet.serving.shared import NotReadyError, reason

_LONGEST_PATH = 1024
_NOT_READY = plain(
    503, "the page is being generated: retry in a few seconds", ("Retry-After", "10")
)
_BUSY = plain(503, "busy: too many requests at once", ("Retry-After", "5"))


class Limits(msgspec.Struct, frozen=True):
    """``requests``: maximum at once. ``idle``: seconds that the sender of a request may be silent.
    ``whole``: seconds for a whole exchange."""

    requests: int = 16
    idle: float = 5.0
    whole: float = 30.0


class ReadOnlyServer(ThreadingMixIn, HTTPServer):
    """Serves routes. Close it after use."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        address: ListenAddress,
        names: HostNames,
        routes: Mapping[str, Route],
        on_error: Callable[[str], None],
        limits: Limits | None = None,
    ) -> None:
        """Listens at once. ``on_error`` gets the reason why a route has no answer; the client does
        not. Raises OSError if the address cannot be used."""
        self.address_family = socket.AF_INET6 if address.is_ipv6 else socket.AF_INET
        self.names = names
        self.routes = routes
        self.on_error = on_error
        self.limits = limits or Limits()
        self._room = threading.BoundedSemaphore(self.limits.requests)
        self._held: set[int] = set()
        """Ids of sockets that occupy a slot: each slot is released once."""
        super().__init__((address.host, address.port), _Handler)
        self.address = ListenAddress(address.host, self.server_port)

    def server_bind(self) -> None:
        """Bind without looking up the name of the host, which may take very long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def process_request(self, request: _Socket, client_address: object) -> None:
        """Answer in a thread, or refuse at once if none is free."""
        if not self._room.acquire(blocking=False):
            _refuse(request)
            self.shutdown_request(request)
            return
        self._held.add(id(request))
        super().process_request(request, client_address)

    def process_request_thread(self, request: _Socket, client_address: object) -> None:
        """Answer, and end the exchange when its time is up."""
        assert isinstance(request, socket.socket)  # noqa: S101
        timer = threading.Timer(self.limits.whole, _cut, (request,))
        timer.daemon = True
        timer.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            timer.cancel()

    def shutdown_request(self, request: _Socket) -> None:
        """Release the slot before closing, because a client that sees the end of an answer may send
        the next request."""
        if id(request) in self._held:
            self._held.discard(id(request))
            self._room.release()
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnects in the middle; report anything else."""
        del request, client_address
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.on_error(reason(error))


_Socket = socket.socket | tuple[bytes, socket.socket]


def _refuse(request: _Socket) -> None:
    if isinstance(request, socket.socket):
        request.settimeout(0.1)
        head = "".join(f"{name}: {value}\r\n" for name, value in _BUSY.headers)
        text = f"HTTP/1.1 503 Service Unavailable\r\n{head}\r\n".encode() + _BUSY.content.body
        try:
            request.sendall(text)
        except OSError:
            return


def _cut(request: socket.socket) -> None:
    try:
        request.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


class _Handler(BaseHTTPRequestHandler):
    server: ReadOnlyServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.limits.idle)

    def do_GET(self) -> None:
        try:
            answer = self._answer()
        except Exception as error:  # a client must get an answer, and the operator the reason
            self.server.on_error(reason(error))
            answer = plain(500, "internal error: see the log of this server")
        self._send(answer)

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an invalid request, or an unsupported method, in the same form as other
        answers."""
        del message, explain
        if code == 501:
            self._send(plain(405, "read-only: GET and HEAD are supported", ("Allow", "GET, HEAD")))
        else:
            self._send(plain(code, "bad request"))

    def version_string(self) -> str:
        """Without any version numbers."""
        return "vnicaudit"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: access logs are up to the proxy."""

    def _answer(self) -> Response:
        refusal = self._refusal()
        if refusal is not None:
            return refusal
        route = self.server.routes.get(self.path.partition("?")[0])
        if route is None:
            return plain(404, "not found")
        try:
            return Response(200, route(self.headers.get("Accept", "")))
        except VnicauditError as error:
            self.server.on_error(str(error))
            if isinstance(error, NotReadyError):
                return _NOT_READY
            return plain(503, "the history cannot be read now: see the log of this server")

    def _refusal(self) -> Response | None:
        hosts = self.headers.get_all("Host") or []
        if self.request_version == "HTTP/0.9" or len(hosts) != 1:
            return plain(400, "bad request: one Host header is needed")
        if not self.server.names.allow(hosts[0].strip()):
            return plain(421, "not a name of this server: allow it with --allow-host")
        if self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0":
            return plain(413, "a request must not have a body")
        return plain(414, "too long") if len(self.path) > _LONGEST_PATH else None

    def _send(self, answer: Response) -> None:
        self.close_connection = True
        self.request_version = self.protocol_version  # HTTP/0.9 responses would have no headers
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content.body)
