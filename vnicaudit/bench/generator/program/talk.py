"""The control connection: lines, turn by turn."""

import select
import socket
from typing import Any

from .task import Failure, clock

LONGEST = 16 << 20
"""Bytes of a line."""
SLICE = 0.5
"""Seconds of one wait. A signal that comes between two of Python's instructions, just before the
wait, does not end it: its handler runs when the wait is over."""


def ready_of(sources: "list[Any]", deadline: float) -> "list[Any]":
    """Those that can be read; Failure when it is too late."""
    while True:
        left = deadline - clock()
        ready = select.select(sources, [], [], min(max(left, 0.0), SLICE))[0]
        if ready:
            return ready
        if left <= 0:
            raise Failure("the other end did not answer in time")


def taken(control: socket.socket, had: int) -> bytes:
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
        had += taken(control, len(had))
    return had[:-1]
