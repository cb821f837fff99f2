"""Sessions on this machine, by each shell that a keeper may meet."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.endpoints.left import gone, listens, marked, until
from tests.not_run import not_run
from vnicaudit.bench.contract import Endpoint, Started
from vnicaudit.bench.endpoints import program
from vnicaudit.bench.endpoints.prefixed import Prefixed
from vnicaudit.bench.endpoints.session import Session, open_session
from vnicaudit.errors import EndpointError

STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]


@pytest.fixture(params=["dash", "bash", "busybox"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """``sh`` is that shell."""
    shell = shutil.which(request.param)
    if shell is None:
        not_run("tests", f"{request.param} is not installed")
    (tmp_path / "sh").symlink_to(shell)
    path = f"PATH={tmp_path}:{os.environ['PATH']}"
    opened = open_session("local", Prefixed(("env", path)))
    yield opened
    opened.close()
    assert gone(opened.folder)


@pytest.fixture
def local() -> Iterator[Session]:
    opened = open_session("local", Prefixed())
    yield opened
    opened.close()
    assert gone(opened.folder)


def test_it_is_what_the_contract_says(local: Session) -> None:
    endpoint: Endpoint = local
    started: Started = local.start(["true"], seconds=5)
    assert endpoint.url == "local"
    assert started.wait(5).code == 0


def test_a_program_is_run_to_its_end(session: Session) -> None:
    ran = session.run(["sh", "-c", "printf out; printf err >&2; exit 3"])
    assert (ran.code, ran.stdout, ran.stderr) == (3, "out", "err")
    assert ran.command == ("sh", "-c", "printf out; printf err >&2; exit 3")
    assert ran.endpoint == "local"
    assert 0 < ran.seconds < 30


def test_words_arrive_as_they_are(session: Session) -> None:
    words = ["", "a b", "$HOME", "`id`", "'", '"', "\\n", "*", "-n", "--", "ä\n%s", ";reboot"]
    assert session.run(["printf", "<%s>", *words]).stdout == "".join(f"<{w}>" for w in words)


def test_it_is_given_something_to_read(session: Session) -> None:
    assert session.run(["cat"], stdin=b"one\ntwo").stdout == "one\ntwo"
    assert session.run(["cat"]).stdout == ""
    assert session.run(["wc", "-c"], stdin=bytes(200_000)).stdout.strip() == "200000"


def test_a_program_that_is_not_there_is_named(session: Session) -> None:
    ran = session.run(["no-such-program", "-x"])
    assert ran.code == 127
    assert "no-such-program: not found" in ran.stderr


def test_one_that_takes_too_long_is_ended(session: Session) -> None:
    ran = session.run(["sh", "-c", "echo began; sleep 100"], seconds=0.3)
    assert (ran.code, ran.stdout) == (None, "began\n")
    assert ran.seconds < 10


def test_a_signal_is_no_exit_code(session: Session) -> None:
    assert session.run(["sh", "-c", "kill -KILL $$"]).code is None
    assert session.run(["sh", "-c", "exit 255"]).code == 255


def test_one_in_the_background_runs_until_it_is_stopped(session: Session) -> None:
    started = session.start(["sh", "-c", "echo began; exec sleep 100"], seconds=50)
    assert started.running()
    ran = started.stop()
    assert (ran.code, ran.stdout) == (None, "began\n")
    assert not started.running()
    assert started.stop() is ran


def test_one_that_ended_by_itself_says_how(session: Session) -> None:
    started = session.start(["sh", "-c", "exit 4"], seconds=50)
    assert started.wait(20).code == 4
    assert started.stop().code == 4


def test_one_that_is_waited_for_too_short_a_time_is_stopped(session: Session) -> None:
    started = session.start(["sleep", "100"], seconds=50)
    assert started.wait(0.2).code is None
    assert not started.running()


def test_its_time_is_over_there_too(session: Session) -> None:
    ran = session.start(["sleep", "100"], seconds=0.3).wait(20)
    assert ran.code is None
    assert ran.seconds < 15


def test_one_that_will_not_end_is_killed_with_its_children(session: Session) -> None:
    started = session.start(STUBBORN, seconds=50)
    ran = started.wait(0.5)
    assert (ran.code, ran.stdout) == (None, "ready\n")
    until(lambda: not _programs(session), "nothing of it is left")


def test_children_that_left_are_found(session: Session) -> None:
    """By their mark: ``setsid`` takes them out of the group."""
    started = session.start(["sh", "-c", "setsid sleep 99 & sleep 99; exit"], seconds=50)
    until(lambda: len(_programs(session)) == 3, "both sleep")
    started.stop()
    assert not _programs(session)


def test_one_without_its_mark_is_killed_too(session: Session) -> None:
    """By its group; so are those whose environment is not shown, as that of a setuid ``ping``."""
    script = "trap '' TERM; echo $$; while :; do sleep 1; done"
    started = session.start(["env", "-i", "/bin/sh", "-c", script], seconds=50)
    ran = started.wait(0.5)
    assert ran.code is None
    assert not Path("/proc", ran.stdout.strip(), "exe").exists()


def test_the_others_go_on(local: Session) -> None:
    started = [local.start(["sleep", "99"], seconds=50) for _ in range(11)]
    started[0].stop()
    assert [one.running() for one in started] == [False] + [True] * 10


def test_children_end_with_their_parent(session: Session) -> None:
    assert session.run(["sh", "-c", "sleep 99 & exit 0"]).code == 0
    until(lambda: not _programs(session), "the child is gone")


def test_files_are_kept_in_a_private_folder(session: Session) -> None:
    data = bytes(range(256)) * 400
    path = session.put("queries.txt", data)
    assert Path(path).read_bytes() == data
    assert stat.S_IMODE(Path(session.folder).stat().st_mode) == 0o700
    session.put("queries.txt", b"")
    assert Path(path).read_bytes() == b""


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc/passwd", "-n", "a b", ".hidden"])
def test_a_name_is_the_name_of_one_file(local: Session, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a file"):
        local.put(name, b"")


def test_everything_is_gone_after_closing(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    server_command = ["iperf3", "-s", "-p", str(port)]
    session.put("file", b"x")
    session.start(server_command, seconds=100)
    session.start(STUBBORN, seconds=100)
    until(lambda: listens(port), "the server listens")
    session.close()
    session.close()
    assert gone(session.folder)
    assert not listens(port)


def test_after_closing_nothing_works(local: Session) -> None:
    local.close()
    with pytest.raises(EndpointError, match=r"^local: what was begun there is gone"):
        local.run(["true"])


def test_long_output_arrives_whole(session: Session) -> None:
    command = "head -c 1500000 /dev/zero | tr '\\0' a; head -c 600000 /dev/zero | tr '\\0' b >&2"
    ran = session.run(["sh", "-c", command])
    assert ran.stdout == "a" * 1_500_000
    assert ran.stderr == "b" * 600_000


def test_output_without_end_is_bounded(local: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "OUTPUT_MAX", 100_000)
    with pytest.raises(EndpointError, match=r"^local: head printed more than \d+ MiB$"):
        local.run(["head", "-c", "100000", "/dev/zero"])


def test_the_disk_is_not_filled(local: Session) -> None:
    with pytest.raises(EndpointError, match=r"^local: cat printed more than 64 MiB$"):
        local.run(["cat", "/dev/zero"])
    sizes = [path.stat().st_size for path in Path(local.folder).glob("*.out")]
    assert sizes == [program.OUTPUT_MAX]


def test_bytes_that_are_no_text_are_replaced(local: Session) -> None:
    assert local.run(["printf", r"a\377b"]).stdout == "a\ufffdb"


def test_two_sessions_are_used_from_two_threads() -> None:
    said: dict[str, list[str]] = {}

    def work(name: str) -> None:
        opened = open_session(name, Prefixed())
        said[name] = [opened.run(["echo", f"{name} {n}"]).stdout for n in range(10)]
        opened.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert said == {name: [f"{name} {n}\n" for n in range(10)] for name in ("one", "two")}


def test_it_is_closed_while_another_thread_waits(local: Session) -> None:
    """Which hears of its program's end, or that the session is gone."""
    ended: list[object] = []

    def work() -> None:
        try:
            ended.append(local.run(["sleep", "50"], seconds=60).code)
        except EndpointError as error:
            ended.append(str(error).partition(":")[0])

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: _programs(local), "it runs")
    local.close()
    thread.join(30)
    assert ended in ([None], ["local"])


def test_a_place_without_setsid_will_do() -> None:
    """Children are found by their mark alone; here ``setsid`` is hidden from the keeper."""
    setsid = shutil.which("setsid")
    if os.getuid() != 0 or setsid is None or shutil.which("unshare") is None:
        not_run("tests", "to hide setsid takes root and util-linux")
    hide = ("unshare", "-m", "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', setsid)
    session = open_session("local", Prefixed(hide))
    assert session.run(["sh", "-c", "command -v setsid"]).code != 0
    assert session.run(["no-such-program"]).code == 127
    assert session.run(["sleep", "100"], seconds=0.3).code is None
    assert session.start(["sleep", "100"], seconds=0.3).wait(20).code is None
    started = session.start(["sh", "-c", "sleep 99 & sleep 99; exit"], seconds=50)
    until(lambda: len(_programs(session)) == 3, "both sleep")
    started.stop()
    assert not _programs(session)
    session.start(STUBBORN, seconds=100)
    session.close()
    assert gone(session.folder)


def _programs(session: Session) -> list[int]:
    return marked(session.folder, "program")
