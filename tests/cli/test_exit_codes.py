"""Each exit code of the contract, by running the installed command."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.bench.endpoints.left import until
from tests.cli.command import SCRIPT, vnicaudit
from tests.cli.inside import inside
from tests.not_run import not_run
from tests.rows import rows, rows_of_tuples

DOMAIN = """<domain type='kvm'><name>{name}</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices>
<disk type='file' device='disk'><source file='/a'/><target dev='vda' bus='virtio'/></disk>
<interface type='bridge'>
<mac address='52:54:00:00:00:01'/><source bridge='br0'/><model type='{model}'/>
</interface></devices></domain>
"""


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    path = tmp_path / "clean.xml"
    path.write_text(DOMAIN.format(name="clean", model="virtio"))
    return path


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.xml"
    path.write_text(DOMAIN.format(name="slow", model="rtl8139"))
    return path


def test_0_when_nothing_is_found(clean: Path) -> None:
    result = vnicaudit("audit", clean)
    assert (result.returncode, result.stderr) == (0, "")


def test_1_when_something_is_found(slow: Path) -> None:
    result = vnicaudit("audit", slow)
    assert result.returncode == 1
    assert "VNIC001" in result.stdout
    assert f"{slow}:6" in result.stdout


@pytest.mark.parametrize("words", [[], ["fleet"], ["bench"]])
def test_2_and_the_help_as_it_is_where_no_command_is_named(words: list[str]) -> None:
    result = inside(*words)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == inside(*words, "--help").stdout


def test_2_where_the_current_folder_is_gone(slow: Path, tmp_path: Path) -> None:
    leaves = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, sys.argv[1:])"
    command: list[str | Path] = [sys.executable, "-c", leaves, sys.executable, SCRIPT]
    for words in (("audit", slow), ("plan", slow), ("audit", slow, "--fix", "--quiet")):
        folder = tmp_path / "gone"
        folder.mkdir()
        result = subprocess.run(
            [*command, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert result.stderr == (
            "Error: the current folder has been deleted: change to another one (cd)\n"
        )
        assert (result.returncode, result.stdout) == (2, "")


@pytest.mark.parametrize(("threshold", "code"), [("high", 1), ("error", 0), ("never", 0)])
def test_level_hides_and_fails_alike(slow: Path, threshold: str, code: int) -> None:
    result = inside("audit", slow, "--level", threshold)
    assert result.returncode == code
    assert ("VNIC001" in result.stdout) == (threshold != "error")


@rows_of_tuples
def test_2_when_the_command_line_is_wrong(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = inside("audit", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_3_when_a_rule_crashes(slow: Path, tmp_path: Path) -> None:
    """A rule that fails on its own is named, and is not a pass."""
    program = textwrap.dedent(
        """
        import sys
        from msgspec.structs import replace
        import vnicaudit.rules.vnic001 as module
        def broken(subject):
            raise RuntimeError("boom")
        (judge,) = module.RULE.judges
        module.RULE = replace(module.RULE, judges=(replace(judge, check=broken),))
        from vnicaudit.cli.main import run
        sys.exit(run(sys.argv[1:]))
        """
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "audit", str(slow)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 3
    assert "VNIC001" in result.stdout + result.stderr
    assert "RuntimeError: boom" in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_4_when_a_target_cannot_be_read_and_the_rest_is_reported(
    clean: Path, slow: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text(DOMAIN.format(name="x", model="e1000")[:-40])
    result = vnicaudit("audit", broken, slow, clean, tmp_path / "missing.xml")
    assert result.returncode == 4
    output = " ".join((result.stdout + result.stderr).split())
    assert "VNIC001" in output
    assert "broken.xml:" in output
    assert "not well-formed XML" in output
    assert "missing.xml" in output
    assert "No such file or directory" in output
    assert "Traceback" not in output


def test_4_when_a_part_of_a_domain_cannot_be_read_and_its_nics_are_judged(slow: Path) -> None:
    arguments = (
        "<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'>\n"
        "<q:arg value='-device'/>\n<q:arg value='{\"driver\":\"e1000\"'/></q:commandline></domain>"
    )
    slow.write_text(slow.read_text().replace("</domain>", arguments))
    result = vnicaudit("audit", slow)
    assert result.returncode == 4
    output = " ".join((result.stdout + result.stderr).split())
    assert "VNIC001" in output
    assert f"{slow}:9: <qemu:arg> not understood: -device: JSON that is cut off" in output


def test_nics_too_names_what_it_cannot_read(clean: Path, tmp_path: Path) -> None:
    result = vnicaudit("nics", clean, tmp_path / "missing.xml")
    assert result.returncode == 4
    assert "52:54:00:00:00:01" in result.stdout
    assert "missing.xml: No such file or directory" in result.stderr


INTERRUPTIBLE = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a command that hears SIGINT and SIGHUP: under nohup, or as a background job, they are
ignored, and a child inherits that."""


