"""The worker processes of one end."""

import gc
import json
import os
import signal
import socket
from typing import Any, Dict, Type  # noqa: UP035  (Python 3.6)

from .requests import Requester, Responder
from .streams import Receiver, Sender
from .task import PATIENCE, SIGNALS, Failure, Task, clock, ready_of, received_of
from .worker import Report, Worker, deliver

Kinds = Dict[str, Dict[str, Type[Worker]]]  # noqa: UP006  (Python 3.6)
KINDS: Kinds = {
    "client": {"rr": Requester, "read": Receiver, "write": Sender},
    "server": {"rr": Responder, "read": Sender, "write": Receiver},
}


class Workers:
    """Worker processes, and the pipes that their reports come through."""

    def __init__(self, task: Task, side: str) -> None:
        self.task = task
        self.side = side
        self.pids: list[int] = []
        self.pipes: list[int] = []

    def start(self, socks: "list[socket.socket]", control: socket.socket) -> None:
        """Start one process for each share of the connections. In this process, they are closed."""
        start = clock()
        # a signal must not come between starting a process and recording it
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            for number in range(self.task.processes()):
                own = socks[number :: self.task.processes()]
                out, into = os.pipe()
                pid = os.fork()
                if pid == 0:
                    foreign = [control] + [sock for sock in socks if sock not in own]
                    self.work(own, foreign, start, into)
                self.pids.append(pid)
                self.pipes.append(out)
                os.close(into)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for sock in socks:
            sock.close()

    def work(
        self, own: "list[socket.socket]", foreign: "list[socket.socket]", start: float, pipe: int
    ) -> None:
        """The life of a worker process; does not return."""
        try:
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            signal.alarm(int(self.task.warmup + self.task.seconds + 4 * PATIENCE) + 1)
            for sock in foreign:
                sock.close()
            gc.disable()
            kind = KINDS[self.side][self.task.mode]
            kind(self.task, own, start, self.side == "client").run(pipe)
        except Failure as failure:
            deliver(pipe, {"error": str(failure)})
        except Exception as error:  # a bug must not look like a lost worker
            deliver(pipe, {"error": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(0)

    def reports(self, control: socket.socket) -> "tuple[list[Report], bytes]":
        """Reports of the workers, and the bytes received over ``control`` meanwhile."""
        deadline = clock() + self.task.warmup + self.task.seconds + PATIENCE
        line = b""
        said: dict[Any, bytes] = dict.fromkeys(self.pipes, b"")
        while not all(map(complete, said.values())):
            waited: list[Any] = [pipe for pipe in self.pipes if not complete(said[pipe])]
            for ready in ready_of(waited + [control] * (not complete(line)), deadline):
                if ready is control:
                    line += received_of(control, len(line))
                else:
                    said[ready] += os.read(ready, 1 << 16) or b'{"error": "a worker is gone"}\n'
                    refuse_errors(said[ready])
        return [json.loads(text.decode()) for text in said.values()], line

    def end(self) -> None:
        """End all workers."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.pids = []


def complete(text: bytes) -> bool:
    """True for a complete line."""
    return text.endswith(b"\n")


def refuse_errors(text: bytes) -> None:
    """Raises Failure if a worker has failed."""
    if complete(text) and text.startswith(b'{"error"'):
        raise Failure(json.loads(text.decode())["error"])
