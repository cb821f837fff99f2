"""A stream in one direction. Only bytes that the receiver got count."""

import select

from .worker import OpenConnection, Worker

TURNS = 8
"""Reads or writes on one stream before the next one's turn."""


class Receiver(Worker):
    """The end that reads, and counts the received bytes."""

    def readable(self, link: OpenConnection) -> bool:
        """Read more."""
        for _ in range(TURNS):
            got = link.sock.recv_into(self.buffer)
            self.bytes += got if self.begin <= self.clock() < self.end else 0
            if got < len(self.buffer):
                return got > 0
        return True

    def wait(self) -> "list[tuple[int, int]]":
        """Next events of the poller; a receiver has nothing that falls due."""
        return self.poller.poll(min(0.1, max(self.next_mark() - self.clock(), 0.001)))


class Sender(Worker):
    """The end that writes, message after message."""

    def opened(self, link: OpenConnection) -> None:
        """Send the first message."""
        self.fill(link)

    def writable(self, link: OpenConnection) -> None:
        """Send the next messages."""
        self.fill(link)

    def go(self, link: OpenConnection, since: float) -> None:  # noqa: ARG002
        """Send the next message, which is due."""
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
        """Send as much as the socket accepts, and keep waiting for it to accept more."""
        before = link.unsent
        try:  # noqa: SIM105  (faster than contextlib.suppress)
            link.unsent -= link.sock.send(self.message[len(self.message) - before :])
        except BlockingIOError:
            pass
        self.bytes += before - link.unsent if self.begin <= self.clock() < self.end else 0
        self.watch(link, select.EPOLLIN | select.EPOLLOUT)
