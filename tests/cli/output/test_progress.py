"""The line of progress while targets are read."""

import io
import os
import pty
import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from pathlib import Path

import pytest

from tests.remedy.works import work
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.targets import Target
from vnicaudit.audit.run import AuditRun
from vnicaudit.cli.output.process import end
from vnicaudit.cli.output.reading_progress import Progress

_CLOUDS = """\
clouds:
  prod:
    auth: {auth_url: "http://127.0.0.1:%d/v3", username: u, password: p, project_name: x,
           user_domain_name: Default, project_domain_name: Default}
"""


class Terminal(io.StringIO):
    """A terminal, as far as a program asks."""

    def isatty(self) -> bool:
        return True


def lines(terminal: Terminal) -> list[str]:
    """What the line said, one after the other."""
    return [text for text in re.split(r"\r\x1b\[K", terminal.getvalue()) if text]


def test_files_have_a_total_a_rate_and_the_time_left() -> None:
    now = [0.0]
    with redirect_stderr(Terminal()) as terminal:
        progress = Progress(enabled=True, clock=lambda: now[0])
        for done, seconds in ((64, 0.5), (1280, 10.0), (10_000, 80.0)):
            now[0] = seconds
            progress.read_files(done, 10_000)
            progress("guests/", done * 2)
    assert lines(terminal) == [
        "guests/: 1,280 of 10,000 files, 2,560 guests, 256/s, 68 s left",
        "guests/: 10,000 of 10,000 files, 20,000 guests, 250/s",
    ]


def test_what_is_waited_for_and_what_is_stuck() -> None:
    now = [0.0]
    with redirect_stderr(Terminal()) as terminal:
        progress = Progress(enabled=False, clock=lambda: now[0])
        progress.waits_for("qemu+ssh://kvm2/system", 2, 3)
        now[0] = 2.0
        progress.show_waiting()
        progress("qemu+ssh://kvm2/system", 7)
        now[0] = 3.0
        progress.show_waiting()
        now[0] = 7.0
        progress.show_waiting()
        progress.clear()
        progress.show_waiting()
    assert lines(terminal) == [
        "qemu+ssh://kvm2/system (2 of 3): no answer yet, 2 s",
        "qemu+ssh://kvm2/system (2 of 3): 7 guests, 1/s; no progress for 5 s",
    ]


def test_each_target_has_a_rate_and_time_left_of_its_own() -> None:
    now = [0.0]
    with redirect_stderr(Terminal()) as terminal:
        progress = Progress(enabled=True, clock=lambda: now[0])
        for name, done, seconds in (("a", 1, 80.0), ("b", 40, 81.0), ("b", 400, 90.0)):
            now[0] = seconds
            progress.read_files(done, 1000)
            progress(name, done)
        progress.clear()
        now[0] = 100.0
        progress.read_files(1000, 1000)
        progress("b", 1000)
    assert [line.partition("files, ")[2] for line in lines(terminal)] == [
        "1 guest",
        "40 guests, 40/s, 24 s left",
        "400 guests, 40/s, 15 s left",
        "1,000 guests, 50/s",
    ]


class Counts(Progress):
    """Remembers how many files were read, of how many."""

    def __init__(self) -> None:
        super().__init__(enabled=False)
        self.files: list[tuple[int, int | None]] = []

    @property
    def is_shown(self) -> bool:
        return True

    def read_files(self, done: int, total: int | None) -> None:
        self.files.append((done, total))


