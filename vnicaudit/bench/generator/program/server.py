"""The server's end: serves one client, once, and is gone."""

import argparse
import json
import os

from .crew import Crew
from .door import Door
from .talk import line_of, ready_of
from .task import CONTROL, DATA, PATIENCE, Failure, Task, clock
from .worker import Report


def serve(options: argparse.Namespace) -> Report:
    """What the workers counted, and how many strangers were refused."""
    deadline = clock() + options.deadline
    try:
        door = Door(options.listen, options.port, options.token.encode())
    except (Failure, OSError):
        tell_port(options.port_file, 0)
        raise
    try:
        tell_port(options.port_file, door.listener.getsockname()[1])
        return attended(door, deadline)
    finally:
        door.close()
        if os.path.exists(options.port_file):
            os.remove(options.port_file)


def attended(door: Door, deadline: float) -> Report:
    """Wait for the client and do what it asks for. Nothing listens any more while it is done."""
    control = door.admit(CONTROL, 1, deadline)[0]
    control.settimeout(PATIENCE)
    task = Task(**json.loads(line_of(control, b"", PATIENCE).decode())).checked()
    control.sendall(b"accepted\n")
    socks = door.admit(DATA, task.connections, clock() + 2 * PATIENCE, control)
    door.close()
    control.sendall(b"ready\n")
    if line_of(control, b"", PATIENCE) != b"start":
        raise Failure("the client did not start")
    crew = Crew(task, "server")
    try:
        crew.hire(socks, control)
        report = {"workers": crew.reports(control)[0], "refused": door.refused}
        control.sendall(json.dumps(report).encode() + b"\n")
        ready_of([control], clock() + 2 * PATIENCE)  # the client ends it
        return report
    finally:
        crew.end()


def tell_port(path: str, port: int) -> None:
    """Write the port, so that whoever sees the file sees all of it. 0: there is none."""
    with open(path + ".new", "w") as file:
        file.write(f"{port}\n")
    os.rename(path + ".new", path)
