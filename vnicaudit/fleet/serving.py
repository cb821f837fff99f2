"""A small read-only HTTP server, by default on loopback, with limits on everything it accepts.

It knows nothing about histories or reports: it serves the routes passed to it
(:class:`vnicaudit.fleet.serving.Route`).
"""

from __future__ import annotations

import ipaddress
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Generic, TypeVar

import msgspec

from vnicaudit.base.deadlines import Clock
from vnicaudit.errors import TargetError, UsageError, VnicauditError

# Answers to HTTP requests, with their headers.


HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"

_LOCKED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = "frame-ancestors 'none'"
"""The rest of the policy is in the page itself, with the hashes of its script and style."""


class RouteContent(msgspec.Struct, frozen=True):
    """The current content of a route."""

    media_type: str
    body: bytes


class Response(msgspec.Struct, frozen=True):
    """A complete answer."""

    status: int
    content: RouteContent
    more: tuple[tuple[str, str], ...] = ()

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """All headers. They prevent storing, content sniffing, framing and referrers."""
        policy = _PAGE if self.content.media_type == HTML else _LOCKED
        return (
            ("Content-Type", self.content.media_type),
            ("Content-Length", str(len(self.content.body))),
            ("Content-Security-Policy", policy),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
            *self.more,
        )


Route = Callable[[], RouteContent]
"""Returns the content. Raises VnicauditError if there is none at the moment."""


def plain(status: int, text: str, *more: tuple[str, str]) -> Response:
    """An answer with one line of text."""
    return Response(status, RouteContent(PLAIN, f"{text}\n".encode()), more)


# One result for all simultaneous requests, made in a thread of its own: overlapping scrapes cost
# one reading, and a page that takes long is not made in vain for a visitor who left.


T = TypeVar("T")


class NotReadyError(TargetError):
    """The value is still being made."""


class _Attempt(Future[T]):
    """One attempt to make the value. ``waiting``: how many wait for it. ``is_told``: somebody got
    its error. ``failed``: when, on the clock of the value."""

    waiting = 0
    is_told = False
    failed = 0.0


class SharedValue(Generic[T]):
    """A value that is made in the background and reused for some seconds. An error is not cached:
    it is raised once, unless it is older than a value may be, and the next caller has the value
    made again."""

    def __init__(
        self,
        make: Callable[[], T],
        *,
        good_for: float,
        patience: float,
        clock: Clock,
        older: bool = False,
        on_error: Callable[[str], object] = str,
    ) -> None:
        """``good_for``: seconds for which a value is reused. ``patience``: seconds that a caller
        waits for a new one; after that, callers get the previous one if ``older``. ``on_error``:
        is told of an error that nobody waits for."""
        self._make = make
        self._good_for = good_for
        self._patience = patience
        self._clock = clock
        self._older = older
        self._on_error = on_error
        self._lock = threading.Lock()
        self._made: tuple[float, T] | None = None
        self._attempt: _Attempt[T] | None = None

    def get(self) -> T:
        """The value. Raises the errors of making it, and NotReadyError if that takes longer."""
        with self._lock:
            made = self._made
            if made is not None and self._clock.monotonic() - made[0] <= self._good_for:
                return made[1]
            attempt = self._current_attempt()
            attempt.waiting += 1
        wait([attempt], self._patience)
        with self._lock:  # from now on the error, if any, is not for this caller
            attempt.waiting -= 1
            is_done = attempt.is_told = attempt.done()
        if is_done:
            return attempt.result()
        if made is not None and self._older:
            return made[1]
        raise NotReadyError(f"the history is still being read after {self._patience:g} s")

    def begin(self) -> None:
        """Have the value made, and do not wait for it."""
        with self._lock:
            self._current_attempt()

    def _current_attempt(self) -> _Attempt[T]:
        """The attempt under way, or a new one; a recent one whose error nobody got comes first."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and not self._is_to_tell(attempt)):
            attempt = self._attempt = _Attempt()
            threading.Thread(target=self._work, args=(attempt,), daemon=True).start()
        return attempt

    def _is_to_tell(self, attempt: _Attempt[T]) -> bool:
        age = self._clock.monotonic() - attempt.failed
        return attempt.exception() is not None and not attempt.is_told and age <= self._good_for

    def _work(self, attempt: _Attempt[T]) -> None:
        try:
            value = self._make()
        except Exception as error:  # an edge: raised in a waiting thread
            with self._lock:
                attempt.failed = self._clock.monotonic()
                attempt.set_exception(error)
                is_alone = not attempt.waiting
            if is_alone:
                self._on_error(reason(error))
        else:
            with self._lock:
                self._made = self._clock.monotonic(), value
                attempt.set_result(value)


def reason(error: BaseException | None) -> str:
    """The text that tells an operator of an error."""
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error: {type(error).__name__}: {error}"


# The address of the server, and the names under which it answers.


_PLACE = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})")
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::\d{1,5})?", re.ASCII)


class ListenAddress(msgspec.Struct, frozen=True):
    """A socket address; ``port`` 0: any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def is_ipv6(self) -> bool:
        """True for an IPv6 address."""
        return ":" in self.host

    @property
    def url(self) -> str:
        """``http://127.0.0.1:9817``."""
        host = f"[{self.host}]" if self.is_ipv6 else self.host
        return f"http://{host}:{self.port}"


def listen_address(text: str, *, public: bool) -> ListenAddress:
    """Parse ``ADDRESS:PORT``. Raises UsageError for an invalid address, and, unless ``public``, for
    one that other machines can reach."""
    found = _PLACE.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(f"invalid address {text!r}; supported forms: 127.0.0.1:9817, [::1]:9817")
    host = found["six"] or found["host"]
    try:
        number = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise UsageError(
            f"{text}: not an IP address; use one, as a name may resolve to an address that others "
            "can reach"
        ) from None
    address = ListenAddress(str(number), int(found["port"]))
    if not (address.is_loopback or public):
        raise UsageError(
            f"{text}: other machines could read the findings there without a password; listen on "
            "127.0.0.1 behind a proxy that asks for one, or allow it with --public"
        )
    return address


def host_names(names: tuple[str, ...]) -> frozenset[str]:
    """The names, normalised for comparison. Raises UsageError for an invalid host name."""
    for name in names:
        if _HOST.fullmatch(name) is None or ":" in name:
            raise UsageError(f"{name!r} is not a host name: write it without scheme and port")
    return frozenset(name.lower().removesuffix(".") for name in names)


def _is_own(header: str, names: frozenset[str]) -> bool:
    """True if the ``Host`` header of a request names this server. Addresses and ``localhost``
    always do: a hostile page can only make its own name resolve to our address."""
    found = _HOST.fullmatch(header)
    if found is None:
        return False
    name = found["name"].lower().removesuffix(".")
    return name == "localhost" or name in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# The server: few requests at once, each of limited time and size, and only for our own names.
#
# It has no authentication of its own: whoever can connect can read. A proxy in front of it provides
# passwords and TLS (docs/how-to/scheduled-audit.md).


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
        names: frozenset[str],
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
            return Response(200, route())
        except VnicauditError as error:
            self.server.on_error(str(error))
            if isinstance(error, NotReadyError):
                return _NOT_READY
            return plain(503, "the history cannot be read now: see the log of this server")

    def _refusal(self) -> Response | None:
        hosts = self.headers.get_all("Host") or []
        if self.request_version == "HTTP/0.9" or len(hosts) != 1:
            return plain(400, "bad request: one Host header is needed")
        if not _is_own(hosts[0].strip(), self.server.names):
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
