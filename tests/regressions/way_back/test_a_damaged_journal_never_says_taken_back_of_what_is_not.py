"""A flipped bit in a journal ended in an internal error, and a journal that lost its end in a
rollback that said "taken back", exit code 0, with domains still changed. A bit of a NIC's number
among those of its domain ended in an internal error, too.

``VNICAUDIT_DAMAGES=all`` tries every bit and every length; a test draws some, and prints the seed.
"""

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.drawing import drawn_seed
from tests.remedy.applying.fakes import World, installed
from vnicaudit.cli.remedy.run_output import code_of, code_of_undone
from vnicaudit.errors import VnicauditError
from vnicaudit.remedy.applying.apply import apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.journal_file import NAME
from vnicaudit.remedy.applying.journal.past_run import damaged
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.rollback import RollbackSelection, rollback

GUESTS = 2


def silent(name: str, text: str) -> None:
    """Tells nobody."""
    del name, text


class Applied:
    """Two guests that a run has changed, its folder, and as many copies of it as are asked for."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self.world = installed(World(folder / "whole", GUESTS), monkeypatch)
        done = apply(self.world.steps, b"plan", self.world.context(), silent)
        assert done.run.outcome == "done"
        self.run = done.run.id
        self.changed = [machine.persistent for machine in self.world.machines]
        self.journal = (self.world.folder / "runs" / self.run / NAME).read_bytes()

    def copy_with(self, journal: bytes) -> None:
        """Changed guests, and a copy of the run with another journal."""
        self.world.folder = self._folder / "copy"
        shutil.rmtree(self.world.folder, ignore_errors=True)
        shutil.copytree(self._folder / "whole", self.world.folder)
        (self.world.folder / "runs" / self.run / NAME).write_bytes(journal)
        for machine, text in zip(self.world.machines, self.changed, strict=True):
            machine.persistent = text

    def rolled_back(self, *, restore: bool = False) -> int:
        """The exit code of rollback."""
        context = self.world.context()
        try:
            went = rollback(self.run, RollbackSelection(restore=restore), context, silent)
        except VnicauditError as error:
            return error.exit_code
        codes = [
            code_of_undone(one.run)
            if one.rolled_back
            else code_of(one.run, context.kinds, refused=False)
            for one in went
        ]
        return max(codes)

    def is_as_before(self) -> bool:
        """Whether all that was changed is back."""
        return [machine.persistent for machine in self.world.machines] == self.world.before

    def check(self, journal: bytes, what: str, *, copies: bool = True) -> None:
        """Whatever was done to the journal: every command is honest, and there is a way back.
        Without ``copies``, the lines kept beside the originals are gone as well."""
        self.copy_with(journal)
        for path in self.world.folder.glob("runs/*/definitions/*.begin.json"):
            if not copies:
                path.unlink()
        folder = str(self.world.folder)
        for run in runs(folder):
            assert "\x00" not in "".join(run.damage), what
        list(damaged(StateFolder(folder)))
        code = self.rolled_back()
        assert code != 0 or self.is_as_before(), what
        if not self.is_as_before():
            shown = {unit.outcome for run in runs(folder) for unit in run.steps}
            assert shown & {"unfinished", "failed", "refused"}, (what, shown)
            code = self.rolled_back(restore=True)
            assert code == 0, what
        assert code != 0 or self.is_as_before(), what
        runs(folder)


@pytest.fixture
def applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Applied:
    """A finished run."""
    return Applied(tmp_path, monkeypatch)


def drawn(all_of_them: Sequence[int], number: int) -> Iterator[int]:
    """Some of them, or all where that is asked for."""
    if os.environ.get("VNICAUDIT_DAMAGES") == "all":
        yield from all_of_them
        return
    seed = drawn_seed()
    print(f"seed {seed}")
    yield from random.Random(seed).sample(all_of_them, min(number, len(all_of_them)))


def test_whatever_bit_is_flipped(applied: Applied) -> None:
    for place in drawn(range(len(applied.journal) * 8), 100):
        journal = bytearray(applied.journal)
        journal[place // 8] ^= 1 << place % 8
        applied.check(bytes(journal), f"bit {place}")


def test_wherever_it_is_cut_off(applied: Applied) -> None:
    ends = [match.end() for match in re.finditer(b"\n", applied.journal)]
    for length in [0, *ends, *drawn(range(len(applied.journal)), 60)]:
        applied.check(applied.journal[:length], f"length {length}")


def test_whatever_is_zeroed_at_its_end(applied: Applied) -> None:
    size = len(applied.journal)
    for length in [0, *drawn(range(size), 60)]:
        applied.check(applied.journal[:length] + bytes(size - length), f"zeros from {length}")


JUNK: list[Callable[[bytes], bytes]] = [
    lambda text: text + b"\xff\xfe\n",
    lambda text: b"\xff" * len(text),
    lambda text: text.replace(b"begin", b"b\xe9gin"),
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: text[: len(text) // 2] + text,
    lambda text: b"".join(reversed(text.splitlines(keepends=True))),
    lambda text: b"".join(text.splitlines(keepends=True)[::2]),
    lambda text: text.replace(b'"index"', b'"inde\x80"'),
    lambda _text: b"[" * 100_000 + b"\n",
]


def test_what_is_lost_with_the_copies_is_not_called_taken_back(applied: Applied) -> None:
    lines = applied.journal.splitlines(keepends=True)
    for number in range(len(lines)):
        what = f"the first {number} lines and no copy"
        applied.check(b"".join(lines[:number]), what, copies=False)
        applied.check(b"".join(lines[number + 1 :]), f"the last of {number + 1}", copies=False)


@pytest.mark.parametrize("junk", JUNK, ids=range(len(JUNK)))
def test_whatever_is_made_of_it(junk: Callable[[bytes], bytes], applied: Applied) -> None:
    applied.check(junk(applied.journal), "junk")


def test_a_flipped_bit_is_named_with_file_and_line(applied: Applied) -> None:
    first = applied.journal.index(b"\n") + 1
    journal = bytearray(applied.journal)
    journal[first + 60] ^= 1
    applied.copy_with(bytes(journal))
    path = applied.world.folder / "runs" / applied.run / NAME
    (run,) = runs(str(applied.world.folder))
    assert run.damage == (
        f"{path}:2: damaged: its checksum does not match",
        f"{path}: the line that started guest-1 is lost; its copy is used",
    )


@pytest.mark.parametrize("request_file", ["missing", "empty", "junk"])
def test_without_the_file_of_the_request_the_journal_tells(
    applied: Applied, request_file: str
) -> None:
    path = applied.world.folder / "runs" / applied.run / "run.json"
    path.unlink() if request_file == "missing" else path.write_bytes(
        b"" if request_file == "empty" else b"\x00" * 100
    )
    (run,) = runs(str(applied.world.folder))
    assert [unit.name for unit in run.steps] == ["guest-1", "guest-2"]
    assert len(run.damage) == (request_file != "missing")
    assert applied.rolled_back() == 0
    assert applied.is_as_before()


@pytest.mark.parametrize("lines", [0, 1, 3])
def test_without_the_end_of_the_journal_the_copies_tell(applied: Applied, lines: int) -> None:
    """Applied again, all was said to be "already" so, and the way back left what the journal had
    lost."""
    applied.copy_with(b"".join(applied.journal.splitlines(keepends=True)[:lines]))
    assert applied.rolled_back() == 0
    assert applied.is_as_before()
