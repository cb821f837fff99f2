"""An end that answers commands with what was recorded."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vnicaudit.bench.contract import Ends, StartedProgram
from vnicaudit.model.measurement import Path as Way
from vnicaudit.model.measurement import Ran

DATA = Path(__file__).parent / "data"
WAY = Way(name="new", target="ssh://vm", peer="local", address="192.0.2.2", mtu=1500)


class Said(NamedTuple):
    stdout: str = ""
    code: int | None = 0
    stderr: str = ""


NOT_THERE = Said(code=127, stderr="not found")


def recorded(name: str, code: int = 0) -> Said:
    """A recorded output, with its standard error where there is one."""
    path = DATA / name
    stderr = path.with_suffix(".stderr")
    return Said(path.read_text("utf-8"), code, stderr.read_text() if stderr.exists() else "")


class Canned:
    """Answers are found by the first words of a command that have one; what has none is not
    installed."""

    url = "canned"

    def __init__(self, **answers: Said) -> None:
        self.answers = {name.replace("_", " "): said for name, said in answers.items()}
        self.commands: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:  # noqa: ARG002
        self.commands.append(tuple(argv))
        words = " ".join(argv)
        found = [name for name in self.answers if f" {name} " in f" {words} "]
        said = self.answers[max(found, key=len)] if found else NOT_THERE
        return Ran(tuple(argv), said.code, said.stdout, said.stderr, 1.0, self.url)

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        raise AssertionError(f"no guard rail starts anything: {argv}, {seconds} s")

    def put_file(self, name: str, data: bytes) -> str:
        raise AssertionError(f"no guard rail puts anything anywhere: {name}, {len(data)} B")

    def close(self) -> None:
        pass


def ends(target: Canned | None = None, peer: Canned | None = None) -> Ends:
    return Ends(target or Canned(), peer or Canned(), "192.0.2.2")
