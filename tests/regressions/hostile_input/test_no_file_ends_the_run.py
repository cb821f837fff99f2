"""One file of 70 bytes ended an audit with exit code 3 and no report: a library raised what nobody
had thought of. Whatever is raised on a file is that file's reading error, in this process and in
workers; so is a file that takes too long, or kills the process that reads it."""

import contextlib
import functools
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from tests.cli.inside import run_here as run
from vnicaudit.audit.reading import files
from vnicaudit.audit.reading.error_boundary import guarded_file
from vnicaudit.audit.reading.targets import Platform
from vnicaudit.audit.workers import LARGE, SERIAL_BELOW
from vnicaudit.base.deadlines import Deadline, OutOfTime
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PLATFORMS, PlatformRegistry
from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.finding import PlatformName
from vnicaudit.model.report import ReadError

Capture = pytest.CaptureFixture[str]

GUEST = """<domain type='kvm'><name>good</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><source bridge='b'/><model type='rtl8139'/></interface></devices>
</domain>"""
MANIFEST = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n"
BEYOND = {
    "an escape beyond Unicode": f'{MANIFEST}x: "\\U00110000"\n',
    "the largest escape": f'{MANIFEST}x: "\\UFFFFFFFF"\n',
    "a version of many digits": f"%YAML 1.{'1' * 5000}\n---\n{MANIFEST}",
    "a major version of many digits": f"%YAML {'1' * 5000}.1\n---\n{MANIFEST}",
    "an image that Ansible makes": '- openstack.cloud.image:\n    name: "\\UFFFFFFFF"\n',
}