def test_130_when_interrupted() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, str(SCRIPT), "audit", f"/dev/fd/{reading}"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *command],
        pass_fds=(reading,), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.write(writing, b"<domain")
    # wait for the fact that it reads: what was written has been taken out of the pipe
    import fcntl
    import struct
    import termios

    while struct.unpack("i", fcntl.ioctl(reading, termios.FIONREAD, b"\0" * 4))[0]:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    os.close(writing)
    os.close(reading)
    assert process.returncode == 130
    assert errors.strip() == "Interrupted."


def test_a_reader_that_goes_away_is_no_error(slow: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), "audit", str(slow), "--format", "sarif"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_standard_input(slow: Path) -> None:
    result = vnicaudit("audit", "-", stdin=slow.read_bytes())
    assert result.returncode == 1
    assert "VNIC001" in result.stdout


@pytest.mark.parametrize(
    "command", [["audit", "--level", "never"], ["nics"], ["explain", "--nic", "0"]]
)
@pytest.mark.parametrize("place", ["file", "standard input", "pipe"])
def test_what_another_process_reads_is_all_there(
    command: list[str], place: str, tmp_path: Path
) -> None:
    """A large file, standard input and a pipe."""
    text = DOMAIN.format(name="n", model="rtl8139") + f"<!-- {'x' * 70_000} -->"
    file = tmp_path / "a.xml"
    file.write_text(text)
    if place == "pipe":
        reading, writing = os.pipe()
        os.write(writing, DOMAIN.format(name="n", model="rtl8139").encode())
        os.close(writing)
        done = subprocess.run(
            [sys.executable, str(SCRIPT), *command, f"/dev/fd/{reading}"],
            pass_fds=(reading,), capture_output=True, text=True, check=False,
        )  # fmt: skip
        os.close(reading)
    else:
        done = vnicaudit(*command, file if place == "file" else "-", stdin=text.encode())
    assert done.returncode == 0, done.stderr
    assert "rtl8139" in done.stdout


