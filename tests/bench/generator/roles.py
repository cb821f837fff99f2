"""Both roles of the generator's program, as processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from vnicaudit.bench.generator.packing import packed_generator
from vnicaudit.bench.generator.program.seal import sealed_token

TOKEN = "0123456789abcdef0123456789abcdef"

_PATIENCE = 120.0


class Roles:
    """A server that listens on 127.0.0.1, and the clients that are begun. All end with it.
    ``program``: what begins their command lines; None: the program in Python."""

    def __init__(
        self,
        folder: Path,
        *,
        program: Sequence[str] | None = None,
        deadline: float = 60,
        port: int = 0,
    ) -> None:
        self._program = program or _program_in_python(folder)
        self.port_file = folder / "port"
        self.clients: list[subprocess.Popen[bytes]] = []
        self._key_file = folder / "key"
        told = self._start("key", str(self._key_file)).communicate(timeout=_PATIENCE)[0]
        self.key = bytes.fromhex(told.decode())
        words = [*self.shown(TOKEN), "--deadline", str(deadline), "--listen", "127.0.0.1"]
        # first who waits for the file: a server that nobody comes to takes it away again
        asked = self._start("port", str(self.port_file))
        self.server = self._start(
            "server", *words, "--port", str(port), "--port-file", str(self.port_file)
        )
        self.port = int(asked.communicate(timeout=_PATIENCE)[0])

    def shown(self, token: str) -> tuple[str, ...]:
        """A token, as it stands on a command line."""
        return "--key", str(self._key_file), "--sealed", sealed_token(self.key, token)

    def client(self, *words: str, token: str = TOKEN, mode: str = "rr") -> subprocess.Popen[bytes]:
        """A client, begun."""
        argv = [*self.shown(token), "--deadline", "60", "--connect", "127.0.0.1"]
        argv += ["--port", str(self.port), "--mode", mode, "--size", "200"]
        argv += ["--answer", "1000" if mode in ("rr", "crr") else "0"]
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


def _program_in_python(folder: Path) -> Sequence[str]:
    path = folder / "program.pyz"
    path.write_bytes(packed_generator())
    return sys.executable, "-I", str(path)


def result_of(process: subprocess.Popen[bytes]) -> Any:
    """The line it ends with."""
    text = process.communicate(timeout=_PATIENCE)[0].decode()
    assert text.count("\n") == 1
    return json.loads(text)


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Its child processes, once there are some: the run is on."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until(lambda: path.read_text() != "")
    return [int(word) for word in path.read_text().split()]


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