@pytest.fixture(params=[1, SERIAL_BELOW + 1], ids=["here", "in workers"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a guest that has a finding, or with so many that workers read them."""
    for number in range(request.param):
        (tmp_path / f"b{number}.xml").write_text(GUEST)
    return tmp_path


def report(
    folder: Path, capsys: Capture, platforms: PlatformRegistry | None = None
) -> dict[str, list[dict[str, str]]]:
    """What an audit of the folder by two workers says; it is a report, whatever was met."""
    arguments = ["audit", str(folder), "--format", "json", "VNICAUDIT_JOBS=2", "--level", "never"]
    wiring = None if platforms is None else Wiring(platforms=lambda: platforms)
    assert run(arguments, wiring) == 4
    found: dict[str, list[dict[str, str]]] = json.loads(capsys.readouterr().out)
    return found


def errors(report: dict[str, list[dict[str, str]]]) -> list[tuple[str, str]]:
    found = [error for target in report["targets"] for error in target["errors"]]
    return [(Path(error["file"]).name, error["message"]) for error in found]  # type: ignore[index]


@pytest.mark.parametrize("text", BEYOND.values(), ids=BEYOND)
def test_a_number_beyond_all_bounds_costs_its_file(
    text: str, folder: Path, capsys: Capture
) -> None:
    (folder / "a.yaml").write_text(text)
    said = report(folder, capsys)
    assert {finding["rule"] for finding in said["findings"]} >= {"VNIC001"}
    ((name, message),) = errors(said)
    assert name == "a.yaml"
    assert message.startswith("not YAML: ")


def odd(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    read: Callable[[Content], Iterator[Item]],
    seconds: float = 30,
    size: int = 3,
) -> PlatformRegistry:
    """A file of a ``size`` that is read by ``read``, in ``seconds`` of CPU time; and the platforms
    with it."""
    (folder / "a.odd").write_text("odd".ljust(size))
    monkeypatch.setattr(files, "guarded_file", functools.partial(guarded_file, seconds=seconds))
    kind = FileKind("odd", "", "code", lambda head: head.startswith(b"odd"), read)
    return PlatformRegistry((*PLATFORMS, Platform(PlatformName("odd"), (kind,))))


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyError, AssertionError, UnicodeError])
def test_what_a_library_raises_costs_its_file(
    kind: type[Exception], folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_content: Content) -> Iterator[Item]:
        yield from ()
        raise kind("password = hunter2")

    platforms = odd(monkeypatch, folder, read)
    said = report(folder, capsys, platforms)
    assert said["findings"]
    # the error's own words may quote the file: they are left out
    assert errors(said) == [("a.odd", f"could not be read ({kind.__name__}); please report this")]


@pytest.mark.usefixtures("without_collection")
def test_a_file_that_takes_too_long_costs_itself(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_content: Content) -> Iterator[Item]:
        while True:
            try:
                yield from ()
                sum(range(1000))
            except Exception:  # what a library may do
                continue

    platforms = odd(monkeypatch, folder, read, seconds=0.3)
    said = report(folder, capsys, platforms)
    assert said["findings"]
    assert errors(said) == [("a.odd", "took more than 0 s of CPU time to read: given up")]


def test_a_file_on_which_c_code_hangs_costs_itself(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_content: Content) -> Iterator[Item]:
        yield from ()
        re.search(rb"\s+x", b" " * 500_000)  # a minute, in which no signal is looked at

    others = len(list(folder.iterdir()))
    platforms = odd(monkeypatch, folder, read, seconds=0.2, size=LARGE + 1)
    said = report(folder, capsys, platforms)
    assert len([one for one in said["findings"] if one["rule"] == "VNIC001"]) == others
    ((name, message),) = errors(said)
    assert name == "a.odd"
    assert "killed a worker process" in message or "CPU time to read: given up" in message


@pytest.mark.parametrize("stdin", [False, True], ids=["file", "stdin"])
@pytest.mark.parametrize(
    "command",
    [("nics",), ("explain", "--nic", "0"), ("plan",), ("audit", "--diff", "--include-unsafe")],
    ids=lambda command: command[0],
)
def test_every_command_reads_what_may_hang_in_another_process(
    command: tuple[str, ...],
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    stdin: bool,
) -> None:
    here = os.getpid()

    def read(_content: Content) -> Iterator[Item]:
        yield from ()
        assert os.getpid() != here
        re.search(rb"\s+x", b" " * 500_000)

    platforms = odd(monkeypatch, tmp_path, read, seconds=0.2, size=LARGE + 1)
    file = tmp_path / "a.odd"
    with file.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        target = "-" if stdin else str(file)
        code = run([*command, target], Wiring(platforms=lambda: platforms))
    said = " ".join("".join(capsys.readouterr()).split())
    if stdin and command == ("plan",):
        assert code == 2  # a plan changes no standard input
    else:
        assert code == 4
        assert f"{target}: reading it killed a worker process" in said


CROWDED = GUEST.replace(
    "<model ", f"<model {' '.join(f'a{number}=%s' % repr('1') for number in range(105_000))} "
)


def test_attributes_are_counted_before_they_are_read(folder: Path, capsys: Capture) -> None:
    """A minute of C code for 105,000 of them, whatever signals came."""
    (folder / "a.xml").write_text(CROWDED)
    said = report(folder, capsys)
    assert said["findings"]
    assert errors(said) == [
        (
            "a.xml",
            "an element with hundreds of attributes: not read, no element of a domain has so many",
        )
    ]


def test_what_looks_like_attributes_elsewhere_is_read(tmp_path: Path, capsys: Capture) -> None:
    """In text, in comments, in one value, and on many elements."""
    lines = " ".join(f"a{number}='1'" for number in range(2000))
    (tmp_path / "a.xml").write_text(
        GUEST.replace("<vcpu>", f"<description>{lines}</description><!-- <a {lines}/> --><vcpu>")
        .replace("<model ", f'<alias name="{lines}"/><model ')
        .replace("</devices>", "<interface type='user' a='1' b='2' c='3'/>" * 300 + "</devices>")
    )
    assert run(["nics", str(tmp_path / "a.xml"), "--format", "json"]) == 0
    assert "interface[301]" in capsys.readouterr().out


def test_a_worker_that_dies_costs_its_file(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_content: Content) -> Iterator[Item]:
        yield from ()
        os._exit(9)

    for number in range(SERIAL_BELOW + 1):
        (tmp_path / f"b{number}.xml").write_text(GUEST)
    platforms = odd(monkeypatch, tmp_path, read)
    said = report(tmp_path, capsys, platforms)
    assert len([one for one in said["findings"] if one["rule"] == "VNIC001"]) == SERIAL_BELOW + 1
    assert [name for name, _message in errors(said)] == ["a.odd"]


@pytest.mark.usefixtures("without_collection")
def test_the_deadline_counts_reading_alone() -> None:
    """What is done with an item, writing a report say, is never ended in its middle."""

    def items() -> Iterator[int]:
        yield 1
        yield 2

    got = []
    for item in guarded_file("f", items(), seconds=0.2):
        got.append(item)
        for _times in range(400):
            sum(range(20_000))
    assert got == [1, 2]


@pytest.mark.usefixtures("without_collection")
def test_items_before_the_deadline_are_kept() -> None:
    def items() -> Iterator[int]:
        yield 1
        while True:
            sum(range(1000))

    first, error = guarded_file("f", items(), seconds=0.2)
    assert first == 1
    assert isinstance(error, ReadError)
    assert (error.file, "given up" in error.message) == ("f", True)


@pytest.mark.usefixtures("without_collection")
def test_a_late_failure_in_c_costs_no_other_file() -> None:
    """Its signal waits until Python runs again: that was where the clock is stopped, which then
    was not, and the next file was given up in its place, or the run ended."""

    def late() -> Iterator[int]:
        yield 1
        numbers: Iterator[Any] = chain(range(30_000_000), [None])
        sum(numbers)

    def next_one() -> Iterator[int]:
        begin = process_time()
        while process_time() < begin + 0.8:
            sum(range(1000))
        yield 2

    first, error = guarded_file("late", late(), seconds=0.1)
    assert (first, isinstance(error, ReadError)) == (1, True)
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    assert list(guarded_file("next", next_one(), seconds=30)) == [2]


@pytest.mark.usefixtures("without_collection")
def test_a_deadline_that_is_over_at_once_leaves_no_clock_running() -> None:
    for _times in range(2000):
        with contextlib.suppress(OutOfTime), Deadline(0):
            sum(range(2000))
        assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


_FEW_PROCESSES = """
import errno, os, sys
real, left = os.fork, int(sys.argv[1])
def fork():
    global left
    left -= 1
    if left < 0:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    return real()
os.fork = fork
from vnicaudit.cli.main import run
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("number", ["0", "1"], ids=["no worker", "one worker"])
def test_a_limit_of_processes_does_not_end_it(number: str, tmp_path: Path) -> None:
    """A container's: exit code 3 without a report or, with some workers started, no end at all."""
    for each in range(SERIAL_BELOW + 1):
        (tmp_path / f"{each}.xml").write_text(GUEST)
    words = ["audit", str(tmp_path), "--format", "json"]
    done = subprocess.run(
        ["env", "VNICAUDIT_JOBS=3", sys.executable, "-c", _FEW_PROCESSES, number, *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["summary"]["domains"] == SERIAL_BELOW + 1
