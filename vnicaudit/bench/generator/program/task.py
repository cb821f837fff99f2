"""Agreement of both ends: the task, its numbers, and the lines of the control connection."""

import os
import select
import signal
import socket
import time
from typing import Any, Callable, NamedTuple  # noqa: UP035  (Python 3.6)

TOKEN = 32
"""Characters of the token that begins every connection; one more says what it is for."""
CONTROL, DATA = b"C", b"D"
LARGEST = 16 << 20
"""Bytes of a message."""
CONNECTIONS = 500
WORKERS = 64
PATIENCE = 5.0
"""Seconds for a step of the handshake, and without any progress until a run is given up."""

LONGEST = 16 << 20
"""Bytes of a line."""
SLICE = 0.5
"""Seconds of one wait. A signal that comes between two of Python's instructions, just before the
wait, does not end it: its handler runs when the wait is over."""

SIGNALS = (signal.SIGTERM, signal.SIGALRM, signal.SIGINT, signal.SIGHUP)
"""Those that end it; SIGALRM is its deadline."""

clock = time.monotonic
"""CLOCK_MONOTONIC: the same in all processes of a machine."""


class Failure(Exception):
    """The run cannot be finished; nothing that was counted is worth anything."""


class Task(NamedTuple):
    """Parameters of a run. ``read``: the client reads what the server sends; ``write``: the other
    way."""

    mode: str
    size: int
    answer: int
    connections: int
    workers: int
    warmup: float
    seconds: float
    rate: float
    """Messages a second over all connections; 0: as fast as they go."""

    def checked(self) -> "Task":
        """Itself. Failure where nobody should ask for it."""
        answers = 1 if self.mode == "rr" else 0
        if self.mode not in ("rr", "read", "write"):
            raise Failure("no such mode")
        if not (0 < self.size <= LARGEST and answers <= self.answer <= LARGEST * answers):
            raise Failure("a message of no size, or too large")
        if not (0 < self.connections <= CONNECTIONS and 0 <= self.workers <= WORKERS):
            raise Failure("no connections or workers, or too many")
        if not (0 <= self.warmup <= 86400 and 0 < self.seconds <= 86400 and 0 <= self.rate < 1e9):
            raise Failure("a time or a rate that cannot be")
        return self

    def processes(self) -> int:
        """Number of worker processes at this end."""
        return min(self.workers or len(os.sched_getaffinity(0)), self.connections, WORKERS)


def ready_of(
    sources: "list[Any]", deadline: float, clock: "Callable[[], float]" = clock
) -> "list[Any]":
    """Those that can be read; Failure when it is too late."""
    while True:
        left = deadline - clock()
        ready = select.select(sources, [], [], min(max(left, 0.0), SLICE))[0]
        if ready:
            return ready
        if left <= 0:
            raise Failure("the other end did not answer in time")


def received_of(control: socket.socket, had: int) -> bytes:
    """More of a line from the other end."""
    try:
        more = control.recv(1 << 16)
    except OSError:
        more = b""
    if not more:
        raise Failure("the other end went away")
    if had + len(more) > LONGEST:
        raise Failure("the other end does not stop talking")
    return more


def line_of(control: socket.socket, had: bytes, seconds: float) -> bytes:
    """The next line from the other end, without its end. The two take turns: only one is sent."""
    deadline = clock() + seconds
    while not had.endswith(b"\n"):
        ready_of([control], deadline)
        had += received_of(control, len(had))
    return had[:-1]
