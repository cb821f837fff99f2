"""The server's end: serves one client, and ends."""

import argparse
import json
import os

from .accepting import AcceptSocket
from .task import CONTROL, DATA, PATIENCE, Failure, Task, clock, line_of, ready_of
from .worker import Report
from .workers import Workers


def serve(options: argparse.Namespace) -> Report:
    """Counts of the workers, and how many unknown clients were refused."""
    deadline = clock() + options.deadline
    try:
        listening = AcceptSocket(options.listen, options.port, options.token.encode())
    except (Failure, OSError):
        tell_port(options.port_file, 0)
        raise
    try:
        tell_port(options.port_file, listening.listener.getsockname()[1])
        return served_client(listening, deadline)
    finally:
        listening.close()
        if os.path.exists(options.port_file):
            os.remove(options.port_file)


def served_client(listening: AcceptSocket, deadline: float) -> Report:
    """Wait for the client and run its task. The port is closed while the task runs."""
    control = listening.admit(CONTROL, 1, deadline)[0]
    control.settimeout(PATIENCE)
    task = Task(**json.loads(line_of(control, b"", PATIENCE).decode())).checked()
    control.sendall(b"accepted\n")
    socks = listening.admit(DATA, task.connections, clock() + 2 * PATIENCE, control)
    listening.close()
    control.sendall(b"ready\n")
    if line_of(control, b"", PATIENCE) != b"start":
        raise Failure("the client did not start")
    processes = Workers(task, "server")
    try:
        processes.start(socks, control)
        report = {"workers": processes.reports(control)[0], "refused": listening.refused}
        control.sendall(json.dumps(report).encode() + b"\n")
        ready_of([control], clock() + 2 * PATIENCE)  # the client closes it
        return report
    finally:
        processes.end()


def tell_port(path: str, port: int) -> None:
    """Write the port to a file, which appears only when it is complete. 0: there is no port."""
    with open(path + ".new", "w") as file:
        file.write(f"{port}\n")
    os.rename(path + ".new", path)
