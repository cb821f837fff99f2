"""nova-manage on a controller: connections are opened when needed, and reused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from vnicaudit.bench.endpoints.opening import parse
from vnicaudit.errors import ActionError, EndpointError
from vnicaudit.model.measurement import Ran
from vnicaudit.remedy.cloud import CommandOutput

_TEXT_MAX = 4096
"""Maximum characters of its output that are kept, from the end, because logs come first."""


class Connection(Protocol):
    """The part of an opened endpoint that is used here."""

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        """Run a program to its end. Raises EndpointError if the connection is lost."""

    def close(self) -> None:
        """Close the connection."""


Connect = Callable[[str], Connection]


class Controller:
    """Runs nova-manage at an endpoint. May be called by any thread; each call uses a connection of
    its own, opened when needed and replaced if lost. ``seconds``: timeout of a call. ``connect``:
    opens an endpoint."""

    def __init__(
        self, url: str, command: tuple[str, ...], seconds: float, connect: Connect
    ) -> None:
        parse(url)
        self._connect = connect
        self._url = url
        self._command = command
        self._seconds = seconds
        self._turn = threading.Condition()
        self._idle: list[Connection] = []
        self._busy = 0
        self._closed = False

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        """Run nova-manage. Raises ActionError if it could not be run, or its result is unknown."""
        try:
            ended = self._run_there((*self._command, *arguments))
        except EndpointError as error:
            raise ActionError(f"nova-manage cannot be run: {error}") from None
        if ended.code is None:
            raise ActionError(
                f"nova-manage at {self._url} was killed, or took more than {self._seconds:g} s "
                "(--nova-manage-timeout)"
            )
        return CommandOutput(ended.code, ended.stdout[-_TEXT_MAX:], ended.stderr[-_TEXT_MAX:])

    def close(self) -> None:
        """Close all connections after running calls have ended: the result of an interrupted one
        would be unknown."""
        with self._turn:
            self._closed = True
            self._turn.wait_for(lambda: not self._busy)
        self._leave_idle()

    def _run_there(self, words: Sequence[str]) -> Ran:
        """Run the words on a connection. If an idle connection turns out to be lost, retry once on
        a new one: setting a property twice does no harm."""
        session = self._take_idle()
        try:
            if session is not None:
                try:
                    return session.run(words, seconds=self._seconds)
                except EndpointError:
                    lost, session = session, None
                    lost.close()
                    self._leave_idle()  # the others are probably lost too
            session = self._connect(self._url)
            return session.run(words, seconds=self._seconds)
        except EndpointError:
            if session is not None:
                lost, session = session, None
                lost.close()
            raise
        finally:
            self._give_back(session)

    def _take_idle(self) -> Connection | None:
        """An idle connection; None: there is none."""
        with self._turn:
            if self._closed:
                raise EndpointError(f"{self._url}: the connection was closed")
            self._busy += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, session: Connection | None) -> None:
        """Return a connection after use; None: it was lost."""
        with self._turn:
            self._busy -= 1
            if session is not None:
                self._idle.append(session)
            self._turn.notify_all()

    def _leave_idle(self) -> None:
        with self._turn:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()
