"""An endpoint over any transport: a folder there, a keeper in it, and a lease on both.

Whatever becomes of this process, the keeper ends what was started and removes the folder when the
lease was not renewed; see ``keeper.sh``. A thread renews it, for an end of a path may have nothing
to say for as long as the other one measures.
"""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from vnicaudit.bench.endpoints.keeper import PUT_BLOCK, Keeper, Status
from vnicaudit.bench.endpoints.program import Program
from vnicaudit.bench.endpoints.transport import Interfaces, Transport
from vnicaudit.errors import EndpointError
from vnicaudit.model.machine import GuestInterface
from vnicaudit.model.measurement import Ran

LEASE_SECONDS = 60.0
_ANSWER_SECONDS = 30.0
"""In which a keeper that has nothing to wait for has answered, even in a busy guest."""
_NOTHING = "/dev/null"
_JOIN_SECONDS = 1.0
_SLACK_SECONDS = 10.0
"""Beside its time, for a program that is waited for: it is ended from here."""
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def open_session(url: str, transport: Transport, *, lease: float = LEASE_SECONDS) -> Session:
    """Begin a session, which owns the transport. Raises EndpointError."""
    keeper = Keeper(url, transport, lease)
    try:
        keeper.open(_ANSWER_SECONDS)
        return Session(url, transport, keeper, lease)
    except BaseException:
        transport.close()
        raise


class Session:
    """An Endpoint (:mod:`vnicaudit.bench.contract`): one thread at a time, but any for close."""

    def __init__(self, url: str, transport: Transport, keeper: Keeper, lease: float) -> None:
        self.url = url
        self.folder = keeper.folder
        self._transport = transport
        self._keeper = keeper
        self._numbers = count(1)
        self._closing = threading.Event()
        self._renewer = threading.Thread(
            target=self._renew, args=(lease / 3,), name=f"lease of {url}", daemon=True
        )
        self._renewer.start()

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        """Run a program to its end, without a shell; after ``seconds`` it is ended."""
        end = time.monotonic() + seconds
        program = self._start(argv, seconds + _SLACK_SECONDS, stdin, patience=seconds)
        return program.wait(end - time.monotonic())

    def start(self, argv: Sequence[str], *, seconds: float) -> Program:
        """Start a program in the background; it is ended after ``seconds`` whatever happens."""
        return self._start(argv, seconds, b"", patience=0)

    def put(self, name: str, data: bytes) -> str:
        """Keep a file there, in a folder of this session's own; its path. Raises ValueError for a
        name that is more than one."""
        if _FILE.fullmatch(name) is None:
            raise ValueError(f"not the name of a file: {name!r}")
        blocks = [data[at : at + PUT_BLOCK] for at in range(0, len(data), PUT_BLOCK)] or [b""]
        for number, block in enumerate(blocks):
            text = base64.b64encode(block).decode()
            status = self.ask("put", name, text, "more" if number else "new")
        if status.stdout != len(data):
            raise EndpointError(f"{self.url}: {name} did not arrive there whole")
        return f"{self.folder}/files/{name}"

    def interfaces(self) -> list[GuestInterface] | None:
        """Its network interfaces, where its transport can list them; None: it cannot."""
        if not isinstance(self._transport, Interfaces):
            return None
        try:
            return self._transport.interfaces()
        except EndpointError as error:
            raise EndpointError(f"{self.url}: {error}") from None

    def close(self) -> None:
        """Stop what runs, remove what was put there, leave. May be called twice. What cannot be
        reached any more ends by itself, when the lease does."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._renewer.join(_JOIN_SECONDS)
        try:
            with suppress(EndpointError):
                self._keeper.ask("end", seconds=_ANSWER_SECONDS)
        finally:
            self._transport.close()

    def ask(self, verb: str, *words: str, patience: int = 0) -> Status:
        """What the keeper says, when it may wait ``patience`` seconds before."""
        return self._keeper.ask(verb, *words, seconds=patience + _ANSWER_SECONDS)

    def _start(
        self, argv: Sequence[str], seconds: float, stdin: bytes, *, patience: float
    ) -> Program:
        number = str(next(self._numbers))
        source = self.put(f"{number}.in", stdin) if stdin else _NOTHING
        program = Program(self, number, argv)
        program.begin(seconds, source, patience)
        return program

    def _renew(self, period: float) -> None:
        while not self._closing.wait(period):
            with suppress(EndpointError):  # whoever uses the session next is told
                self.ask("renew")
