"""A stream in one direction. What counts is what the receiver got."""

import select

from .worker import OpenConnection, Worker

TURNS = 8
"""Reads or writes on one stream before it is another one's turn."""


class Receiver(Worker):
    """The end that reads, and counts what came."""

    def readable(self, link: OpenConnection) -> bool:
        """Read on."""
        for _ in range(TURNS):
            got = link.sock.recv_into(self.buffer)
            self.bytes += got if self.begin <= self.clock() < self.end else 0
            if got < len(self.buffer):
                return got > 0
        return True

    def wait(self) -> "list[tuple[int, int]]":
        """Next events of the poller; nothing is ever due here."""
        return self.poller.poll(min(0.1, max(self.next_mark() - self.clock(), 0.001)))


class Sender(Worker):
    """The end that writes, message after message."""

    def opened(self, link: OpenConnection) -> None:
        """The first message."""
        self.fill(link)

    def writable(self, link: OpenConnection) -> None:
        """The next ones."""
        self.fill(link)

    def go(self, link: OpenConnection, since: float) -> None:  # noqa: ARG002
        """The next one is due."""
        self.fill(link)

    def fill(self, link: OpenConnection) -> None:
        """Send messages until the socket is full, or none is due."""
        for _ in range(TURNS):
            if not link.unsent:
                if self.interval and self.due > self.clock():
                    self.watch(link, select.EPOLLIN)
                    self.free.append(link)
                    return
                self.take()
                link.unsent = self.task.size
            self.push(link)
            if link.unsent:
                return

    def push(self, link: OpenConnection) -> None:
        """Send what the socket takes; more of it is always wanted."""
        before = link.unsent
        try:  # noqa: SIM105  (faster than contextlib.suppress)
            link.unsent -= link.sock.send(self.message[len(self.message) - before :])
        except BlockingIOError:
            pass
        self.bytes += before - link.unsent if self.begin <= self.clock() < self.end else 0
        self.watch(link, select.EPOLLIN | select.EPOLLOUT)
