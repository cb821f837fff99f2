"""The generator's program itself: who is served, what is counted, and that nothing is left."""

import ast
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vermin  # type: ignore[import-untyped]

from tests.bench.generator.roles import (
    TOKEN,
    Roles,
    counted_apart,
    error_of_nobody,
    group_lives,
    least_excess,
    listens,
    result_of,
    stand_still,
    until,
    workers_of,
)
from vnicaudit.bench.generator.packing import packed_generator, sources

_SHORT = ("--connections", "4", "--seconds", "0.15", "--warmup", "0.05")
_LONG = ("--connections", "4", "--seconds", "30")


@pytest.fixture
def roles(tmp_path: Path) -> Iterator[Roles]:
    with Roles(tmp_path) as both:
        yield both


_ENDS = (
    "a worker is gone",
    "a connection was lost",
    "the connections ended before their time",
    "the other end went away",
)
"""Several processes see that one of them is gone, each by what it waits for: whoever is first to
say so."""


def test_both_ends_count_the_same(tmp_path: Path) -> None:
    assert least_excess(tmp_path, counted_apart, *_SHORT, mode="rr") <= 0


def test_nothing_is_left_of_it(roles: Roles) -> None:
    client = roles.client(*_SHORT)
    assert result_of(client)["error"] == ""
    assert result_of(roles.server)["error"] == ""
    assert (client.returncode, roles.server.returncode) == (0, 0)
    assert not group_lives(client)
    assert not group_lives(roles.server)
    assert not listens(roles.port)
    assert not roles.port_file.exists()


def test_nobody_can_connect_while_it_runs(roles: Roles) -> None:
    assert listens(roles.port)
    roles.client(*_LONG)
    workers_of(roles.server)
    assert not listens(roles.port)


@pytest.mark.parametrize("mode", ["rr", "read", "write"])
def test_a_server_that_is_killed_is_an_error(roles: Roles, mode: str) -> None:
    client = roles.client(*_LONG, mode=mode)
    workers_of(client)
    os.killpg(roles.server.pid, signal.SIGKILL)
    assert result_of(client)["error"] in _ENDS
    assert client.returncode == 1
    assert not group_lives(client)


@pytest.mark.parametrize("mode", ["rr", "read", "write"])
def test_a_server_worker_that_is_killed_is_an_error(roles: Roles, mode: str) -> None:
    client = roles.client(*_LONG, mode=mode)
    workers_of(client)
    os.kill(workers_of(roles.server)[0], signal.SIGKILL)
    assert result_of(client)["error"] in _ENDS
    assert result_of(roles.server)["error"] in _ENDS
    assert not group_lives(roles.server)


def test_a_client_worker_that_is_killed_is_an_error(roles: Roles) -> None:
    client = roles.client(*_LONG)
    os.kill(workers_of(client)[0], signal.SIGKILL)
    assert result_of(client)["error"] in _ENDS
    assert not group_lives(client)


@pytest.mark.parametrize("mode", ["rr", "read", "write"])
def test_a_server_ends_when_its_client_is_killed(roles: Roles, mode: str) -> None:
    client = roles.client(*_LONG, mode=mode)
    workers_of(roles.server)
    os.killpg(client.pid, signal.SIGKILL)
    assert result_of(roles.server)["error"] != ""
    assert roles.server.returncode == 1
    assert not group_lives(roles.server)
    assert not listens(roles.port)


def test_workers_end_when_their_server_is_killed_alone(roles: Roles) -> None:
    """SIGKILL gives nobody the time to clean up."""
    client = roles.client(*_LONG)
    workers_of(roles.server)
    roles.server.kill()
    assert result_of(client)["error"] != ""
    until(lambda: roles.server.poll() is not None and not group_lives(roles.server))


def test_workers_end_when_their_client_is_killed_alone(roles: Roles) -> None:
    client = roles.client(*_LONG)
    workers_of(client)
    client.kill()
    assert result_of(roles.server)["error"] != ""
    until(lambda: client.poll() is not None and not group_lives(client))


def test_its_own_standstill_is_no_silence(roles: Roles) -> None:
    client = roles.client("--connections", "4", "--seconds", "8")
    workers_of(client)
    workers_of(roles.server)
    stand_still(roles, client)
    assert result_of(client)["error"] == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_its_workers(roles: Roles, number: signal.Signals) -> None:
    client = roles.client(*_LONG)
    workers_of(roles.server)
    roles.server.send_signal(number)
    assert result_of(roles.server)["error"] == "it was ended"
    assert not group_lives(roles.server)
    assert result_of(client)["error"] != ""
    assert not group_lives(client)


