"""A program that runs on an endpoint, in its keeper's hands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from vnicaudit.bench.endpoints.keeper import BLOCK, Status
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Ran

OUTPUT_MAX = 64 * 2**20
"""Bytes that a program may print; the keeper's limit on files (``most``)."""
_PATIENCE = 15
"""Seconds that the keeper is let wait at a time: far less than a lease."""
_PAUSE = 0.05
_READ_SECONDS = 300.0
"""In which all of it has been read: an end that hands its output over in drops ends there."""
_SIGNALS = range(128 + 1, 128 + 32)
"""Codes by which a shell says that a signal ended a program (POSIX: more than 128)."""


class Asking(Protocol):
    """What a program needs of its session."""

    url: str

    def ask(self, verb: str, *words: str, patience: int = 0) -> Status:
        """What the keeper says, when it may wait ``patience`` seconds before."""


class Program:
    """A Started (:mod:`vnicaudit.bench.contract`)."""

    def __init__(self, session: Asking, number: str, argv: Sequence[str]) -> None:
        self._session = session
        self._number = number
        self._argv = tuple(argv)
        self._began = time.monotonic()
        self._ran: Ran | None = None

    def begin(self, seconds: float, source: str, patience: float) -> None:
        """Start it, with a file to read, and wait up to ``patience`` for its end."""
        wait = _whole(patience)
        words = (self._number, f"{seconds:.2f}", str(wait), source, *self._argv)
        self._note(self._session.ask("start", *words, patience=wait))

    def running(self) -> bool:
        """Whether it still runs."""
        if self._ran is None:
            self._note(self._session.ask("wait", self._number, "0"))
        return self._ran is None

    def wait(self, seconds: float) -> Ran:
        """How it ended; one that has not by then is stopped, and its ``code`` is None."""
        end = time.monotonic() + seconds
        while self._ran is None and (left := end - time.monotonic()) > 0:
            wait = _whole(left)
            self._note(self._session.ask("wait", self._number, str(wait), patience=wait))
            if self._ran is None and not wait:
                time.sleep(min(_PAUSE, left))
        return self.stop()

    def stop(self) -> Ran:
        """End it (TERM, then KILL) and all its children; what it said."""
        if self._ran is None:
            self._note(self._session.ask("stop", self._number))
        if self._ran is None:
            raise EndpointError(f"{self._session.url}: {self._argv[0]} cannot be stopped there")
        return self._ran

    def _note(self, status: Status) -> None:
        if status.running:
            return
        seconds = time.monotonic() - self._began
        outside = status.state == "stopped" or status.code in _SIGNALS
        stdout, stderr = self._output(status)
        self._ran = Ran(
            command=self._argv,
            code=None if outside else status.code,
            stdout=stdout.decode("utf-8", "replace"),
            stderr=stderr.decode("utf-8", "replace"),
            seconds=seconds,
            endpoint=self._session.url,
        )

    def _output(self, status: Status) -> tuple[bytes, bytes]:
        if max(status.stdout, status.stderr) >= OUTPUT_MAX:
            limit = f"{OUTPUT_MAX >> 20} MiB"
            raise EndpointError(f"{self._session.url}: {self._argv[0]} printed more than {limit}")
        first = min(status.stdout, BLOCK)
        stdout = self._rest("out", status.data[:first], status.stdout)
        stderr = self._rest("err", status.data[first:], status.stderr)
        return stdout, stderr

    def _rest(self, which: str, beginning: bytes, size: int) -> bytes:
        pieces = [beginning[: min(size, BLOCK)]]
        end = time.monotonic() + _READ_SECONDS
        for number in range(1, -(-size // BLOCK)):
            if time.monotonic() > end:
                raise EndpointError(
                    f"{self._session.url}: the output of {self._argv[0]} was not read in "
                    f"{_READ_SECONDS:g} s"
                )
            pieces.append(self._session.ask("read", self._number, which, str(number)).data[:BLOCK])
        whole = b"".join(pieces)
        if len(whole) != size:
            raise EndpointError(f"{self._session.url}: the output of {self._argv[0]} was cut short")
        return whole


def _whole(seconds: float) -> int:
    return max(0, min(_PATIENCE, int(seconds)))
