"""A real HTTP server that takes webhooks, and fails in the ways that receivers fail."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec


class Got(msgspec.Struct, frozen=True):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver(ThreadingHTTPServer):
    """Answers by ``script``, one word for each request; the last for all that follow. A number is a
    status; ``hang`` never answers, ``drip`` answers for ever, ``drop`` closes, ``flood`` is huge,
    ``redirect`` sends elsewhere."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *script: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script) or ["200"]
        self.got: list[Got] = []
        self.ended = threading.Event()
        self.scheme = "http"

    @property
    def url(self) -> str:
        """With a secret in its path."""
        return f"{self.scheme}://localhost:{self.server_port}/hook/S3cr3tW0rd"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are expected."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.got.append(Got(self.command, self.path, dict(self.headers), body))
        script = self.server.script
        word = script.pop(0) if len(script) > 1 else script[0]
        getattr(self, f"_{word}", lambda: self._status(word))()

    do_GET = do_PUT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def _status(self, word: str) -> None:
        code, _, wait = word.partition("/")
        self.send_response(int(code))
        if wait:
            self.send_header("Retry-After", wait)
        self.end_headers()

    def _redirect(self) -> None:
        self.send_response(307)
        self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")
        self.end_headers()

    def _hang(self) -> None:
        self.server.ended.wait(60)

    def _drop(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def _drip(self) -> None:
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.server.ended.wait(0.1):  # fewer than http.client takes (100) in 5 s
                self.wfile.write(b"X: y\r\n")
        except OSError:
            return

    def _flood(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while not self.server.ended.is_set():
                self.wfile.write(b"x" * 65536)
        except OSError:
            return


@contextmanager
def receiving(*script: str, certificate: Path | None = None) -> Iterator[Receiver]:
    """A receiver that runs; with a certificate over TLS."""
    receiver = Receiver(*script)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        receiver.socket = context.wrap_socket(receiver.socket, server_side=True)
        receiver.scheme = "https"
    thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ended.set()
        receiver.shutdown()
        receiver.server_close()
        thread.join()


def certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for a host, with its key, in one file."""
    path = folder / f"{name}.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
            "-keyout", path, "-out", folder / "certificate",
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    path.write_text(path.read_text() + (folder / "certificate").read_text())
    return path
