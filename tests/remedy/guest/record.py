"""Make the answers in ``data/`` anew: set up a network namespace of this machine, and note what a
version of ``ip`` says of it.

    python -m tests.remedy.guest.record NAME PROGRAM

NAME is the file's (``iproute2-6.1.0``), PROGRAM that version's ``ip``. Needs root, and ``ip`` and
``tc`` of its own.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.remedy.guest.namespaces import MAC, Namespace, namespace
from tests.remedy.guest.scenario import PLAIN, REFUSED, RICH
from vnicaudit.model.host import GuestExit
from vnicaudit.remedy.guest.network import capture

DATA = Path(__file__).parent / "data"
_FAMILIES = ("-4", "-6")


def main(name: str, program: str) -> None:
    """Write one file."""
    answers: dict[str, str] = {}
    with namespace() as guest:
        _set_up(guest, RICH)
        capture(_Noting(guest, program, answers), MAC)
    refused = {what: _refused(program, command) for what, command in REFUSED.items()}
    found = {"answers": answers, "refused": refused}
    (DATA / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


class _Noting:
    """A guest whose answers are noted, with another ``ip``."""

    def __init__(self, guest: Namespace, program: str, answers: dict[str, str]) -> None:
        self._guest = guest
        self._program = program
        self._answers = answers
        self.interfaces = guest.interfaces

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        """Run it, and note what it says."""
        words = [self._program if word == "ip" else word for word in argv]
        ran = self._guest.execute(words, stdin)
        if not stdin:
            self._answers[" ".join(argv)] = ran.stdout.decode()
        return ran


def _refused(program: str, command: str) -> dict[str, str]:
    answers: dict[str, str] = {}
    with namespace() as guest:
        _set_up(guest, PLAIN)
        guest.plug("eth1", "52:54:00:00:00:01")
        guest.ip("link set dev eth1 up")
        guest.ip("nexthop add id 5 via 10.1.0.77 dev eth0")
        guest.ip(command)
        for family in _FAMILIES:
            show = ("ip", "-j", "-d", family, "route", "show", "table", "all")
            _Noting(guest, program, answers).execute(show)
    return answers


def _set_up(guest: Namespace, commands: str) -> None:
    guest.plug("eth0")
    for command in commands.splitlines():
        guest.ip(command)
    guest.settle()


if __name__ == "__main__":
    main(*sys.argv[1:])
