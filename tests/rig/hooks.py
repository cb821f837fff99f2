"""Commands of the product in a process that ends, or stops another one, at a chosen place.

The product has no hook for it. A process is forked off a server that has imported it (fork, for
starting Python anew takes longer than most commands), and what the product does its work with is
wrapped there: lines of the journal, files of the state folder, calls that change a domain.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.cli.command import as_in_a_shell
from tests.rig.process import wait_for
from vnicaudit.base import files
from vnicaudit.base.deadlines import timestamp
from vnicaudit.cli.main import run
from vnicaudit.platforms.libvirt import control
from vnicaudit.remedy.applying.journal import journal_file
from vnicaudit.remedy.applying.journal.events import Event, name_of

PLACES = (
    "before line", "within line", "behind line",
    "before file", "within file", "behind file",
    "before call", "behind call",
)  # fmt: skip
"""Of a line of the journal, a file in the state folder, a call that changes a domain."""
_CALLS = ("define", "shut_down", "power_off", "start", "detach", "attach")
_LONGEST = 900.0
_PRELOADED = (
    "__main__",
    "tests.rig.hooks", "vnicaudit.cli.remedy.apply", "vnicaudit.cli.remedy.run_output",
    "vnicaudit.cli.remedy.rollback", "vnicaudit.cli.remedy.runs",
    "vnicaudit.platforms.domain_xml.definitions",
    "vnicaudit.platforms.domain_xml.source", "vnicaudit.platforms.domain_xml.write",
    "vnicaudit.platforms.qemu.proc", "vnicaudit.remedy.applying.rollback",
    "vnicaudit.reports.plan", "vnicaudit.reports.plan.text", "vnicaudit.reports.runs",
)  # fmt: skip


class Fault(NamedTuple):
    """What happens when a place is passed for the ``number``-th time, from 1: ``signal`` is sent
    to ``process``; None: to the command's own. ``deadline``: seconds that libvirt has from then on
    for an answer; until then it has as long as the command says, for a busy machine is slow."""

    place: str
    number: int
    process: int | None = None
    signal: int = signal.SIGKILL
    deadline: float | None = None


class Streams(NamedTuple):
    """What becomes of standard output and standard error. ``open``: they are read. ``closed``: they
    are closed from the start. ``leaves``: the reader goes away when ``number`` places were passed.
    ``full``: the reader has stopped reading. ``gone``: it has gone away before."""

    output: str = "open"
    errors: str = "open"
    number: int = 1


OUTPUTS = ("open", "closed", "leaves")
"""Nothing is begun by a command that cannot show its plan."""
ERRORS = ("open", "closed", "leaves", "full", "gone")


class Passed(NamedTuple):
    """A place that was passed: ``what`` is the line's event, the file's name, the call."""

    place: str
    what: str


class Ended(NamedTuple):
    """How a command ended: its exit code, or minus the signal that ended it; what it said; which
    places it passed; after how many seconds."""

    code: int
    said: str
    passed: tuple[Passed, ...]
    seconds: float

    def times(self, place: str, what: str) -> int:
        """How often it passed that place."""
        return self.passed.count(Passed(place, what))


class Command:
    """A command of the product that runs from now on."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        fault: Fault | None = None,
        streams: Streams = Streams(),  # noqa: B008 - frozen
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(_PRELOADED))
        self._folder = tempfile.TemporaryDirectory(prefix="vnicaudit-")
        self._output, self._log = (Path(self._folder.name, name) for name in ("output", "log"))
        words = [str(word) for word in arguments]
        self._process = context.Process(
            target=_work, args=(words, fault, str(self._output), str(self._log), streams)
        )
        self._process.start()
        while not self._log.exists() and self._process.is_alive():
            time.sleep(0.005)
        self._began = time.monotonic()

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid or 0

    def kill(self) -> None:
        """End it now, if it has not ended."""
        self._process.kill()

    def wait_until_stopped(self) -> None:
        """Wait for a fault that has it stopped (SIGSTOP)."""
        stat = Path(f"/proc/{self.pid}/stat")
        wait_for(lambda: ") T " in stat.read_text(), "the command is stopped", seconds=_LONGEST)

    def go_on(self) -> None:
        """End its being stopped."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, seconds: float = _LONGEST) -> Ended:
        """How it ended. One that goes on for too long is killed; that is an error."""
        self._process.join(seconds)
        code, took = self._process.exitcode, time.monotonic() - self._began
        self._process.kill()
        self._process.join()
        said = self._output.read_text() if self._output.exists() else ""
        passed = msgspec.json.Decoder(Passed).decode_lines(self._log.read_bytes())
        self._folder.cleanup()
        if code is None:
            raise AssertionError(f"no end after {seconds:.0f} s:\n{said}")
        return Ended(code, said, tuple(passed), took)


def command(
    *arguments: str | Path,
    fault: Fault | None = None,
    streams: Streams = Streams(),  # noqa: B008 - frozen
) -> Ended:
    """Run a command to its end, or to its fault's."""
    return Command(arguments, fault, streams).wait()


