"""Guests that answer from a recording, or whatever they are told to."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vnicaudit.errors import GuestError
from vnicaudit.model.host import GuestExit, GuestInterface

DATA = Path(__file__).parent / "data"
BATCH = "ip -force -batch -"
VERSIONS = ("5.10.0", "6.1.0", "6.15.0")


def recorded(version: str) -> dict[str, Any]:
    """The recording of one version of iproute2."""
    found: dict[str, Any] = json.loads((DATA / f"iproute2-{version}.json").read_text())
    return found


class Answers:
    """A guest that answers by the command line. ``answers``: what a program prints, or what
    becomes of it; one that is not there fails, as if it were not installed."""

    def __init__(
        self, answers: dict[str, str | GuestExit], names: Sequence[str] = ("eth0",)
    ) -> None:
        self.answers = answers
        self.names = names
        self.mac = "52:54:00:12:34:57"
        self.batches: list[str] = []

    def interfaces(self) -> list[GuestInterface]:
        return [GuestInterface(name, self.mac) for name in self.names]

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        if "-batch" in argv:
            self.batches.append(stdin.decode())
        answer = self.answers.get(" ".join(argv))
        if answer is None:
            raise GuestError(f"cannot run {argv[0]}")
        return answer if isinstance(answer, GuestExit) else GuestExit(0, answer.encode())

    def change(self, command: str, edit: Callable[[Any], object]) -> None:
        """Edit what a command answers: objects, in place."""
        answer = self.answers[command]
        assert isinstance(answer, str)
        objects = json.loads(answer)
        edit(objects)
        self.answers[command] = json.dumps(objects)


def rich(version: str = "6.15.0") -> Answers:
    """The guest that was recorded with that version."""
    return Answers({BATCH: "2: eth0: <UP> mtu 1400\n", **recorded(version)["answers"]})
