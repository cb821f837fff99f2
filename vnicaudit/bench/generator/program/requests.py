"""Requests and answers: a connection has at most one request in progress."""

import math
import socket
from typing import Callable  # noqa: UP035  (Python 3.6)

from .task import Failure, Task, clock
from .worker import OpenConnection, Report, Worker


class Requester(Worker):
    """The client's end.

    With a rate, the time of a request starts when it was due, whether or not a connection was free
    then: waiting is included in the latencies (no coordinated omission).
    """

    def __init__(
        self, task: Task, socks: "list[socket.socket]", start: float, strict: bool,
        clock: "Callable[[], float]" = clock,
    ) -> None:  # fmt: skip
        super().__init__(task, socks, start, strict, clock)
        self.sum = self.longest = 0
        self.counts: dict[int, int] = {}

    def opened(self, link: OpenConnection) -> None:
        """Send the first request."""
        self.following(link, self.clock())

    def following(self, link: OpenConnection, now: float) -> None:
        """Send the next request, or keep the free link until one is due."""
        if self.interval and self.due > now:
            self.free.append(link)
        else:
            self.go(link, self.due if self.interval else now)

    def go(self, link: OpenConnection, since: float) -> None:
        """Send a request that was due at ``since``."""
        self.take()
        link.since = since
        link.left = self.task.answer
        link.unsent = self.task.size
        self.push(link)

    def readable(self, link: OpenConnection) -> bool:
        """Read more of an answer."""
        got = link.sock.recv_into(self.buffer, min(link.left or 1, len(self.buffer)))
        if got > link.left:
            raise Failure("an answer to no request: the other end is not this program")
        link.left -= got
        if got and not link.left:
            now = self.clock()
            if self.begin <= now < self.end:
                self.count(int((now - link.since) * 1e9))
            self.following(link, now)
        return got > 0

    def count(self, latency: int) -> None:
        """Count a latency in nanoseconds, to three digits: the lower edge of HdrHistogram's
        bucket."""
        shift = max(latency.bit_length() - 11, 0)
        bucket = latency >> shift << shift
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.transactions += 1
        self.sum += latency
        self.longest = max(self.longest, latency)

    def stalled(self) -> bool:
        """True while an answer is awaited: silence is an error then."""
        return len(self.free) < len(self.links)

    def report(self) -> Report:
        """The report with latencies, and the requests without an answer yet: their number, and the
        age of the oldest."""
        since = [link.since for link in self.links.values() if link.left]
        due = 0
        if self.interval and self.due < self.end:
            due = math.ceil((self.end - self.due) / self.interval)
            since.append(self.due)
        self.bytes = self.transactions * (self.task.size + self.task.answer)
        return dict(
            super().report(),
            sum=self.sum,
            max=self.longest,
            counts=sorted(self.counts.items()),
            waiting=sum(link.left > 0 for link in self.links.values()) + due,
            oldest=max(self.end - min(since), 0.0) if since else 0.0,
        )


class Responder(Worker):
    """The server's end."""

    def __init__(
        self, task: Task, socks: "list[socket.socket]", start: float, strict: bool
    ) -> None:
        super().__init__(task._replace(rate=0.0), socks, start, strict)
        self.message = memoryview(bytes(task.answer))

    def opened(self, link: OpenConnection) -> None:
        """Wait for the first request."""
        link.left = self.task.size

    def readable(self, link: OpenConnection) -> bool:
        """Read more of a request; send the answer when it is complete."""
        got = link.sock.recv_into(self.buffer, min(link.left or 1, len(self.buffer)))
        if got > link.left:
            raise Failure("a request before the last one had its answer")
        link.left -= got
        if got and not link.left:
            self.transactions += self.begin <= self.clock() < self.end
            link.unsent = self.task.answer
            self.push(link)
        return got > 0

    def push(self, link: OpenConnection) -> None:
        """Send more of an answer; wait for the next request when it is complete."""
        super().push(link)
        if not link.unsent:
            link.left = self.task.size

    def report(self) -> Report:
        """Report of the worker, with the bytes of requests and answers."""
        self.bytes = self.transactions * (self.task.size + self.task.answer)
        return super().report()

    def stalled(self) -> bool:
        """False: the client checks for silence."""
        return False
