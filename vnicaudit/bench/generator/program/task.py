"""What is run, and the numbers that both ends agree on."""

import os
import signal
import time
from typing import NamedTuple

TOKEN = 32
"""Characters of the token that begins every connection; one more says what it is for."""
CONTROL, DATA = b"C", b"D"
LARGEST = 16 << 20
"""Bytes of a message."""
CONNECTIONS = 500
WORKERS = 64
PATIENCE = 5.0
"""Seconds for a step of the handshake, and without any progress until a run is given up."""

SIGNALS = (signal.SIGTERM, signal.SIGALRM, signal.SIGINT, signal.SIGHUP)
"""Those that end it; SIGALRM is its deadline."""

clock = time.monotonic
"""CLOCK_MONOTONIC: the same in all processes of a machine."""


class Failure(Exception):
    """The run cannot be finished; nothing that was counted is worth anything."""


class Task(NamedTuple):
    """What is run. ``read``: the client reads what the server sends; ``write``: the other way."""

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

    def crew(self) -> int:
        """Number of worker processes at this end."""
        return min(self.workers or len(os.sched_getaffinity(0)), self.connections, WORKERS)
