"""What may be between a client and Nova's API: a proxy that loses a request, an answer, or Nova."""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from tests.openstack.namespaces import Namespaces

NOVA = 8774
Trouble = Literal["cut before", "cut behind", "503"]
TROUBLES: tuple[Trouble, ...] = ("cut before", "cut behind", "503")
"""A connection reset before Nova heard of the request, or when it had done it; a proxy that has no
Nova behind it."""
_RESET = struct.pack("ii", 1, 0)
_HOP = {"connection", "transfer-encoding", "content-length"}


class Proxy:
    """Nova's API on another port of the cloud's network."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._lock = threading.Lock()
        self._trouble: tuple[Trouble, str, int] | None = None
        self._count = 0
        self.happened = 0
        handler = type("Handler", (_Handler,), {"proxy": self})
        with namespaces.network():
            self.server = _Server(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        """Of the compute service, as clients have it."""
        return f"http://127.0.0.1:{self.server.server_port}/v2.1"

    def arm(self, trouble: Trouble | None, method: str = "POST", number: int = 1) -> None:
        """Have the ``number``-th request of this method from now on, and that alone, go wrong."""
        with self._lock:
            self._trouble = None if trouble is None else (trouble, method, number)
            self._count = self.happened = 0

    def trouble(self, method: str) -> Trouble | None:
        """What is to go wrong with this request."""
        with self._lock:
            if self._trouble is None or self._trouble[1] != method:
                return None
            self._count += 1
            if self._count != self._trouble[2]:
                return None
            self.happened += 1
            return self._trouble[0]

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> _Answer:
        """What Nova says."""
        with self._namespaces.network():
            nova = HTTPConnection("127.0.0.1", NOVA, timeout=60)
            nova.connect()
        try:
            nova.request(method, path, body, headers)
            answer = nova.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            nova.close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that is killed hears no answer; nothing is said of it."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


_Answer = tuple[int, list[tuple[str, str]], bytes]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is said."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        trouble = self.proxy.trouble(self.command)
        if trouble == "cut before":
            self._cut()
            return
        answer: _Answer = 503, [], b""
        if trouble != "503":
            try:
                answer = self.proxy.forward(self.command, self.path, dict(self.headers), body)
            except (OSError, HTTPException):
                trouble = "cut behind"
        if trouble == "cut behind":
            self._cut()
        else:
            self._answer(*answer)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _cut(self) -> None:
        """The client sees a reset, and no answer."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        os.close(self.connection.detach())


@contextmanager
def running_proxy(namespaces: Namespaces) -> Iterator[Proxy]:
    """One that passes everything on until it is armed."""
    proxy = Proxy(namespaces)
    thread = threading.Thread(target=proxy.server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        thread.join()
        proxy.server.server_close()
