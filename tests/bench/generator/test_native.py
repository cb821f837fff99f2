"""The generator itself: who is served, what is counted, and that nothing is left."""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.bench.generator.roles import (
    Roles,
    at_work,
    counted_apart,
    error_of_nobody,
    group_lives,
    least_excess,
    listens,
    result_of,
    sealed_for_one_run,
    stand_still,
    threads,
    until,
)
from tests.not_run import not_run
from tests.ports import free_port
from vnicaudit.bench.engines._rr_command import Pattern, report_of
from vnicaudit.bench.generator import FLAGS, PARTS, source

pytestmark = pytest.mark.alone

_STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
_SHORT = ("--connections", "4", "--seconds", "0.15", "--warmup", "0.05")
_ENDS = (
    "a connection was lost",
    "the connections ended before their time",
    "the other end went away",
)
"""Several threads see that one end is gone, each by what it waits for: whoever is first to say."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """Compiled without a warning."""
    compiler = shutil.which("cc")
    if compiler is None:
        not_run("tests/bench/generator", "there is no C compiler")
    folder = tmp_path_factory.mktemp("native")
    text, binary = folder / "rr.c", folder / "rr"
    text.write_bytes(source())
    subprocess.run([compiler, *FLAGS, *_STRICT, "-o", str(binary), str(text)], check=True)
    return (str(binary),)


@pytest.fixture
def roles(tmp_path: Path, program: Sequence[str]) -> Iterator[Roles]:
    with Roles(tmp_path, program=program) as both:
        yield both


@pytest.fixture
def running(tmp_path: Path, program: Sequence[str]) -> Iterator[Roles]:
    with at_work(tmp_path, "--seconds", "30", program=program) as both:
        yield both


def test_both_ends_count_the_same(tmp_path: Path, program: Sequence[str]) -> None:
    def excess(result: Any) -> float:
        assert len(result["client"]) == len(result["server"]) == 4
        return counted_apart(result)

    assert least_excess(tmp_path, excess, *_SHORT, mode="rr", program=program) <= 0


def test_latencies_fill_the_time_and_keep_three_digits(roles: Roles) -> None:
    """A connection has one request on its way at any time: its latencies add up to the window. At
    each end of the window one is cut: it counts whole, or not at all."""
    words = ("--connections", "1", "--seconds", "0.5", "--warmup", "0.05")
    result = result_of(roles.client(*words))
    (worker,) = result["client"]
    cut = max(worker["max"] / 1e9, worker["oldest"])
    assert worker["sum"] / 1e9 == pytest.approx(0.5, abs=cut + 0.05)
    rounded = sum(bucket * count for bucket, count in result["counts"])
    assert worker["sum"] / (1 + 2**-10) <= rounded <= worker["sum"]
    edges = [bucket for bucket, _ in result["counts"]]
    assert edges == sorted(set(edges))
    assert all(edge == edge >> shift << shift for edge in edges for shift in [_shift(edge)])
    assert _shift(worker["max"]) == _shift(edges[-1])


def test_what_it_prints_is_read(roles: Roles) -> None:
    client = roles.client(*_SHORT)
    text = client.communicate(timeout=120)[0].decode()
    report = report_of(text, Pattern("rr", 200, 1000))
    for worker in (*report.client, *report.server):
        assert 0 < worker.cpu < 1.5
        assert 0 <= worker.kernel < 1.5
        assert 0 <= worker.wait < 1.5


def test_messages_larger_than_a_piece(roles: Roles) -> None:
    words = ("--connections", "1", "--seconds", "0.3", "--size", "300000", "--answer", "600000")
    result = result_of(roles.client(*words))
    (worker,) = result["client"]
    assert worker["bytes"] == worker["transactions"] * 900_000 > 0


def test_many_connections_have_a_thread_each(roles: Roles) -> None:
    result = result_of(roles.client("--connections", "200", "--seconds", "0.5"))
    assert (result["error"], len(result["client"])) == ("", 200)


def test_nothing_is_left_of_it(roles: Roles) -> None:
    client = roles.client(*_SHORT)
    assert result_of(client)["error"] == ""
    served = result_of(roles.server)
    assert (served["error"], served["refused"], len(served["workers"])) == ("", 0, 4)
    assert (client.returncode, roles.server.returncode) == (0, 0)
    assert not group_lives(client)
    assert not group_lives(roles.server)
    assert not listens(roles.port)
    assert not roles.port_file.exists()


def test_nobody_can_connect_while_it_runs(running: Roles) -> None:
    assert not listens(running.port)


def test_a_server_that_is_killed_is_an_error(running: Roles) -> None:
    (client,) = running.clients
    running.server.kill()
    assert result_of(client)["error"] in _ENDS
    assert client.returncode == 1


def test_a_server_ends_when_its_client_is_killed(running: Roles) -> None:
    (client,) = running.clients
    client.kill()
    assert result_of(running.server)["error"] in _ENDS
    assert running.server.returncode == 1
    assert not running.port_file.exists()


def test_silence_is_an_error(running: Roles) -> None:
    """The server is stopped: its connections stay, and nothing comes."""
    (client,) = running.clients
    running.server.send_signal(signal.SIGSTOP)
    assert result_of(client)["error"] == "nothing came or went for 5 s"


def test_its_own_standstill_is_no_silence(tmp_path: Path, program: Sequence[str]) -> None:
    with at_work(tmp_path, "--seconds", "8", program=program) as roles:
        (client,) = roles.clients
        stand_still(roles, client)
        assert result_of(client)["error"] == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it(running: Roles, number: signal.Signals) -> None:
    (client,) = running.clients
    running.server.send_signal(number)
    assert result_of(running.server) == {"error": "it was ended"}
    assert not running.port_file.exists()
    assert result_of(client)["error"] in _ENDS


def test_its_deadline_ends_it(roles: Roles) -> None:
    client = roles.client("--connections", "4", "--seconds", "30", "--deadline", "0.1")
    assert result_of(client) == {"error": "it took too long"}


def test_a_client_that_does_not_come_is_not_waited_for(
    tmp_path: Path, program: Sequence[str]
) -> None:
    error = error_of_nobody(tmp_path, program)
    assert error == "the client did not come, or not with all its connections"


@pytest.mark.parametrize(
    ("token", "more"),
    [
        (lambda token: token[::-1], "C"),
        (str, "X"),
        (str, "D"),
        (lambda _token: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", ""),
    ],
    ids=["other token", "unknown purpose", "no control yet", "http"],
)
def test_who_does_not_know_the_token_is_told_nothing(
    roles: Roles, token: Callable[[str], str], more: str
) -> None:
    with roles.stranger() as stranger:
        stranger.sendall(f"{token(roles.token)}{more}".encode())
        assert _rest(stranger) == b""
    assert result_of(roles.client(*_SHORT))["error"] == ""
    assert result_of(roles.server)["refused"] == 1


def test_a_token_in_pieces_is_read_on(roles: Roles) -> None:
    with roles.stranger() as control:
        for piece in (roles.token[:10], roles.token[10:], "C"):
            control.sendall(piece.encode())
        control.sendall(_TASK)
        assert control.recv(100) == b"accepted\n"


def test_a_client_with_another_token_measures_nothing(roles: Roles) -> None:
    client = roles.client(*_SHORT, token=roles.token[::-1])
    assert result_of(client) == {"error": "the other end went away"}


def test_crowds_of_silent_strangers_keep_nobody_out(roles: Roles) -> None:
    strangers = [roles.stranger() for _ in range(80)]
    try:
        # the 65th and later ones are turned away at once
        assert _rest(strangers[-1]) == b""
        until(lambda: all(map(_finished, strangers)))
        assert result_of(roles.client(*_SHORT))["error"] == ""
        assert result_of(roles.server)["refused"] == 80
    finally:
        for stranger in strangers:
            stranger.close()


def test_half_a_client_is_not_waited_for(roles: Roles) -> None:
    """It asked for connections and went away."""
    with roles.stranger() as control:
        control.sendall(roles.token.encode() + b"C" + _TASK)
        assert control.recv(100) == b"accepted\n"
    assert result_of(roles.server) == {"error": "the client went away"}


_TASK = b"rr 1 1 2 0 1000000000 0\n"


@pytest.mark.parametrize(
    ("task", "error"),
    [
        (b"\n", "the client speaks another language"),
        (b'{"mode": "rr"}\n', "the client speaks another language"),
        (_TASK.replace(b"rr", b"read"), "the client speaks another language"),
        (b"\xff\x00\n", "the client speaks another language"),
        (_TASK[:-1] + b" 1\n", "the client speaks another language"),
        (_TASK.replace(b" 2", b" -2"), "the client speaks another language"),
        (_TASK.replace(b" 2", b"  2"), "the client speaks another language"),
        (_TASK.replace(b" 2", b" 2.5"), "the client speaks another language"),
        (_TASK.replace(b" 2", b" " + b"9" * 19), "the client speaks another language"),
        (b"x" * 60_000, "the other end does not stop talking"),
        (_TASK.replace(b" 1 1 ", b" 99999999999 1 "), "a message of no size, or too large"),
        (_TASK.replace(b" 1 1 ", b" 1 0 "), "a message of no size, or too large"),
        (_TASK.replace(b" 2", b" 0"), "no connections, or too many"),
        (_TASK.replace(b" 2", b" 501"), "no connections, or too many"),
        (_TASK.replace(b" 1000000000", b" 999999999999999999"), "a time that cannot be"),
        (_TASK.replace(b" 1000000000", b" 0"), "a time that cannot be"),
        (_TASK[:-2] + b"999999999999999\n", "a time that cannot be"),
    ],
)
def test_a_task_that_nobody_should_ask_for_is_refused(
    roles: Roles, task: bytes, error: str
) -> None:
    with roles.stranger() as control:
        control.sendall(roles.token.encode() + b"C" + task)
        assert result_of(roles.server) == {"error": error}


@pytest.mark.parametrize(
    ("report", "error"),
    [
        (b"1 2 3 4 5 6\n", "the server speaks another language"),
        (b"1 2 3 4 5 6 7 8\n", "the server speaks another language"),
        (b"x\n", "the server speaks another language"),
        (b"-1 2 3 4 5 6 7\n", "the server speaks another language"),
        (b"9999999999999999999 2 3 4 5 6 7\n", "the server speaks another language"),
        (b"1" * 60_000, "the other end does not stop talking"),
        (b"", "the other end went away"),
    ],
    ids=["short", "long", "text", "below nothing", "too many", "endless", "none"],
)
def test_a_server_that_says_anything_is_refused(
    tmp_path: Path, program: Sequence[str], report: bytes, error: str
) -> None:
    """What answers is not our program, though it was told the token."""
    token = "0123456789abcdef" * 2
    words = [*sealed_for_one_run(program, tmp_path, token)]
    words += ["--deadline", "120", "--connect", "127.0.0.1", "--mode", "rr", "--size", "1"]
    words += ["--answer", "1", "--connections", "1", "--seconds", "0.2"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        words += ["--port", str(server.getsockname()[1])]
        client = subprocess.Popen([*program, "client", *words], stdout=subprocess.PIPE)
        control = server.accept()[0]
        with control:
            assert control.recv(100).startswith(token.encode() + b"C")
            control.sendall(b"accepted\n")
            data = server.accept()[0]
            with data:
                assert data.recv(33) == token.encode() + b"D"
                control.sendall(b"ready\n")
                answering = threading.Thread(target=_answer, args=(data,))
                answering.start()
                control.sendall(report)
                if not report:
                    control.shutdown(socket.SHUT_WR)
                assert result_of(client) == {"error": error}
                answering.join(120)


def test_a_port_that_is_in_use_is_said(tmp_path: Path, program: Sequence[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with Roles(tmp_path, program=program, port=port) as roles:
            assert roles.port == 0
            assert result_of(roles.server) == {"error": f"port {port} is in use"}


def test_a_server_that_is_not_there_is_said(roles: Roles) -> None:
    client = roles.client(*_SHORT, "--port", str(free_port()))
    assert result_of(client) == {"error": "cannot connect: Connection refused"}


def test_a_key_is_used_once(roles: Roles, tmp_path: Path, program: Sequence[str]) -> None:
    words = roles.shown(roles.token)
    assert result_of(roles.client(*_SHORT, *words))["error"] == ""
    assert not Path(words[1]).exists()
    error = "there is no key, or nothing that is sealed"
    assert result_of(roles.client(*_SHORT, *words)) == {"error": error}
    Path(words[1]).write_bytes(bytes(15))
    assert result_of(roles.client(*_SHORT, *words)) == {"error": error}
    del program, tmp_path


def test_each_server_draws_a_token_for_its_user_alone(
    roles: Roles, tmp_path: Path, program: Sequence[str]
) -> None:
    assert roles.port_file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "other").mkdir()
    with Roles(tmp_path / "other", program=program) as other:
        assert len(other.token) == len(roles.token) == 32
        assert other.token != roles.token


def test_a_rate_is_kept_to(tmp_path: Path, program: Sequence[str]) -> None:
    def excess(result: Any) -> float:
        excused = sum(worker["late"] + worker["waiting"] for worker in result["client"])
        answered = sum(times for _, times in result["counts"])
        return float(abs(answered - 500) - 0.03 * 500 - excused)

    words = ("--connections", "10", "--seconds", "1", "--warmup", "0.2", "--rate", "500")
    assert least_excess(tmp_path, excess, *words, mode="rr", program=program) <= 0


def test_a_rate_of_few_requests_ends_in_time(roles: Roles) -> None:
    """A connection has a request every ten seconds: neither end waits for one to see that the
    window is over."""
    words = ("--connections", "20", "--seconds", "1", "--rate", "2")
    result = result_of(roles.client(*words))
    assert result["error"] == ""
    assert 1 <= sum(times for _, times in result["counts"]) <= 3
    assert result_of(roles.server)["error"] == ""


def test_requests_that_wait_for_an_answer_count_from_when_they_were_due(roles: Roles) -> None:
    """The server stands still for a second: what was due meanwhile has waited, on average, for
    half of it."""
    words = ("--connections", "1", "--seconds", "4", "--rate", "100")
    client = roles.client(*words)
    until(lambda: threads(roles.server) == 2)
    time.sleep(1)
    os.kill(roles.server.pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(roles.server.pid, signal.SIGCONT)
    result = result_of(client)
    assert result["error"] == ""
    assert sum(times for latency, times in result["counts"] if latency > 1e8) > 50


def test_a_key_is_made_once_and_for_its_user_alone(tmp_path: Path, program: Sequence[str]) -> None:
    path = tmp_path / "key"
    argv = [*program, "key", str(path)]
    first = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert first.stdout == path.read_bytes().hex() + "\n"
    assert path.stat().st_mode & 0o777 == 0o600
    again = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == "a key cannot be kept: File exists\n"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("serve",),
        ("client",),
        ("client", "--key", "k", "--deadline", "0"),
        ("client", "--key", "k", "--deadline", "nan"),
        ("client", "--deadline", "5"),
        ("client", "--key", "k", "--deadline", "5", "--port", "x"),
        ("client", "--key", "k", "--deadline", "5", "--seconds"),
        ("client", "--key", "k", "--deadline", "5", "--what", "5"),
    ],
)
def test_a_command_line_that_is_none_is_refused(
    words: tuple[str, ...], program: Sequence[str]
) -> None:
    ran = subprocess.run([*program, *words], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1


def test_every_file_is_compiled() -> None:
    """None of the folder is forgotten, and none is there twice."""
    import vnicaudit.bench.generator as module

    folder = Path(module.__file__).parent / "native"
    assert sorted(PARTS) == sorted(path.stem for path in folder.iterdir())
    assert source() == source()
    assert len(source()) < 60_000


def _shift(value: int) -> int:
    return max(value.bit_length() - 11, 0)


def _answer(data: socket.socket) -> None:
    """One byte for each, until the client is gone."""
    with suppress(OSError):
        while got := data.recv(1):
            data.sendall(got)


def _rest(sock: socket.socket) -> bytes:
    """What it was told until it was closed."""
    try:
        return sock.recv(100)
    except ConnectionResetError:
        return b""


def _finished(sock: socket.socket) -> bool:
    sock.settimeout(0.01)
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_each_call_has_a_connection_of_its_own(tmp_path: Path, program: Sequence[str]) -> None:
    """Counted at both ends, and in the kernel's own count of connections that were accepted."""
    accepted = [_passive_opens()]

    def excess(result: Any) -> float:
        accepted.append(_passive_opens())
        answered = sum(worker["transactions"] for worker in result["client"])
        assert accepted[-1] - accepted[-2] >= answered
        return counted_apart(result)

    assert least_excess(tmp_path, excess, *_SHORT, mode="crr", program=program) <= 0


