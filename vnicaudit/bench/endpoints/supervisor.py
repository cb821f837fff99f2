"""Bring the supervisor (``supervisor.sh``) to an endpoint, send it requests, and parse its
answers."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from vnicaudit.bench.endpoints.reach.transport import Transport, TransportOutput
from vnicaudit.errors import EndpointError
from vnicaudit.remedy.guest.words import excerpt

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


class Supervisor:
    """The supervisor of one session. Raises EndpointError if the place cannot be reached, or the
    session has ended."""

    def __init__(self, url: str, transport: Transport, lease: float) -> None:
        self._url = url
        self._transport = transport
        self._lease = lease
        self.folder = ""

    def open(self, seconds: float) -> None:
        """Start a session."""
        script = files(__package__).joinpath("supervisor.sh").read_bytes()
        text = base64.b64encode(script).decode()
        words = ("sh", "-c", _BRING, "sh", text, f"{self._lease:.2f}")
        folder = self._understood(words, seconds).state
        if _FOLDER.fullmatch(folder) is None:
            raise EndpointError(f"{self._url}: files cannot be stored there: {excerpt(folder)}")
        self.folder = folder

    def ask(self, verb: str, *words: str, seconds: float) -> Status:
        """Send the supervisor a request and return its answer."""
        path = f"{self.folder}/supervisor"
        status = self._understood(("sh", "-c", _ASK, path, verb, *words), seconds)
        if status.state == "gone" and verb != "end":
            raise EndpointError(
                f"{self._url}: the programs started there are gone: it was unreachable for "
                f"{self._lease:g} s, or was restarted"
            )
        return status

    def _understood(self, words: Sequence[str], seconds: float) -> Status:
        try:
            answer = self._transport.run(words, seconds)
        except EndpointError as error:
            raise EndpointError(f"{self._url}: {error}") from None
        status = status_in(answer.stdout)
        if status is None:
            raise EndpointError(f"{self._url}: {_complaint(answer)}")
        return status


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