def test_a_client_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    assert error_of_nobody(tmp_path).startswith("the client did not come")


@pytest.mark.parametrize(
    "shown",
    [
        TOKEN[::-1].encode() + b"C",
        TOKEN.encode() + b"X",
        TOKEN.encode() + b"D",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["other token", "unknown purpose", "no control yet", "http"],
)
def test_who_does_not_know_the_token_is_told_nothing(roles: Roles, shown: bytes) -> None:
    with roles.stranger() as stranger:
        stranger.sendall(shown)
        assert _rest(stranger) == b""
    assert result_of(roles.client(*_SHORT))["error"] == ""
    assert result_of(roles.server)["refused"] == 1


def test_a_client_with_another_token_measures_nothing(roles: Roles) -> None:
    client = roles.client(*_SHORT, token=TOKEN[::-1])
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
        control.sendall(TOKEN.encode() + b"C" + _TASK)
        assert control.recv(100) == b"accepted\n"
    assert result_of(roles.server) == {"error": "the client went away"}


_TASK = (
    b'{"mode": "rr", "size": 1, "answer": 1, "connections": 2, "workers": 0, "warmup": 0, '
    b'"seconds": 1, "rate": 0}\n'
)


@pytest.mark.parametrize(
    ("task", "error"),
    [
        (b"{}\n", "TypeError"),
        (b"[" * 4000 + b"\n", "Error"),
        (b"\xff\n", "UnicodeDecodeError"),
        (_TASK.replace(b"rr", b"xx"), "no such mode"),
        (_TASK.replace(b'"size": 1', b'"size": 99999999999'), "a message of no size, or too large"),
        (_TASK.replace(b'"answer": 1', b'"answer": 0'), "a message of no size, or too large"),
        (_TASK.replace(b'"connections": 2', b'"connections": 100000'), "no connections or workers"),
        (_TASK.replace(b'"seconds": 1', b'"seconds": 1e99'), "a time or a rate that cannot be"),
        (_TASK.replace(b'"seconds": 1', b'"seconds": NaN'), "a time or a rate that cannot be"),
        (_TASK.replace(b'"seconds": 1', b'"seconds": "x"'), "TypeError"),
    ],
)
def test_a_task_that_nobody_should_ask_for_is_refused(
    roles: Roles, task: bytes, error: str
) -> None:
    with roles.stranger() as control:
        control.sendall(TOKEN.encode() + b"C" + task)
        assert error in result_of(roles.server)["error"]


def test_a_port_that_is_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with Roles(tmp_path, port=port) as roles:
            assert roles.port == 0
            assert result_of(roles.server) == {"error": f"port {port} is in use"}


def test_a_rate_is_kept_to(tmp_path: Path) -> None:
    def excess(result: Any) -> float:
        excused = sum(worker["late"] + worker["waiting"] for worker in result["client"])
        answered = sum(times for _, times in result["counts"])
        return float(abs(answered - 500) - 0.03 * 500 - excused)

    words = ("--connections", "10", "--seconds", "1", "--warmup", "0.2", "--rate", "500")
    assert least_excess(tmp_path, excess, *words, mode="rr") <= 0


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_stream_keeps_to_its_rate(tmp_path: Path, mode: str) -> None:
    def excess(result: Any) -> float:
        sides = (result["client"], result["server"])
        receiver, sender = sides if mode == "read" else sides[::-1]
        late = sum(side["late"] for side in sender)
        received = sum(side["bytes"] for side in receiver)
        return float(abs(received - 200 * 1000) - (0.03 * 1000 + late) * 200)

    words = ("--connections", "3", "--seconds", "1", "--warmup", "0.2", "--rate", "1000")
    assert least_excess(tmp_path, excess, *words, mode=mode) <= 0


def test_every_worker_says_how_busy_it_was(roles: Roles) -> None:
    result = result_of(roles.client(*_SHORT, "--workers", "2"))
    assert len(result["client"]) == len(result["server"]) == 2
    for worker in (*result["client"], *result["server"]):
        assert 0 < worker["cpu"] < 1.5
        assert 0 <= worker["kernel"] < 1.5
        assert 0 <= worker["wait"] < 1.5


def test_it_is_the_same_file_every_time() -> None:
    assert packed_generator() == packed_generator()
    assert len(packed_generator()) < 50_000


@pytest.mark.parametrize("name", sources())
def test_python_3_6_understands_it(name: str) -> None:
    """Its syntax, and what it uses of the standard library."""
    text = sources()[name].decode()
    ast.parse(text, feature_version=(3, 6))
    python2, python3 = vermin.detect(text)
    assert python3 is None or python3 <= (3, 6), (python2, python3)


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
