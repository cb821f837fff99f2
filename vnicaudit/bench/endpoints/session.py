"""An endpoint over any transport: a folder there, a supervisor in it, and a lease on both.

Whatever happens to this process, the supervisor stops all programs and removes the folder if the
lease is not renewed; see ``supervisor.sh``. A thread renews it, as an end of a path may have no
traffic for as long as the other one measures.
"""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from itertools import count
from typing import NamedTuple

from vnicaudit.bench.contract import Interfaces
from vnicaudit.bench.endpoints.turns import TurnState
from vnicaudit.errors import EndpointError
from vnicaudit.model.host import GuestInterface
from vnicaudit.model.measurement import Ran
from vnicaudit.reaching.process import Transport, TransportOutput
from vnicaudit.remedy.guest.links import excerpt

BLOCK = 524288
"""Bytes of one piece of output, as in ``supervisor.sh``. Two of them, in base64, are less than the
4 MiB that libvirt passes on (REMOTE_STRING_MAX in src/remote/remote_protocol.x), and less than the
answer after which it gives up on an agent (QEMU_AGENT_MAX_RESPONSE in src/qemu/qemu_agent.c)."""
PUT_BLOCK = 48 * 1024
"""Bytes of one piece of input: in base64, and quoted again for sudo, less than Linux accepts as one
word (MAX_ARG_STRLEN, 128 KiB)."""
_PLACE = "PATH=$PATH:/usr/local/bin:/usr/bin:/bin; umask 077; "
_BRING = (
    _PLACE + 'f=$(mktemp -d "${TMPDIR:-/tmp}/vnicaudit.XXXXXX") && '
    'printf %s "$1" | base64 -d >"$f/supervisor" && exec sh "$f/supervisor" open "$2"'
)
"""On one line: the user's shell at the other end of ssh may be a C shell, which requires that."""
_ASK = (
    _PLACE + 'if test -f "$0"; then exec sh "$0" "$@"; fi; '
    r"printf '\nvnicaudit-supervisor gone 0 0 0\n'"
)
_LINE = re.compile(
    rb"^vnicaudit-supervisor (\S{1,4096}) (\d{1,9}) (\d{1,18}) (\d{1,18})(?: (\d{1,7}))?$",
    re.MULTILINE,
)
_FOLDER = re.compile(r"/[A-Za-z0-9_./+@-]*/vnicaudit\.[A-Za-z0-9]{6,}")


class Status(NamedTuple):
    """The state of a program: ``running``, ``ended`` or ``stopped`` (its time was over, or on
    request). ``stdout`` and ``stderr`` are total bytes, ``data`` the first block of each.
    ``waited``: per mille of its time that its longest-waiting thread was ready to run and had no
    CPU; None: unknown."""

    state: str
    code: int
    stdout: int
    stderr: int
    data: bytes
    waited: int | None = None

    @property
    def running(self) -> bool:
        """True while the program is running."""
        return self.state == "running"


def status_in(stdout: bytes) -> Status | None:
    """The answer in the output of a shell; None if there is none."""
    found = _LINE.search(stdout)
    if found is None:
        return None
    state = found[1].decode("utf-8", "replace")
    code, out, err = (int(number) for number in found.group(2, 3, 4))
    waited = None if found[5] is None else int(found[5])
    return Status(state, code, out, err, stdout[found.end() + 1 :], waited)


def _complaint(answer: TransportOutput) -> str:
    """Last line that a transport printed: banners and warnings come before it."""
    said = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
    if not said:
        return f"there was no answer (code {answer.code})"
    return excerpt(said[-1])


OUTPUT_MAX = 64 * 2**20
"""Bytes that a program may print; the supervisor's limit on file sizes (``most``)."""
_PATIENCE = 15
"""Seconds for which one request may wait in the supervisor: far less than a lease."""
_PAUSE = 0.05
_READ_SECONDS = 300.0
"""Time for reading all output: an end that sends its output too slowly is stopped."""
_SIGNALS = range(128 + 1, 128 + 32)
"""Codes by which a shell reports that a signal ended a program (POSIX: more than 128)."""


