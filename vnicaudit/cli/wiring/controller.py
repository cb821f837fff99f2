"""nova-manage on a controller: connections that are made when they are needed, and used again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from vnicaudit.bench.endpoints.opening import parse
from vnicaudit.errors import ActionError, EndpointError
from vnicaudit.model.measurement import Ran
from vnicaudit.remedy.cloud import CommandOutput

_TEXT_MAX = 4096
"""Characters of what it says: the last ones, for the logs come first."""


class Connection(Protocol):
    """The part of an opened endpoint that is used here."""

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        """Run a program to its end. Raises EndpointError where the connection is lost."""

    def close(self) -> None:
        """Leave."""


Connect = Callable[[str], Connection]


class Controller:
    """Where nova-manage is. Any thread may call it, each with a connection of its own, which is
    made when it is first needed, and anew after it was lost. ``seconds``: how long one run of it
    may take. ``connect``: opens an endpoint."""

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
        """Raises ActionError where it could not be run, or where its end was not seen."""
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
        """Leave, when what runs has ended: one that was cut off would be in doubt."""
        with self._turn:
            self._closed = True
            self._turn.wait_for(lambda: not self._busy)
        self._leave_idle()

    def _run_there(self, words: Sequence[str]) -> Ran:
        """A connection that was lost since it was used last is made anew, once: to set a property
        twice is to set it."""
        session = self._take_idle()
        try:
            if session is not None:
                try:
                    return session.run(words, seconds=self._seconds)
                except EndpointError:
                    lost, session = session, None
                    lost.close()
                    self._leave_idle()  # they may have gone the same way
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
        """A connection that nobody uses; None: there is none."""
        with self._turn:
            if self._closed:
                raise EndpointError(f"{self._url}: the connection was closed")
            self._busy += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, session: Connection | None) -> None:
        """One is not used any more; None: it was lost."""
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