def test_files_that_another_target_has_are_not_counted(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.xml").write_text("<domain type='kvm'><name>a</name></domain>")
    (tmp_path / "d.xml").symlink_to("c.xml")
    progress = Counts()
    run = AuditRun(work(), RunOptions(jobs=1), progress)
    assert list(run.items([str(tmp_path), str(tmp_path / "a.xml"), f"{tmp_path}/."]))
    assert progress.files == [(2, 2), (1, 1)]


def test_in_a_log_long_work_has_a_line_now_and_then() -> None:
    """After half a minute, then as often as the time doubles, then every five minutes."""
    now = [0.0]
    with redirect_stderr(io.StringIO()) as log:
        progress = Progress(enabled=True, clock=lambda: now[0])
        for second in range(1, 2001):
            now[0] = second
            progress.read_files(second, 2000 if progress.is_shown or second > 30 else None)
            progress("guests/", second)
        progress.clear()
    seen = log.getvalue().splitlines()
    assert seen[0] == "guests/: 30 of 2,000 files, 30 guests, 1/s, 33 min left"
    assert [int(re.findall(r"([\d,]+) of", line)[0].replace(",", "")) for line in seen] == [
        30, 60, 120, 240, 480, 780, 1080, 1380, 1680, 1980,
    ]  # fmt: skip
    assert "\x1b" not in log.getvalue()


@pytest.mark.parametrize(("enabled", "seconds"), [(True, 29.0), (False, 500.0)])
def test_a_log_has_no_progress_of_short_work_nor_quietly(enabled: bool, seconds: float) -> None:
    now = [0.0]
    with redirect_stderr(io.StringIO()) as log:
        progress = Progress(enabled=enabled, clock=lambda: now[0])
        now[0] = seconds
        progress("guests/", 7)
        progress.show_waiting()
        progress.clear()
    assert log.getvalue() == ""


def test_a_log_says_what_is_waited_for() -> None:
    now = [0.0]
    with redirect_stderr(io.StringIO()) as log:
        progress = Progress(enabled=True, clock=lambda: now[0])
        progress("qemu+ssh://kvm2/system", 7)
        for second in range(1, 61):
            now[0] = second
            progress.show_waiting()
    assert log.getvalue().splitlines() == [
        "qemu+ssh://kvm2/system: 7 guests; no progress for 30 s",
        "qemu+ssh://kvm2/system: 7 guests; no progress for 60 s",
    ]


class Waits(Progress):
    """Remembers what was waited for, and what brought something; starts no thread."""

    def __init__(self) -> None:
        super().__init__(enabled=False)
        self.names: list[str] = []

    def waits_for(
        self, target: str, number: int = 1, total: int = 1, *, forks: bool = False
    ) -> None:
        assert forks
        self.names.append(f"waits for {target} ({number} of {total})")

    def waits_no_more(self) -> None:
        self.names.append("waits no more")

    def __call__(self, target: str, domains: int) -> None:
        self.names.append(f"{target}: {domains}")


@pytest.mark.parametrize("is_last", [True, False])
def test_a_pipe_is_waited_for(
    is_last: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = "<domain type='kvm'><name>{}</name></domain>"
    (tmp_path / "b.xml").write_text(guest.format("b"))
    reading, writing = os.pipe()
    os.write(writing, guest.format("a").encode())
    os.close(writing)
    targets = [str(tmp_path / "b.xml"), "-"]
    progress = Waits()
    with open(reading) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        run = AuditRun(work(), RunOptions(jobs=1), progress)
        assert list(run.items(targets if is_last else targets[::-1]))
    from_file = [f"{tmp_path / 'b.xml'}: 1"]
    from_pipe = ["waits for standard input (1 of 1)", "standard input: 1", "waits no more"]
    assert progress.names == (from_file + from_pipe if is_last else from_pipe + from_file)


def test_a_named_pipe_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"<domain type='kvm'><name>a</name></domain>")
    os.close(writing)
    progress, name = Waits(), f"/dev/fd/{reading}"
    try:
        assert list(AuditRun(work(), RunOptions(jobs=1), progress).items([name]))
    finally:
        os.close(reading)
    assert progress.names == [f"waits for {name} (1 of 1)", f"{name}: 1", "waits no more"]


class Interrupted(Waits):
    """Ctrl-C while a product is worked on."""

    def __call__(self, target: str, domains: int) -> None:
        del target, domains
        raise KeyboardInterrupt


def test_a_pipe_is_waited_for_no_more_after_an_error() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"<domain type='kvm'><name>a</name></domain>")
    os.close(writing)
    progress = Interrupted()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(AuditRun(work(), RunOptions(jobs=1), progress).items([f"/dev/fd/{reading}"]))
    finally:
        os.close(reading)
    assert progress.names[1:] == ["waits no more"]


def test_once_a_pipe_is_read_there_is_no_thread() -> None:
    """Processes are forked then."""
    with redirect_stderr(Terminal()):
        progress = Progress(enabled=True)
        before = set(threading.enumerate())
        progress.waits_for("standard input")
        started = set(threading.enumerate()) - before
        progress.waits_no_more()
        assert not any(thread.is_alive() for thread in started)
    assert len(started) == 1


