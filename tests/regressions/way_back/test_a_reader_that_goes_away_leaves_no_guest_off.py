"""The reader of standard error went away while a guest was down: apply ended, and left it off."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.command import SCRIPT
from tests.cli.definitions import E1000, VIRTIO
from tests.remedy.applying.fakes import World, installed
from vnicaudit.cli.output.process import hang_up_noted
from vnicaudit.cli.output.run_progress import RunTelling
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.apply import apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.rollback import RollbackSelection, rollback

MODES: tuple[Mode, ...] = ("next-boot", "restart", "hotswap")
ERRORS = [
    BrokenPipeError(errno.EPIPE, "Broken pipe"),
    OSError(errno.EIO, "Input/output error"),
    ValueError("I/O operation on closed file"),
]
MOST = 200


class Reader:
    """Goes away at the ``number``-th line, for that line or for good."""

    def __init__(self, number: int, error: Exception, *, returns: bool) -> None:
        self.lines = 0
        self._number, self._error, self._returns = number, error, returns

    def __call__(self, name: str, text: str) -> None:
        del name, text
        self.lines += 1
        if self.lines == self._number or (self.lines > self._number and not self._returns):
            raise self._error


@pytest.mark.parametrize(
    ("error", "returns"),
    [(ERRORS[0], False), (ERRORS[1], True), (ERRORS[2], False)],
    ids=["gone for good", "gone for a line", "closed"],
)
@pytest.mark.parametrize("mode", MODES)
def test_at_whatever_line_it_goes_away_there_and_back_are_finished(
    mode: Mode, error: Exception, returns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, MOST):
        with monkeypatch.context() as patch:
            world = installed(World(tmp_path / str(number), 2), patch)
            for machine in world.machines:
                machine.boot()
            reader = Reader(number, error, returns=returns)
            done = apply(world.steps, b"plan", world.context(mode, canary=0, batch=2), reader)
            assert (done.stopped, done.run.outcome) == ("", "done")
            assert [machine.active for machine in world.machines] == [True] * 2
            assert all(b"'virtio'" in machine.persistent for machine in world.machines)
            (back,) = rollback(done.run.id, RollbackSelection(), world.context(mode), reader)
            assert (back.stopped, back.run.outcome) == ("", "done")
            assert [machine.active for machine in world.machines] == [True] * 2
            assert [machine.persistent for machine in world.machines] == world.before
        if reader.lines < number:
            return
    raise AssertionError("not so many lines")


class Stream:
    """Standard error that takes ``number`` writes and fails then."""

    encoding = "utf-8"

    def __init__(self, number: int, error: Exception) -> None:
        self._number, self._error = number, error

    def write(self, text: str) -> int:
        self._number -= 1
        if self._number < 0:
            raise self._error
        return len(text)

    def flush(self) -> None:
        self.write("")

    def fileno(self) -> int:
        raise OSError("no descriptor")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("number", range(6))
def test_what_tells_of_a_run_never_fails(
    number: int, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(number, error))
    tell = RunTelling(quiet=False)
    for line in range(10):
        tell("mail-01", f"line {line}")


def test_nothing_is_told_where_there_is_no_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    RunTelling(quiet=False)("mail-01", "starting")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with three definitions and a plan for them."""
    for name in "abc":
        (tmp_path / f"{name}.xml").write_text(E1000)
    ran(tmp_path, "plan", ".", "-o", "plan.json", "--quiet")
    return tmp_path


def ran(folder: Path, *words: str, **streams: int) -> int:
    """The exit code of a command with these streams."""
    words = (sys.executable, str(SCRIPT), *words)
    kinds = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    done = subprocess.run(
        words, cwd=folder, stdin=subprocess.DEVNULL, timeout=120, check=False,
        stdout=kinds["stdout"], stderr=kinds["stderr"],
    )  # fmt: skip
    return done.returncode


def changed(folder: Path) -> list[bool]:
    """Whether each definition is one with virtio."""
    texts = [(folder / f"{name}.xml").read_text() for name in "abc"]
    assert set(texts) <= {E1000, VIRTIO}
    return [text == VIRTIO for text in texts]


def full_pipe() -> tuple[int, int]:
    """A pipe that is full, and read by nobody: both its ends, the reading one first."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 512)
    except BlockingIOError:
        os.set_blocking(write, True)
    return read, write


def test_a_reader_that_stops_reading_stops_no_work(files: Path) -> None:
    read, write = full_pipe()
    try:
        words = ("--yes", "--quiet", "--state", "state")
        assert ran(files, "apply", "plan.json", "--yes", "--state", "state", stderr=write) == 0
        assert changed(files) == [True] * 3
        run = runs(str(files / "state"))[0].id
        assert ran(files, "rollback", run, *words, stderr=write) == 0
        assert changed(files) == [False] * 3
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_stop_no_work(streams: str, files: Path) -> None:
    words = [sys.executable, str(SCRIPT), "apply", "plan.json", "--yes", "--state", "state"]
    line = f'exec "$@" {streams}'
    done = subprocess.run(["sh", "-c", line, "sh", *words], cwd=files, timeout=120, check=False)
    assert done.returncode == 0
    assert changed(files) == [True] * 3
    (run,) = runs(str(files / "state"))
    assert run.outcome == "done"
    # what is opened first has the number of a closed stream: a library that complains there
    # would write into the journal
    assert run.finished is not None


def test_what_became_of_a_run_is_its_exit_code_also_where_nobody_reads_it(files: Path) -> None:
    (files / "c.xml").write_text(E1000.replace("e1000", "rtl8139"))
    read, write = os.pipe()
    os.close(read)
    try:
        words = ("--yes", "--quiet", "--state", "s")  # the plan, shown first, would end it
        code = ran(files, "apply", "plan.json", *words, stdout=write, stderr=write)
    finally:
        os.close(write)
    assert (code, [run.outcome for run in runs(str(files / "s"))]) == (5, ["failed"])


def test_a_terminal_that_hangs_up_ends_the_run_behind_what_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = installed(World(tmp_path, 3), monkeypatch)
    for machine in world.machines:
        machine.boot()
    passing = world.passing

    def hang_up(place: str) -> None:
        passing(place)
        if place == "behind shut_down":
            os.kill(os.getpid(), signal.SIGHUP)

    monkeypatch.setattr(world, "passing", hang_up)
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, lambda *_given: sys.exit(129))
    try:
        with hang_up_noted() as halted:
            context = replace(world.context("restart"), halted=halted)
            done = apply(world.steps, b"plan", context, lambda _name, _text: None)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert [unit.outcome for unit in done.run.steps] == ["applied", "not-reached", "not-reached"]
    assert done.stopped == "the terminal was closed (SIGHUP): finishing what was started"
    assert [machine.active for machine in world.machines] == [True] * 3
