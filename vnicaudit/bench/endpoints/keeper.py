"""How the keeper (``keeper.sh``) is brought to an endpoint, asked, and understood."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from vnicaudit.bench.endpoints.transport import Answer, Transport
from vnicaudit.errors import EndpointError
from vnicaudit.remedy.guest.words import shown

BLOCK = 524288
"""Bytes of one piece of output, as ``keeper.sh`` has it. Two of them, in base64, are less than the
4 MiB that libvirt passes on (REMOTE_STRING_MAX in src/remote/remote_protocol.x), and than what
makes it give an agent up (QEMU_AGENT_MAX_RESPONSE in src/qemu/qemu_agent.c)."""
PUT_BLOCK = 48 * 1024
"""In base64, and quoted again for sudo, less than Linux takes as one word (MAX_ARG_STRLEN, 128
KiB)."""
_PLACE = "PATH=$PATH:/usr/local/bin:/usr/bin:/bin; umask 077; "
_BRING = (
    _PLACE + 'f=$(mktemp -d "${TMPDIR:-/tmp}/vnicaudit.XXXXXX") && '
    'printf %s "$1" | base64 -d >"$f/keeper" && exec sh "$f/keeper" open "$2"'
)
"""One line: a C shell, which may be what ssh gives it to, wants no others."""
_ASK = (
    _PLACE + 'if test -f "$0"; then exec sh "$0" "$@"; fi; '
    r"printf '\nvnicaudit-keeper gone 0 0 0\n'"
)
_LINE = re.compile(
    rb"^vnicaudit-keeper (\S{1,4096}) (\d{1,9}) (\d{1,18}) (\d{1,18})$", re.MULTILINE
)
_FOLDER = re.compile(r"/[A-Za-z0-9_./+@-]*/vnicaudit\.[A-Za-z0-9]{6,}")


class Status(NamedTuple):
    """How a program is: ``running``, ``ended`` or ``stopped`` (by time, or because it was asked to
    be). ``stdout`` and ``stderr`` are bytes in all, ``data`` the first block of the one and of the
    other."""

    state: str
    code: int
    stdout: int
    stderr: int
    data: bytes

    @property
    def running(self) -> bool:
        """It has not ended."""
        return self.state == "running"


class Keeper:
    """The keeper of one session. Raises EndpointError where the place cannot be reached, or the
    session is no more."""

    def __init__(self, url: str, transport: Transport, lease: float) -> None:
        self._url = url
        self._transport = transport
        self._lease = lease
        self.folder = ""

    def open(self, seconds: float) -> None:
        """Begin a session."""
        script = files(__package__).joinpath("keeper.sh").read_bytes()
        text = base64.b64encode(script).decode()
        words = ("sh", "-c", _BRING, "sh", text, f"{self._lease:.2f}")
        folder = self._understood(words, seconds).state
        if _FOLDER.fullmatch(folder) is None:
            raise EndpointError(f"{self._url}: unusable as a place for files: {shown(folder)}")
        self.folder = folder

    def ask(self, verb: str, *words: str, seconds: float) -> Status:
        """What the keeper says."""
        path = f"{self.folder}/keeper"
        status = self._understood(("sh", "-c", _ASK, path, verb, *words), seconds)
        if status.state == "gone" and verb != "end":
            raise EndpointError(
                f"{self._url}: what was begun there is gone: for {self._lease:g} s it was out of"
                " reach, or it was restarted"
            )
        return status

    def _understood(self, words: Sequence[str], seconds: float) -> Status:
        try:
            answer = self._transport.run(words, seconds)
        except EndpointError as error:
            raise EndpointError(f"{self._url}: {error}") from None
        status = understood(answer.stdout)
        if status is None:
            raise EndpointError(f"{self._url}: {_complaint(answer)}")
        return status


def understood(stdout: bytes) -> Status | None:
    """The answer in what a shell printed; None where there is none."""
    found = _LINE.search(stdout)
    if found is None:
        return None
    state = found[1].decode("utf-8", "replace")
    return Status(state, int(found[2]), int(found[3]), int(found[4]), stdout[found.end() + 1 :])


def _complaint(answer: Answer) -> str:
    """What a transport says last: banners and warnings stand before it."""
    said = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
    if not said:
        return f"there was no answer (code {answer.code})"
    return shown(said[-1])