def faults(passed: Sequence[Passed]) -> list[Fault]:
    """An end at every place there is between the lines of a log."""
    seen: Counter[str] = Counter()
    found = []
    for one in passed:
        seen[one.place] += 1
        found.append(Fault(one.place, seen[one.place]))
    return found


def _work(words: list[str], fault: Fault | None, output: str, log: str, streams: Streams) -> None:
    """The process forked off: runs the command as ``vnicaudit`` does."""
    for descriptor in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    for name in [name for name in os.environ if name.startswith("VNICAUDIT_")]:
        del os.environ[name]
    os.environ["COLUMNS"] = "100"
    log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    # in this order: a pipe must not get the number of a closed stream
    readers = [_broken("stderr", 2, streams.errors), _broken("stdout", 1, streams.output)]
    leaving = [reader for reader in readers if reader is not None]
    _Places(fault, log_file, leaving, streams.number).watch()
    given, named = as_in_a_shell(words)
    os.environ |= named
    code = run(given)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # it is closed, or nobody reads it
            stream.flush()
    os._exit(code)


def _broken(name: str, descriptor: int, kind: str) -> int | None:
    """Make a standard stream one of that kind; the end that its reader has, where it leaves."""
    if kind == "open":
        return None
    if kind == "closed":
        setattr(sys, name, None)
        os.close(descriptor)
        return None
    reader, writer = os.pipe()
    os.dup2(writer, descriptor)
    os.close(writer)
    if kind == "gone":
        os.close(reader)
    if kind == "full":
        os.set_blocking(descriptor, False)
        with suppress(BlockingIOError):
            while True:
                os.write(descriptor, b"x")
        os.set_blocking(descriptor, True)
    return reader if kind == "leaves" else None


class _Places:
    """Wraps what passes them, notes each, and has the fault happen at its place."""

    def __init__(self, fault: Fault | None, log: int, readers: list[int], number: int) -> None:
        self._fault = fault
        self._log = log
        self._readers = readers
        self._left = number
        self._seen: Counter[str] = Counter()
        self._hosts: list[control.LibvirtHypervisor] = []

    def watch(self) -> None:
        """From now on."""
        journal_file.Journal.write = self._line(journal_file.Journal.write)  # type: ignore[method-assign]
        files.os = _Os(self._file)  # type: ignore[attr-defined, assignment]
        control.LibvirtHypervisor.__init__ = self._host(  # type: ignore[method-assign]
            control.LibvirtHypervisor.__init__
        )
        for name in _CALLS:
            setattr(
                control.LibvirtMachine,
                name,
                self._call(name, getattr(control.LibvirtMachine, name)),
            )

    def _pass(self, place: str, what: str) -> bool:
        """Whether the fault is here."""
        os.write(self._log, msgspec.json.encode(Passed(place, what)) + b"\n")
        self._seen[place] += 1
        self._left -= 1
        if self._left == 0:
            for reader in self._readers:
                os.close(reader)
        fault = self._fault
        return fault is not None and (fault.place, fault.number) == (place, self._seen[place])

    def _happen(self) -> None:
        if self._fault is None:
            return
        if self._fault.deadline is not None:
            for host in self._hosts:
                host.deadline = self._fault.deadline
        os.kill(self._fault.process or os.getpid(), self._fault.signal)

    def _host(self, real: Callable[..., None]) -> Callable[..., None]:
        def begin(host: control.LibvirtHypervisor, *arguments: Any) -> None:
            self._hosts.append(host)
            real(host, *arguments)

        return begin

    def _at(self, place: str, what: str) -> None:
        if self._pass(place, what):
            self._happen()

    def _line(self, real: Callable[..., journal_file.Entry]) -> Callable[..., journal_file.Entry]:
        def write(one: journal_file.Journal, event: Event, unit: str = "") -> journal_file.Entry:
            name = name_of(event)
            self._at("before line", name)
            if self._pass("within line", name):
                text = journal_file.encoded(journal_file.Entry(timestamp(), event, unit), 1)
                os.write(one._descriptor, text[: len(text) // 2])
                self._happen()
            entry = real(one, event, unit)
            self._at("behind line", name)
            return entry

        return write

    def _file(self, part: str, path: str | Path) -> None:
        name = os.path.basename(path)
        self._at("before file", name)
        if self._pass("within file", name):
            os.truncate(part, os.stat(part).st_size // 2)
            self._happen()
        os.replace(part, path)
        self._at("behind file", name)

    def _call(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._at("before call", name)
            result = real(*arguments, **named)
            self._at("behind call", name)
            return result

        return call


class _Os:
    """``os``, but for the one function that puts a file in its place."""

    def __init__(self, replace: Callable[[str, str | Path], None]) -> None:
        self.replace = replace

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)