@pytest.mark.parametrize("command", [["audit"], ["nics"]])
def test_output_that_nobody_reads_is_141_and_no_finding(command: list[str], tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.xml").write_text(DOMAIN.format(name=f"n{number}", model="rtl8139"))
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), *command, str(tmp_path), "--format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@rows
def test_closed_and_full_streams(slow: Path, redirection: str, code: int, message: str) -> None:
    result = subprocess.run(
        ["sh", "-c", f'"$0" "$1" {redirection}', sys.executable, str(SCRIPT)],
        cwd=slow.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (code, message)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_run_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    process, workers = _begun(tmp_path, signal.SIG_DFL)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert [worker for worker in workers if _is_running(worker)] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["guests"]
    assert process.stdout is not None
    process.stdout.close()


def test_a_killed_run_leaves_no_file(tmp_path: Path) -> None:
    """Each left a hidden one as large as its report."""
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except OSError as error:
        not_run("tests", f"no file without a name in {tmp_path}: {error.strerror}")
    process, _workers = _begun(tmp_path, signal.SIG_DFL)
    assert process.stdout is not None
    process.stdout.read(1)  # the files of both reports have been opened
    process.kill()
    process.wait()
    process.stdout.close()
    assert [path.name for path in tmp_path.iterdir()] == ["guests"]


def test_a_signal_to_the_group_waits_for_no_worker(tmp_path: Path) -> None:
    """``systemctl stop`` signals the whole group; workers that die in the middle of an answer, or
    do not answer, made the run wait for ever."""
    process, workers = _begun(tmp_path, signal.SIG_DFL)
    for worker in workers:
        os.kill(int(worker), signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert [worker for worker in workers if _is_running(worker)] == []
    assert process.stdout is not None
    process.stdout.close()


def test_workers_leave_signals_to_the_run(tmp_path: Path) -> None:
    process, workers = _begun(tmp_path, signal.SIG_DFL)
    sent = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for worker in workers:
        for number in sent:
            os.kill(int(worker), number)
    until(lambda: not {*sent}.intersection(*map(_pending, workers)), "they came, or were ignored")
    assert [worker for worker in workers if _is_running(worker)] == workers
    assert process.stdout is not None
    with process.stdout:
        process.stdout.read()
    assert process.wait(60) == 1


_IN_A_DESTRUCTOR = """
import signal, time
from vnicaudit.cli.output import process
process.prepare()
class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIG{0})
del (dying := [Dying()])[0]
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize(("name", "code"), [("TERM", 143), ("INT", -2), ("HUP", 129)])
def test_a_signal_in_a_destructor_is_not_lost(name: str, code: int) -> None:
    """Python drops the exception of its handler there."""
    script = _IN_A_DESTRUCTOR.format(name)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTIBLE, sys.executable, "-c", script],
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code


_CLEANS_UP_FOR_EVER = """
import os, signal, time
from vnicaudit.cli.output import process
process.prepare()
hang_up = signal.getsignal(signal.SIGHUP)
process.REPEATED_WITHIN = 3600
try:
    os.kill(os.getpid(), signal.SIG{0})
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    process.REPEATED_WITHIN = -1
    signal.signal(signal.SIGHUP, hang_up)  # whoever held signals for a while sets it back
    os.kill(os.getpid(), signal.SIGHUP)
    print("a repetition changes nothing", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here", flush=True)
"""


@pytest.mark.parametrize("first", ["TERM", "HUP"])
def test_a_second_alarm_leaves_at_once(first: str) -> None:
    """A second hang-up is none: the terminal sends it, and a guest is being given back."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTIBLE, sys.executable, "-c",
         _CLEANS_UP_FOR_EVER.format(first)],
        capture_output=True, timeout=60, check=False, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (143, "a repetition changes nothing\n")


def test_a_run_that_ignores_hang_ups_goes_on(tmp_path: Path) -> None:
    """As with nohup, which this test may run under, too."""
    process, _workers = _begun(tmp_path, signal.SIG_IGN)
    process.send_signal(signal.SIGHUP)
    assert process.stdout is not None
    with process.stdout:
        assert json.loads(process.stdout.read())["summary"]["domains"] == _MANY
    assert process.wait(60) == 1


_MANY = 1000


def _begun(folder: Path, hang_up: signal.Handlers) -> tuple[subprocess.Popen[str], list[str]]:
    """An audit whose standard output nobody reads, so that it does not come to its end (its report
    is larger than what a pipe takes, and is written as files are read), with its worker processes;
    ``hang_up``: what SIGHUP does in it at first."""
    (folder / "guests").mkdir()
    for index in range(_MANY):
        text = DOMAIN.format(name=f"n{index}", model="rtl8139")
        (folder / "guests" / f"{index}.xml").write_text(text)
    process = subprocess.Popen(
        ["env", "VNICAUDIT_JOBS=2", sys.executable, str(SCRIPT), "audit", str(folder / "guests"),
         "--format", "text", "--output", str(folder / "report.txt"), "--format", "json"],
        start_new_session=True, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, hang_up),
    )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(workers := children.read_text().split()) < 2:  # wait for the fact
        assert process.poll() is None
    return process, workers


def _pending(pid: str) -> set[int]:
    """The signals that were sent to a process and have not come (ShdPnd, proc_pid_status(5))."""
    found = re.search(r"^ShdPnd:\t([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return {number for number in range(1, 65) if int(found[1], 16) >> (number - 1) & 1}


def _is_running(pid: str) -> bool:
    """Whether the process is there and not merely waiting for its parent to notice its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
