"""Both roles of the generator's program, as processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.bench.clearest import clearest

_PATIENCE = 120.0


class Roles:
    """A server that listens on 127.0.0.1, and the clients that are begun. All end with it.
    ``program``: what begins their command lines. ``token``: what the server has drawn."""

    def __init__(
        self,
        folder: Path,
        *,
        program: Sequence[str],
        deadline: float = 60,
        port: int = 0,
    ) -> None:
        self._program = program
        self.port_file = folder / "port"
        self.clients: list[subprocess.Popen[bytes]] = []
        self._folder = folder
        words = ["--deadline", str(deadline), "--listen", "127.0.0.1"]
        # first who waits for the file: a server that nobody comes to takes it away again
        asked = self._start("port", str(self.port_file))
        self.server = self._start(
            "server", *words, "--port", str(port), "--port-file", str(self.port_file)
        )
        told = asked.communicate(timeout=_PATIENCE)[0].decode().split()
        self.port, self.token = int(told[0]), "".join(told[1:])

    def shown(self, token: str) -> tuple[str, ...]:
        """A token, as it stands on a command line."""
        return sealed_for_one_run(self._program, self._folder, token)

    def client(
        self, *words: str, token: str | None = None, mode: str = "rr"
    ) -> subprocess.Popen[bytes]:
        """A client, begun."""
        argv = [
            *self.shown(self.token if token is None else token),
            "--deadline",
            "60",
            "--connect",
            "127.0.0.1",
        ]
        argv += ["--port", str(self.port), "--mode", mode, "--size", "200"]
        argv += ["--answer", "1000"]
        self.clients.append(self._start("client", *argv, *words))
        return self.clients[-1]

    def stranger(self) -> socket.socket:
        """A connection that has not said anything."""
        return socket.create_connection(("127.0.0.1", self.port), _PATIENCE)

    def _start(self, *argv: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._program, *argv],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def __enter__(self) -> Roles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (self.server, *self.clients):
            if group_lives(process):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(_PATIENCE)
            if process.stdout is not None:
                process.stdout.close()


_numbers = count()


def sealed_for_one_run(program: Sequence[str], folder: Path, token: str) -> tuple[str, ...]:
    """A token, as it stands on a client's command line: with a key that the client's end drew."""
    path = folder / f"key.{next(_numbers)}"
    argv = [*program, "key", str(path)]
    key = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return "--key", str(path), "--sealed", f"{int(token, 16) ^ int(key, 16):032x}"


def least_excess(
    folder: Path,
    excess: Callable[[Any], float],
    *words: str,
    mode: str,
    program: Sequence[str],
) -> float:
    """By how much more than it may what was counted differs: of several runs, the least, for a
    machine that is busy at the beginning or at the end of a window counts others."""
    folders = (folder / str(number) for number in count())

    def run() -> Any:
        own = next(folders)
        own.mkdir()
        with Roles(own, program=program) as roles:
            result = result_of(roles.client(*words, mode=mode))
        assert result["error"] == ""
        return result

    return clearest(run, excess, 0)


def counted_apart(result: Any) -> float:
    """By how much more than it may what both ends counted differs: each has a window of its own,
    which begins when it hears of it."""
    answered = sum(worker["transactions"] for worker in result["client"])
    assert answered == sum(times for _, times in result["counts"])
    if not answered:  # a machine that stalls all that time
        return float("inf")
    assert sum(worker["bytes"] for worker in result["client"]) == answered * 1200
    there = sum(worker["transactions"] for worker in result["server"])
    return float(abs(there - answered) - max(0.05 * answered, 50))


def stand_still(roles: Roles, client: subprocess.Popen[bytes]) -> None:
    """Both ends for longer than they wait for each other, as on a machine that stalls. The client
    has read all answers before, and goes on before its server: it looks, and nothing has come."""
    os.killpg(roles.server.pid, signal.SIGSTOP)
    time.sleep(0.5)
    os.killpg(client.pid, signal.SIGSTOP)
    time.sleep(6)
    os.killpg(client.pid, signal.SIGCONT)
    time.sleep(1)
    os.killpg(roles.server.pid, signal.SIGCONT)


@contextmanager
def at_work(folder: Path, *words: str, program: Sequence[str]) -> Iterator[Roles]:
    """Both roles, when each of four connections has its thread at both ends. A machine that stalls
    while they meet ends them before: several pairs are begun then."""
    for number in range(8):
        own = folder / f"pair.{number}"
        own.mkdir()
        with Roles(own, program=program) as roles:
            ends = (roles.server, roles.client("--connections", "4", *words))
            until(partial(_met_or_ended, ends))
            if not _ended(ends):
                yield roles
                return
    raise AssertionError("no pair came to work")


def _met_or_ended(ends: Sequence[subprocess.Popen[bytes]]) -> bool:
    return _ended(ends) or all(threads(end) == 5 for end in ends)


def _ended(ends: Sequence[subprocess.Popen[bytes]]) -> bool:
    return any(end.poll() is not None for end in ends)


def threads(process: subprocess.Popen[bytes]) -> int:
    return len(os.listdir(f"/proc/{process.pid}/task"))


def error_of_nobody(folder: Path, program: Sequence[str]) -> str:
    """Why a server ends that no client comes to. Its deadline is so short that a machine which
    stalls may reach that first: several are asked then."""
    for number in range(8):
        own = folder / str(number)
        own.mkdir()
        with Roles(own, program=program, deadline=3) as roles:
            error = str(result_of(roles.server)["error"])
            assert not listens(roles.port)
        if error != "it took too long":
            break
    return error


def result_of(process: subprocess.Popen[bytes]) -> Any:
    """The line it ends with."""
    text = process.communicate(timeout=_PATIENCE)[0].decode()
    assert text.count("\n") == 1
    return json.loads(text)


def group_lives(process: subprocess.Popen[bytes]) -> bool:
    """Whether any process of its group is left."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def listens(port: int) -> bool:
    """Whether anybody listens on a TCP port of this machine."""
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    lines = [line.split() for path in tables for line in path.read_text().splitlines()[1:]]
    return any(line[3] == "0A" and line[1].endswith(f":{port:04X}") for line in lines)


def until(fact: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    deadline = time.monotonic() + _PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