def test_ports_are_held_back_by_the_server_alone(roles: Roles) -> None:
    result = result_of(roles.client("--connections", "1", "--seconds", "0.3", mode="crr"))
    assert result["error"] == ""
    waiting = _time_waits()
    assert sum(local == roles.port for local, _remote in waiting) > 0
    held_by_client = sum(remote == roles.port for _local, remote in waiting)
    assert held_by_client <= 2, "the control connection, and a call that its end cut off"


def test_a_caller_without_the_token_is_not_answered(roles: Roles) -> None:
    client = roles.client("--connections", "2", "--seconds", "60", mode="crr")
    until(lambda: any(local == roles.port for local, _remote in _time_waits()))
    with roles.stranger() as stranger:
        stranger.sendall(b"x" * 33 + b"\0" * 200)
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    assert client.poll() is None, "the run goes on"


def test_a_server_that_is_gone_ends_the_calls(roles: Roles) -> None:
    client = roles.client("--connections", "2", "--seconds", "30", mode="crr")
    until(lambda: any(local == roles.port for local, _remote in _time_waits()))
    os.kill(roles.server.pid, signal.SIGKILL)
    assert result_of(client)["error"] in (
        "a connection was lost",
        "cannot connect: Connection refused",
        "cannot connect: Connection reset by peer",
        "the other end went away",
    )


def _passive_opens() -> int:
    """Connections that the kernel has accepted (proc(5), /proc/net/snmp)."""
    lines = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()]
    names, values = (line for line in lines if line[0] == "Tcp:")
    return int(values[names.index("PassiveOpens")])


def _time_waits() -> list[tuple[int, int]]:
    """Ports, local and remote, of connections in TIME_WAIT."""
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    lines = [line.split() for path in tables for line in path.read_text().splitlines()[1:]]
    return [
        (int(line[1].rpartition(":")[2], 16), int(line[2].rpartition(":")[2], 16))
        for line in lines
        if line[3] == "06"
    ]
