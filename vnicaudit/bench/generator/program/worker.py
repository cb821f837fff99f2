"""One process and its connections: the loop that drives them, and the window that is counted."""

import collections
import json
import os
import select
import socket
import time
from typing import Any, Callable, Dict, NamedTuple  # noqa: UP035  (Python 3.6)

from .task import PATIENCE, Failure, Task, clock

CHUNK = 256 << 10
"""Maximum number of bytes read at once."""
LATE = 0.001
"""Seconds; a message that is sent later than that although a connection was free is late."""
STANDSTILL = 2.0
"""Seconds between two looks at the links, each of which waits for a tenth of one at most: this
process had no CPU, or was stopped."""
SPIN = 0.0002
"""Seconds before a message is due from which the clock is polled: sleeping is not exact enough."""

Report = Dict[str, Any]  # noqa: UP006  (Python 3.6)


class Mark(NamedTuple):
    """The start or end of the window, with the CPU time until then: total, in the kernel, and the
    time spent waiting for a CPU, in seconds."""

    at: float
    ran: float
    kernel: float
    waited: float


class OpenConnection:
    """One connection: the missing parts of the incoming and of the outgoing message."""

    __slots__ = ("fd", "left", "since", "sock", "unsent", "watched")

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.fd = sock.fileno()
        self.left = self.unsent = self.watched = 0
        self.since = 0.0


