"""The agreement of both ends: the task, its limits, and the lines of the control connection."""

import os
import select
import signal
import socket
import time
from typing import Any, Callable, NamedTuple  # noqa: UP035  (Python 3.6)

TOKEN = 32
"""Characters of the token at the start of every connection; one more gives the connection's
kind."""
CONTROL, DATA = b"C", b"D"
LARGEST = 16 << 20
"""Bytes of a message."""
CONNECTIONS = 500
WORKERS = 64
PATIENCE = 5.0
"""Timeout in seconds of a step of the handshake, and of a run without any progress."""

LONGEST = 16 << 20
"""Bytes of a line."""
SLICE = 0.5
"""Maximum seconds of one wait. A signal that arrives between two of Python's instructions, just
before the wait, does not end it: its handler runs when the wait is over."""

SIGNALS = (signal.SIGTERM, signal.SIGALRM, signal.SIGINT, signal.SIGHUP)
"""Signals that end the program; SIGALRM is its deadline."""

clock = time.monotonic
"""CLOCK_MONOTONIC: the same in all processes of a machine."""


class Failure(Exception):
    """The run cannot be completed; none of its counts can be used."""


class Task(NamedTuple):
    """Parameters of a run. ``read``: the client reads what the server sends; ``write``: the other
    direction."""

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
        """The task itself. Raises Failure for values that no user should request."""
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
    """The sources that can be read; raises Failure when the deadline has passed. They get a slice
    of time even then: this process may have stood still until now, and the others with it."""
    while True:
        left = deadline - clock()
        ready = select.select(sources, [], [], SLICE)[0]
        if ready:
            return ready
        if left <= 0:
            raise Failure("the other end did not answer in time")


def received_of(control: socket.socket, had: int) -> bytes:
    """Read more of a line from the other end."""
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
    """The next line from the other end, without its line end. The ends take turns: only one line is
    sent at a time."""
    deadline = clock() + seconds
    while not had.endswith(b"\n"):
        ready_of([control], deadline)
        had += received_of(control, len(had))
    return had[:-1]