class Program:
    """A StartedProgram (:mod:`vnicaudit.bench.contract`) that the supervisor controls."""

    def __init__(self, session: EndpointSession, number: str, argv: Sequence[str]) -> None:
        self._session = session
        self._number = number
        self._argv = tuple(argv)
        self._began = time.monotonic()
        self._ran: Ran | None = None

    def begin(self, seconds: float, source: str, patience: float) -> None:
        """Start the program, with a file as its input, and wait up to ``patience`` for its end."""
        wait = _whole_seconds(patience)
        words = (self._number, f"{seconds:.2f}", str(wait), source, *self._argv)
        self._note(self._session.ask("start", *words, patience=wait))

    def running(self) -> bool:
        """True while the program runs."""
        if self._ran is None:
            self._note(self._session.ask("wait", self._number, "0"))
        return self._ran is None

    def wait(self, seconds: float) -> Ran:
        """Wait for the end of the program. One that still runs after ``seconds`` is stopped, and
        its ``code`` is None."""
        end = time.monotonic() + seconds
        while self._ran is None and (left := end - time.monotonic()) > 0:
            wait = _whole_seconds(left)
            self._note(self._session.ask("wait", self._number, str(wait), patience=wait))
            if self._ran is None and not wait:
                time.sleep(min(_PAUSE, left))
        return self.stop()

    def stop(self) -> Ran:
        """End it (TERM, then KILL) with all its children; returns its output."""
        if self._ran is None:
            self._note(self._session.ask("stop", self._number))
        if self._ran is None:
            raise EndpointError(f"{self._session.url}: {self._argv[0]} cannot be stopped there")
        return self._ran

    def _note(self, status: Status) -> None:
        if status.running:
            return
        seconds = time.monotonic() - self._began
        outside = status.state == "stopped" or status.code in _SIGNALS
        stdout, stderr = self._output(status)
        self._ran = Ran(
            command=self._argv,
            code=None if outside else status.code,
            stdout=stdout.decode("utf-8", "replace"),
            stderr=stderr.decode("utf-8", "replace"),
            seconds=seconds,
            endpoint=self._session.url,
            cpu_wait=None if status.waited is None else min(100.0, status.waited / 10),
        )

    def _output(self, status: Status) -> tuple[bytes, bytes]:
        if max(status.stdout, status.stderr) >= OUTPUT_MAX:
            limit = f"{OUTPUT_MAX >> 20} MiB"
            raise EndpointError(f"{self._session.url}: {self._argv[0]} printed more than {limit}")
        first = min(status.stdout, BLOCK)
        stdout = self._whole_output("out", status.data[:first], status.stdout)
        stderr = self._whole_output("err", status.data[first:], status.stderr)
        return stdout, stderr

    def _whole_output(self, which: str, beginning: bytes, size: int) -> bytes:
        pieces = [beginning[: min(size, BLOCK)]]
        end = time.monotonic() + _READ_SECONDS
        for number in range(1, -(-size // BLOCK)):
            if time.monotonic() > end:
                raise EndpointError(
                    f"{self._session.url}: the output of {self._argv[0]} could not be read within "
                    f"{_READ_SECONDS:g} s"
                )
            pieces.append(self._session.ask("read", self._number, which, str(number)).data[:BLOCK])
        whole = b"".join(pieces)
        if len(whole) != size:
            raise EndpointError(f"{self._session.url}: the output of {self._argv[0]} was cut short")
        return whole


def _whole_seconds(seconds: float) -> int:
    return max(0, min(_PATIENCE, int(seconds)))


LEASE_SECONDS = 60.0
_ANSWER_SECONDS = 30.0
"""Time in which a supervisor answers a request that needs no waiting, even in a busy guest."""
_NOTHING = "/dev/null"
_JOIN_SECONDS = 1.0
_SLACK_SECONDS = 10.0
"""Extra time for a program that is waited for: it is stopped from here."""
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class EndpointSession:
    """An Endpoint (:mod:`vnicaudit.bench.contract`) with its supervisor, for one thread at a time;
    any thread may call close. Owns the transport. Raises EndpointError if the place cannot be
    reached, or the session has ended."""

    def __init__(self, url: str, transport: Transport, lease: float = LEASE_SECONDS) -> None:
        self.url = url
        self._transport = transport
        self._lease = lease
        self._numbers = count(1)
        self._closing = threading.Event()
        try:
            self.folder = self._opened_folder()
        except BaseException:
            transport.close()
            raise
        self._renewer = threading.Thread(
            target=self._renew, args=(lease / 3,), name=f"lease of {url}", daemon=True
        )
        self._renewer.start()

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        """Run a program to its end, without a shell; it is stopped after ``seconds``."""
        end = time.monotonic() + seconds
        program = self._start(argv, seconds + _SLACK_SECONDS, stdin, patience=seconds)
        return program.wait(end - time.monotonic())

    def start(self, argv: Sequence[str], *, seconds: float) -> Program:
        """Start a program in the background; it is stopped after ``seconds`` at the latest."""
        return self._start(argv, seconds, b"", patience=0)

    def put_file(self, name: str, data: bytes) -> str:
        """Store a file there, in this session's own folder; returns its path. Raises ValueError for
        a name with several parts."""
        if _FILE.fullmatch(name) is None:
            raise ValueError(f"not the name of a file: {name!r}")
        blocks = [data[at : at + PUT_BLOCK] for at in range(0, len(data), PUT_BLOCK)] or [b""]
        for number, block in enumerate(blocks):
            text = base64.b64encode(block).decode()
            status = self.ask("put", name, text, "more" if number else "new")
        if status.stdout != len(data):
            raise EndpointError(f"{self.url}: {name} did not arrive there complete")
        return f"{self.folder}/files/{name}"

    def interfaces(self) -> list[GuestInterface] | None:
        """The network interfaces of the endpoint; None if its transport cannot list them."""
        if not isinstance(self._transport, Interfaces):
            return None
        try:
            return self._transport.interfaces()
        except EndpointError as error:
            raise EndpointError(f"{self.url}: {error}") from None

    def take_turn(self, text: str) -> TurnState:
        """Try to take the lock of that place until the session ends; ``text`` identifies this
        measurement to others."""
        status = self.ask("turn", text)
        seen = status.data.decode("utf-8", "replace").splitlines()
        by = tuple(line for line in seen if line.strip() and line != text)
        return TurnState({"held": True, "taken": False}.get(status.state), by)

    def close(self) -> None:
        """Stop all programs, remove all files, and disconnect. May be called twice. At an endpoint
        that cannot be reached any more, this happens when the lease ends."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._renewer.join(_JOIN_SECONDS)
        try:
            with suppress(EndpointError):
                self.ask("end")
        finally:
            self._transport.close()

    def ask(self, verb: str, *words: str, patience: int = 0) -> Status:
        """Send the supervisor a request, for whose answer it may wait ``patience`` seconds."""
        path = f"{self.folder}/supervisor"
        seconds = patience + _ANSWER_SECONDS
        status = self._understood(("sh", "-c", _ASK, path, verb, *words), seconds)
        if status.state == "gone" and verb != "end":
            raise EndpointError(
                f"{self.url}: the programs started there are gone: it was unreachable for "
                f"{self._lease:g} s, or was restarted"
            )
        return status

    def _opened_folder(self) -> str:
        """Start a supervisor; returns its folder."""
        script = files(__package__).joinpath("supervisor.sh").read_bytes()
        text = base64.b64encode(script).decode()
        words = ("sh", "-c", _BRING, "sh", text, f"{self._lease:.2f}")
        folder = self._understood(words, _ANSWER_SECONDS).state
        if _FOLDER.fullmatch(folder) is None:
            raise EndpointError(f"{self.url}: files cannot be stored there: {excerpt(folder)}")
        return folder

    def _understood(self, words: Sequence[str], seconds: float) -> Status:
        try:
            answer = self._transport.run(words, seconds)
        except EndpointError as error:
            raise EndpointError(f"{self.url}: {error}") from None
        status = status_in(answer.stdout)
        if status is None:
            raise EndpointError(f"{self.url}: {_complaint(answer)}")
        return status

    def _start(
        self, argv: Sequence[str], seconds: float, stdin: bytes, *, patience: float
    ) -> Program:
        number = str(next(self._numbers))
        source = self.put_file(f"{number}.in", stdin) if stdin else _NOTHING
        program = Program(self, number, argv)
        program.begin(seconds, source, patience)
        return program

    def _renew(self, period: float) -> None:
        while not self._closing.wait(period):
            with suppress(EndpointError):  # the next user of the session is told
                self.ask("renew")