class Worker:
    """The links of one process, driven until they end, or the process does.

    The counted messages lie in [begin, end) of this machine's clock; the load runs longer on both
    sides. ``strict``: a link that ends is a failure (the client's side), else it is counted.
    """

    def __init__(
        self, task: Task, socks: "list[socket.socket]", start: float, strict: bool,
        clock: "Callable[[], float]" = clock,
    ) -> None:  # fmt: skip
        self.clock = clock
        self.task = task
        self.strict = strict
        self.begin = start + task.warmup
        self.end = self.begin + task.seconds
        self.poller = select.epoll()
        self.links = {sock.fileno(): OpenConnection(sock) for sock in socks}
        self.buffer = bytearray(min(CHUNK, max(task.size, task.answer)))
        self.message = memoryview(bytes(task.size))
        self.interval = task.connections / len(socks) / task.rate if task.rate else 0.0
        self.start = self.due = self.progress = start
        self.taken = self.bytes = self.transactions = self.lost = self.late = 0
        self.free: collections.deque[OpenConnection] = collections.deque()
        self.idle = 0.0
        self.marks: list[Mark] = []

    def run(self, pipe: int) -> None:
        """Run until every link has ended; the report goes to ``pipe`` when the window is over."""
        for link in list(self.links.values()):
            self.watch(link, select.EPOLLIN)
            self.attempt(link, self.opened)
        looked = self.start
        while self.links:
            events = self.wait()
            now = self.clock()
            if now - looked > STANDSTILL:
                self.progress = now  # nothing could come or go meanwhile
            looked = now
            if now >= self.next_mark():
                self.mark(now, pipe)
            for fd, event in events:
                self.attempt(self.links[fd], self.serve, event)
            if events:
                self.progress = now
            elif now - self.progress > PATIENCE + 2 * self.interval and self.stalled():
                raise Failure(f"nothing came or went for {PATIENCE:.0f} s")
        if len(self.marks) < 2:
            raise Failure("the connections ended before their time")

    def wait(self) -> "list[tuple[int, int]]":
        """Next events of the poller; sleeps at most a tenth of a second."""
        now = self.clock()
        if self.interval:
            self.launch(now)
        pause = min(0.1, max(self.next_mark() - now, 0.001))
        if not self.free:
            return self.poller.poll(pause)
        pause = min(pause, self.due - now - SPIN)
        if pause > 0:
            # epoll's own timeout has whole milliseconds
            select.select([self.poller], [], [], pause)
            return self.poller.poll(0)
        events = self.poller.poll(0)
        if not events:
            self.idle += self.clock() - now
        return events

    def launch(self, now: float) -> None:
        """Send all due messages on free links."""
        while self.free and self.due <= now:
            self.late += now - self.due > LATE and self.begin <= now < self.end
            self.progress = now
            self.attempt(self.free.popleft(), self.go, self.due)

    def attempt(
        self, link: OpenConnection, step: "Callable[..., object]", *arguments: object
    ) -> None:
        """Run a step on a link that may be broken, or not ready after all."""
        try:
            step(link, *arguments)
        except BlockingIOError:
            pass
        except OSError:
            self.link_ended(link)

    def serve(self, link: OpenConnection, event: int) -> None:
        """Run the step that a link is ready for."""
        if event & select.EPOLLOUT:
            self.writable(link)
        if event & ~select.EPOLLOUT and not self.readable(link):
            self.link_ended(link)

    def link_ended(self, link: OpenConnection) -> None:
        """Handle a link that the other end closed, or that broke."""
        if self.strict:
            raise Failure("a connection was lost")
        if self.links.pop(link.fd, None):
            self.lost += len(self.marks) < 2
            link.sock.close()

    def watch(self, link: OpenConnection, events: int) -> None:
        """Wait for these events of a link."""
        if link.watched != events:
            change = self.poller.modify if link.watched else self.poller.register
            change(link.fd, events)
            link.watched = events

    def push(self, link: OpenConnection) -> None:
        """Send as much of the message as the socket accepts."""
        try:  # noqa: SIM105  (faster than contextlib.suppress)
            link.unsent -= link.sock.send(self.message[len(self.message) - link.unsent :])
        except BlockingIOError:
            pass
        self.watch(link, select.EPOLLIN | (select.EPOLLOUT if link.unsent else 0))

    def take(self) -> None:
        """Count one more message as sent, and set when the next one is due."""
        self.taken += 1
        self.due = self.start + self.taken * self.interval

    def next_mark(self) -> float:
        """The time of the next mark: the window's begin, then its end; infinite after that."""
        return (self.begin, self.end, float("inf"))[len(self.marks)]

    def mark(self, now: float, pipe: int) -> None:
        """Record the CPU time when the window begins, and when it ends; then report."""
        ran = time.process_time() - self.idle
        self.marks.append(Mark(now, ran, os.times().system, seconds_waited()))
        if len(self.marks) == 2:
            deliver(pipe, self.report())

    def report(self) -> Report:
        """Counts of the worker. ``cpu``: share of the time that this process ran on a CPU;
        ``kernel``: the part of that in the kernel; ``wait``: share that it was ready to run and had
        no CPU."""
        first, last = self.marks
        seconds = last.at - first.at
        return {
            "bytes": self.bytes,
            "transactions": self.transactions,
            "cpu": max(last.ran - first.ran, 0.0) / seconds,
            "kernel": max(last.kernel - first.kernel, 0.0) / seconds,
            "wait": max(last.waited - first.waited, 0.0) / seconds,
            "lost": self.lost,
            "late": self.late,
        }

    def opened(self, link: OpenConnection) -> None:
        """Start using a link."""

    def go(self, link: OpenConnection, since: float) -> None:
        """Send a message that was due at ``since``."""

    def readable(self, link: OpenConnection) -> bool:
        """Read from the link; False: it has ended."""
        return link.sock.recv_into(self.buffer) > 0

    def writable(self, link: OpenConnection) -> None:
        """Send more of the message."""
        self.push(link)

    def stalled(self) -> bool:
        """True if silence is an error."""
        return len(self.marks) < 2


def seconds_waited() -> float:
    """Seconds that this process was ready to run and did not (Documentation/scheduler/
    sched-stats.rst, /proc/PID/schedstat); 0 if the kernel does not count them."""
    try:
        with open("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def deliver(pipe: int, report: Report) -> None:
    """Write all of a report's line."""
    left = memoryview(json.dumps(report).encode() + b"\n")
    while left:
        left = left[os.write(pipe, left) :]