def test_no_process_is_forked_beside_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its locks would stay locked in the process; Python 3.12 warns of that."""
    reading, writing = os.pipe()
    fork, threads = os.fork, list[set[threading.Thread]]()

    def started() -> set[threading.Thread]:
        return set(threading.enumerate()) - before

    def forked() -> int:
        threads.append(started())
        if not (process := fork()):
            os.close(writing)
        return process

    class Awaited(Progress):
        def still_waits(self) -> None:
            """The other end answers when it sees that it is waited for."""
            self.show_waiting()
            if terminal.getvalue() and not threads[1:]:
                threads.append(started())
                os.write(writing, b"<domain type='kvm'><name>a</name></domain>")
                os.close(writing)

    monkeypatch.setattr(os, "fork", forked)
    before = set(threading.enumerate())  # those of other tests may end meanwhile
    with redirect_stderr(Terminal()) as terminal:
        run = AuditRun(work(), RunOptions(jobs=1), Awaited(enabled=True))
        assert list(run.items([f"/dev/fd/{reading}"])), run.results
    os.close(reading)
    assert lines(terminal)[0].startswith(f"/dev/fd/{reading}: no answer yet, ")
    assert threads == [set(), set()]


def test_no_thread_outlives_its_command() -> None:
    """If a command fails, nobody says that nothing is waited for any more."""
    before = set(threading.enumerate())
    with redirect_stderr(Terminal()):
        Progress(enabled=True).waits_for("openstack:prod")
        started = set(threading.enumerate()) - before
        end()  # as after each command
        for thread in started:
            thread.join(120)
    assert [thread.is_alive() for thread in started] == [False]


_READING_STANDARD_INPUT = (
    ("audit", "-", "--diff"),
    ("audit", "-", "guest.xml"),
    ("fleet", "inventory", "-i", "-"),
)


def test_each_command_says_that_it_waits_for_standard_input(tmp_path: Path) -> None:
    (tmp_path / "guest.xml").write_text("<domain type='kvm'><name>a</name></domain>")
    state = {**os.environ, "VNICAUDIT_STATE": str(tmp_path / "state")}
    with ExitStack() as stack:
        terminals = [
            stack.enter_context(_on_terminal(command, tmp_path, state))
            for command in _READING_STANDARD_INPUT
        ]
        for terminal in terminals:
            text = _until(terminal, b" s")
            assert re.search(rb"standard input: waiting for its end, \d+ s", text)


@contextmanager
def _on_terminal(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Iterator[int]:
    """The terminal that standard error of a command is, whose standard input is a pipe that
    stays open."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vnicaudit", *command],
        cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    try:
        os.close(theirs)
        yield ours
    finally:
        process.kill()
        process.communicate()
        os.close(ours)


def test_a_log_says_that_standard_input_is_still_open() -> None:
    now = [0.0]
    with redirect_stderr(io.StringIO()) as log:
        progress = Progress(enabled=True, clock=lambda: now[0])
        progress.waits_for("standard input")
        for second in (29, 30, 33):
            now[0] = second
            progress.show_waiting()
    assert log.getvalue() == "standard input: waiting for its end, 30 s\n"


def test_no_thread_beside_files() -> None:
    with redirect_stderr(Terminal()) as terminal:
        progress = Progress(enabled=True)
        progress.waits_for_live([Target("guests", "path"), Target("qemu:///system", "libvirt")])
        progress.show_waiting()
    assert lines(terminal) == []


@pytest.fixture
def silent_cloud(tmp_path: Path) -> Iterator[Path]:
    """A folder with a clouds.yaml, whose Keystone takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        (tmp_path / "clouds.yaml").write_text(_CLOUDS % server.getsockname()[1])
        yield tmp_path


@pytest.mark.parametrize(
    "command",
    [("audit", "openstack:prod"), ("audit", "openstack:prod/*"), ("nics", "openstack:prod"),
     ("plan", "openstack:prod"), ("explain", "openstack:prod", "--nic", "0"),
     ("audit", "guest.xml", "openstack:prod")],
    ids=" ".join,
)  # fmt: skip
def test_a_cloud_that_keeps_silent(silent_cloud: Path, command: tuple[str, ...]) -> None:
    pytest.importorskip("openstack")
    (silent_cloud / "guest.xml").write_text("<domain type='kvm'><name>a</name></domain>")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vnicaudit", *command],
        cwd=silent_cloud, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    try:
        os.close(theirs)
        assert re.search(rb"openstack:prod\S*: no answer yet, \d+ s", _until(ours, b" s\r"))
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _until(descriptor: int, end: bytes) -> bytes:
    """What comes until there is that, or two minutes are over."""
    found, over = b"", time.monotonic() + 120
    while end not in found and time.monotonic() < over:
        if select.select([descriptor], [], [], 1)[0]:
            found += os.read(descriptor, 1 << 10)
    return found
