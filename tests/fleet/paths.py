"""Ways to a daemon that behave badly, and one through ssh."""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

from tests.bench.endpoints.private_sshd import PrivateSshd
from tests.fleet.daemons import HostsDaemon

_PUMP = """\
#!{python}
import os, select, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect(sys.argv[-1])
while True:
    ready, _, _ = select.select([0, there], [], [])
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            break
        there.sendall(data)
    if there in ready:
        data = there.recv(65536)
        if not data:
            break
        os.write(1, data)
"""


def by_ssh(daemon: HostsDaemon, sshd: PrivateSshd, number: int) -> str:
    """The URI of a host through an sshd, with that one's own keys and configuration."""
    pump = sshd.folder / "pump"
    pump.write_text(_PUMP.format(python=sys.executable))
    pump.chmod(0o755)
    ssh = sshd.folder / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec ssh -F {sshd.folder}/config "$@"\n')
    ssh.chmod(0o755)
    query = f"command={quote(str(ssh))}&proxy=netcat&netcat={quote(str(pump))}"
    path = f"{daemon.file(number)}?socket={daemon.socket}&{query}"
    return f"test+ssh://127.0.0.1:{sshd.port}{path}"


@contextmanager
def mute_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


class Gate:
    """A proxy that hands on nothing before it is opened. ``callers``: connections so far."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._opened = threading.Event()
        self.port: int = self._server.getsockname()[1]
        self.callers = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def open(self) -> None:
        """Hand on all that comes, and what waits."""
        self._opened.set()

    def close(self) -> None:
        """Take no more connections."""
        self._opened.set()
        self._server.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                here, _address = self._server.accept()
                self.callers += 1
                threading.Thread(target=self._hand_on, args=(here,), daemon=True).start()

    def _hand_on(self, here: socket.socket) -> None:
        self._opened.wait()
        address = ("127.0.0.1", self._target)
        with here, suppress(OSError), socket.create_connection(address) as there:
            back = threading.Thread(target=_pump_to_the_end, args=(there, here), daemon=True)
            back.start()
            _pump_to_the_end(here, there)
            back.join()


@contextmanager
def tiring_proxy(port: int, answers: int, *, closes: bool = False) -> Iterator[int]:
    """A proxy that hands so many bytes of answers on, and then falls silent, or closes the
    connection."""
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_serve, args=(server, port, answers, closes), daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()


def _serve(server: socket.socket, port: int, answers: int, closes: bool) -> None:
    with suppress(OSError):
        while True:
            here, _address = server.accept()
            arguments = (here, port, answers, closes)
            threading.Thread(target=_hand_on_some, args=arguments, daemon=True).start()


def _hand_on_some(here: socket.socket, port: int, answers: int, closes: bool) -> None:
    with here, suppress(OSError), socket.create_connection(("127.0.0.1", port)) as there:
        asking = threading.Thread(target=_pump_to_the_end, args=(here, there), daemon=True)
        asking.start()
        _pump_some(there, here, answers, closes)
        asking.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


def _pump_to_the_end(source: socket.socket, target: socket.socket) -> None:
    """Whoever reads the other end is told that there is no more."""
    _pump(source, target)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def _pump_some(source: socket.socket, target: socket.socket, most: int, closes: bool) -> None:
    with suppress(OSError):
        while data := source.recv(min(most, 65536) or 65536):
            if most <= 0:
                if closes:
                    break
                continue
            most -= len(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
