"""Sessions on this machine, by each shell that a supervisor may meet."""

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.endpoints.left import gone, listens, marked, until
from tests.not_run import not_run
from tests.ports import free_port
from vnicaudit.bench.contract import Endpoint, StartedProgram
from vnicaudit.bench.endpoints import session as sessions
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.errors import EndpointError
from vnicaudit.reaching.process import Prefixed

STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]


@pytest.fixture(params=["dash", "bash", "busybox"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EndpointSession]:
    """``sh`` is that shell."""
    shell = shutil.which(request.param)
    if shell is None:
        not_run("tests", f"{request.param} is not installed")
    (tmp_path / "sh").symlink_to(shell)
    path = f"PATH={tmp_path}:{os.environ['PATH']}"
    opened = EndpointSession("local", Prefixed(("env", path)))
    yield opened
    opened.close()
    until(lambda: gone(opened.folder), "nothing is left")


@pytest.fixture
def local() -> Iterator[EndpointSession]:
    opened = EndpointSession("local", Prefixed())
    yield opened
    opened.close()
    until(lambda: gone(opened.folder), "nothing is left")


def test_it_is_what_the_contract_says(local: EndpointSession) -> None:
    endpoint: Endpoint = local
    started: StartedProgram = local.start(["true"], seconds=90)
    assert endpoint.url == "local"
    assert started.wait(60).code == 0


_BUSY = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print("busy", flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
"""


def test_how_long_a_program_waited_for_a_cpu(session: EndpointSession) -> None:
    """Two on one CPU have half of it each, and wait for the other half."""
    python = [sys.executable, "-S", "-c", _BUSY]
    other = session.start([*python, "600"], seconds=600)
    until(lambda: _printed(session, "busy\n"), "it is busy")
    waited = session.run([*python, "2.5"], seconds=60).cpu_wait
    assert other.running()
    other.stop()
    assert waited is not None
    assert 20 < waited <= 100


def test_a_program_that_ended_at_once_says_nothing_of_its_wait(local: EndpointSession) -> None:
    ran = local.run(["true"])
    assert ran.cpu_wait is None or ran.seconds > 1  # so long that it was looked at


def test_a_program_is_run_to_its_end(session: EndpointSession) -> None:
    ran = session.run(["sh", "-c", "printf out; printf err >&2; exit 3"])
    assert (ran.code, ran.stdout, ran.stderr) == (3, "out", "err")
    assert ran.command == ("sh", "-c", "printf out; printf err >&2; exit 3")
    assert ran.endpoint == "local"
    assert 0 < ran.seconds < 60


def test_words_arrive_as_they_are(session: EndpointSession) -> None:
    words = ["", "a b", "$HOME", "`id`", "'", '"', "\\n", "*", "-n", "--", "ä\n%s", ";reboot"]
    assert session.run(["printf", "<%s>", *words]).stdout == "".join(f"<{w}>" for w in words)


def test_it_is_given_something_to_read(session: EndpointSession) -> None:
    assert session.run(["cat"], stdin=b"one\ntwo").stdout == "one\ntwo"
    assert session.run(["cat"]).stdout == ""
    assert session.run(["wc", "-c"], stdin=bytes(200_000)).stdout.strip() == "200000"


def test_a_program_that_is_not_there_is_named(session: EndpointSession) -> None:
    ran = session.run(["no-such-program", "-x"])
    assert ran.code == 127
    assert "no-such-program: not found" in ran.stderr


def test_one_that_takes_too_long_is_ended(session: EndpointSession) -> None:
    ran = session.run(["sleep", "100"], seconds=0.3)
    assert ran.code is None
    assert ran.seconds < 60


def test_what_it_printed_until_then_is_known(session: EndpointSession) -> None:
    started = session.start(["sh", "-c", "echo began; sleep 100"], seconds=90)
    until(lambda: _printed(session, "began\n"), "it has begun")
    ran = started.wait(0.3)
    assert (ran.code, ran.stdout) == (None, "began\n")


def test_a_signal_is_no_exit_code(session: EndpointSession) -> None:
    assert session.run(["sh", "-c", "kill -KILL $$"]).code is None
    assert session.run(["sh", "-c", "exit 255"]).code == 255


def test_one_in_the_background_runs_until_it_is_stopped(session: EndpointSession) -> None:
    started = session.start(["sh", "-c", "echo began; exec sleep 100"], seconds=90)
    until(lambda: _printed(session, "began\n"), "it has begun")
    assert started.running()
    ran = started.stop()
    assert (ran.code, ran.stdout) == (None, "began\n")
    assert not started.running()
    assert started.stop() is ran


def test_one_that_ended_by_itself_says_how(session: EndpointSession) -> None:
    started = session.start(["sh", "-c", "exit 4"], seconds=90)
    assert started.wait(60).code == 4
    assert started.stop().code == 4


def test_one_that_is_waited_for_too_short_a_time_is_stopped(session: EndpointSession) -> None:
    started = session.start(["sleep", "100"], seconds=90)
    assert started.wait(0.2).code is None
    assert not started.running()


def test_its_time_is_over_there_too(session: EndpointSession) -> None:
    ran = session.start(["sleep", "100"], seconds=0.3).wait(60)
    assert ran.code is None
    assert ran.seconds < 60


@pytest.mark.parametrize("ended", ["late", "stopped"])
def test_one_that_is_ended_before_it_begins_does_nothing(
    session: EndpointSession, ended: str
) -> None:
    """As on a busy machine; here a named pipe holds it up, which it is to read from."""
    folder = Path(session.folder)
    os.mkfifo(folder / "held")
    supervisor, seconds = ["sh", str(folder / "supervisor")], "0.1" if ended == "late" else "300"
    words = [*supervisor, "start", "99", seconds, "0", "held", "touch", "begun"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    if ended == "stopped":
        said = subprocess.run([*supervisor, "stop", "99"], check=True, stdout=subprocess.PIPE)
        assert b"stopped 137" in said.stdout
    until((folder / f"99.{ended}").exists, "it is to end")
    with open(folder / "held", "wb"):
        until((folder / "99.pid").exists, "it would begin")
    until(lambda: not _programs(session), "nothing of it is left")
    assert not (folder / "begun").exists()


def test_one_that_will_not_end_is_killed_with_its_children(session: EndpointSession) -> None:
    started = session.start(STUBBORN, seconds=90)
    until(lambda: _printed(session, "ready\n"), "it is deaf")
    ran = started.wait(0.5)
    assert (ran.code, ran.stdout) == (None, "ready\n")
    until(lambda: not _programs(session), "nothing of it is left")


def test_children_that_left_are_found(session: EndpointSession) -> None:
    """By their mark: ``setsid`` takes them out of the group."""
    started = session.start(["sh", "-c", "setsid sleep 300 & sleep 300; exit"], seconds=300)
    until(lambda: len(_programs(session)) == 3, "both sleep")
    started.stop()
    until(lambda: not _programs(session), "nothing of it is left")


def test_one_without_its_mark_is_killed_too(session: EndpointSession) -> None:
    """By its group; so are those whose environment is not shown, as that of a setuid ``ping``."""
    script = "trap '' TERM; echo $$; while :; do sleep 1; done"
    started = session.start(["env", "-i", "/bin/sh", "-c", script], seconds=90)
    until(lambda: _printed(session, "\n"), "it has said which process it is")
    ran = started.wait(0.5)
    assert ran.code is None
    program = Path("/proc", ran.stdout.strip(), "exe")
    until(lambda: not program.exists(), "it is gone")


def test_the_others_go_on(local: EndpointSession) -> None:
    started = [local.start(["sleep", "99"], seconds=90) for _ in range(11)]
    started[0].stop()
    assert [one.running() for one in started] == [False] + [True] * 10


def test_children_end_with_their_parent(session: EndpointSession) -> None:
    assert session.run(["sh", "-c", "sleep 300 & exit 0"]).code == 0
    until(lambda: not _programs(session), "the child is gone")


def test_files_are_kept_in_a_private_folder(session: EndpointSession) -> None:
    data = bytes(range(256)) * 400
    path = session.put_file("queries.txt", data)
    assert Path(path).read_bytes() == data
    assert stat.S_IMODE(Path(session.folder).stat().st_mode) == 0o700
    session.put_file("queries.txt", b"")
    assert Path(path).read_bytes() == b""


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc/passwd", "-n", "a b", ".hidden"])
def test_a_name_is_the_name_of_one_file(local: EndpointSession, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a file"):
        local.put_file(name, b"")


def test_everything_is_gone_after_closing(session: EndpointSession) -> None:
    port = free_port()
    server_command = ["iperf3", "-s", "-p", str(port)]
    session.put_file("file", b"x")
    session.start(server_command, seconds=100)
    session.start(STUBBORN, seconds=100)
    until(lambda: listens(port), "the server listens")
    session.close()
    session.close()
    until(lambda: gone(session.folder), "nothing is left")
    assert not listens(port)


def test_after_closing_nothing_works(local: EndpointSession) -> None:
    local.close()
    with pytest.raises(EndpointError, match=r"^local: the programs started there are gone"):
        local.run(["true"])


def test_long_output_arrives_whole(session: EndpointSession) -> None:
    command = "head -c 1500000 /dev/zero | tr '\\0' a; head -c 600000 /dev/zero | tr '\\0' b >&2"
    ran = session.run(["sh", "-c", command])
    assert ran.stdout == "a" * 1_500_000
    assert ran.stderr == "b" * 600_000


def test_output_without_end_is_bounded(
    local: EndpointSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "OUTPUT_MAX", 100_000)
    with pytest.raises(EndpointError, match=r"^local: head printed more than \d+ MiB$"):
        local.run(["head", "-c", "100000", "/dev/zero"])


def test_the_disk_is_not_filled(local: EndpointSession) -> None:
    with pytest.raises(EndpointError, match=r"^local: cat printed more than 64 MiB$"):
        local.run(["cat", "/dev/zero"])
    sizes = [path.stat().st_size for path in Path(local.folder).glob("*.out")]
    assert sizes == [sessions.OUTPUT_MAX]


def test_bytes_that_are_no_text_are_replaced(local: EndpointSession) -> None:
    assert local.run(["printf", r"a\377b"]).stdout == "a\ufffdb"


def test_two_sessions_are_used_from_two_threads() -> None:
    said: dict[str, list[str]] = {}

    def work(name: str) -> None:
        opened = EndpointSession(name, Prefixed())
        said[name] = [opened.run(["echo", f"{name} {n}"]).stdout for n in range(10)]
        opened.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert said == {name: [f"{name} {n}\n" for n in range(10)] for name in ("one", "two")}


def test_it_is_closed_while_another_thread_waits(local: EndpointSession) -> None:
    """Which hears of its program's end, or that the session is gone."""
    ended: list[object] = []

    def work() -> None:
        try:
            ended.append(local.run(["sleep", "300"], seconds=300).code)
        except EndpointError as error:
            ended.append(str(error).partition(":")[0])

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: _programs(local), "it runs")
    local.close()
    thread.join(120)
    assert ended in ([None], ["local"])


def test_a_place_without_setsid_will_do() -> None:
    """Children are found by their mark alone; here ``setsid`` is hidden from the supervisor."""
    setsid = shutil.which("setsid")
    if os.getuid() != 0 or setsid is None or shutil.which("unshare") is None:
        not_run("tests", "to hide setsid takes root and util-linux")
    hide = ("unshare", "-m", "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', setsid)
    session = EndpointSession("local", Prefixed(hide))
    assert session.run(["sh", "-c", "command -v setsid"]).code != 0
    assert session.run(["no-such-program"]).code == 127
    assert session.run(["sleep", "100"], seconds=0.3).code is None
    assert session.start(["sleep", "100"], seconds=0.3).wait(60).code is None
    started = session.start(["sh", "-c", "sleep 300 & sleep 300; exit"], seconds=300)
    until(lambda: len(_programs(session)) == 3, "both sleep")
    started.stop()
    until(lambda: not _programs(session), "nothing of it is left")
    session.start(STUBBORN, seconds=100)
    session.close()
    until(lambda: gone(session.folder), "nothing is left")


def _programs(session: EndpointSession) -> list[int]:
    return marked(session.folder, "program")


def _printed(session: EndpointSession, text: str) -> bool:
    """Whether one of its programs has printed that by now."""
    return any(text in path.read_text() for path in Path(session.folder).glob("*.out"))
