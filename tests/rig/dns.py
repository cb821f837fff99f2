"""Asks the DNS server of a guest, from this machine or inside L1: standard library only."""

import contextlib
import socket
import struct
import sys
import threading
import time
from types import TracebackType

from tests.rig.process import wait_for

_NAME = "answer.rig.test"
_PORT = 53
_BETWEEN = 0.01
_IDENTITY = 0x7269
_HEADER = struct.Struct(">HHHHHH")


def query() -> bytes:
    """The question for the address of a name in files/rig.test.zone."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in _NAME.split("."))
    return _HEADER.pack(_IDENTITY, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def is_answer(packet: bytes) -> bool:
    """Whether this is a response to `query`, without an error and with one record."""
    if len(packet) < _HEADER.size:
        return False
    identity, flags, _questions, answers, *_rest = _HEADER.unpack_from(packet)
    return (identity, flags & 0x800F, answers) == (_IDENTITY, 0x8000, 1)


def answers(address: str, *, seconds: float = 1) -> bool:
    """Whether the server at this address answers one question in time."""
    with _client() as client:
        client.settimeout(seconds)
        try:
            client.sendto(query(), (address, _PORT))
            return is_answer(client.recv(512))
        except OSError:
            return False


class DnsProbe:
    """Asks every 10 ms, in a thread, for as long as the `with` statement lasts.

    It begins with the first answer, so that `longest_gap` is about what happened inside.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._gap = 0.0
        self._last = 0.0
        self.answers = 0

    @property
    def longest_gap(self) -> float:
        """The longest time between two answers, in seconds; one that lasts counts as well."""
        lasting = 0.0 if self._stop.is_set() else time.monotonic() - self._last
        return max(self._gap, lasting)

    def wait_for_answer(self) -> None:
        """Wait for an answer that comes after this call."""
        seen = self.answers
        wait_for(lambda: self.answers > seen, f"{self._address} answers DNS")

    def __enter__(self) -> "DnsProbe":
        self._thread.start()
        try:
            self.wait_for_answer()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        end = time.monotonic()
        self._stop.set()
        self._thread.join()
        self._gap = max(self._gap, end - self._last)

    def _ask(self) -> None:
        question = query()
        with _client() as client:
            client.setblocking(False)
            while not self._stop.wait(_BETWEEN):
                # A machine that cannot be reached just now shows as no answer.
                with contextlib.suppress(OSError):
                    client.sendto(question, (self._address, _PORT))
                self._hear(client)

    def _hear(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not self._stop.is_set() and is_answer(client.recv(512)):
                now = time.monotonic()
                if self.answers:
                    self._gap = max(self._gap, now - self._last)
                self._last = now
                self.answers += 1


def _client() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


if __name__ == "__main__":
    sys.exit(0 if answers(sys.argv[1]) else 1)
