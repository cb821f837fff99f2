"""The client's end: orders the runs, and prints the results."""

import argparse
import json
import socket

from .task import CONTROL, DATA, PATIENCE, Failure, Task, line_of
from .worker import Report
from .workers import Workers


def measure(options: argparse.Namespace) -> Report:
    """Run a task against a server; returns the counts of both ends."""
    task = Task(**{name: getattr(options, name) for name in Task._fields}).checked()
    control = connection_to(options, CONTROL)
    control.sendall(json.dumps(dict(task._asdict())).encode() + b"\n")
    expect(control, b"accepted")
    socks = [connection_to(options, DATA) for _ in range(task.connections)]
    expect(control, b"ready")
    processes = Workers(task, "client")
    try:
        control.sendall(b"start\n")
        processes.start(socks, control)
        workers, line = processes.reports(control)
        # the load continues until the server's window is over too
        there = json.loads(line_of(control, line, PATIENCE).decode())
    finally:
        processes.end()
    if any(worker["lost"] for worker in there["workers"]):
        raise Failure("a connection was lost")
    counts = merged_counts(workers)
    return {"counts": counts, "client": workers, "server": there["workers"]}


def connection_to(options: argparse.Namespace, kind: bytes) -> socket.socket:
    """A connection to the server, with its token sent."""
    try:
        sock = socket.create_connection((options.connect, options.port), PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(options.token.encode() + kind)
    except OSError as error:
        raise Failure(f"cannot connect: {error}") from error
    return sock


def expect(control: socket.socket, word: bytes) -> None:
    """Require that the server's next word is this one."""
    if line_of(control, b"", 2 * PATIENCE) != word:
        raise Failure("the server speaks another language")


def merged_counts(workers: "list[Report]") -> "list[list[int]]":
    """Take the latencies out of the reports; returns one histogram of all, as pairs of value and
    count."""
    counts: dict[int, int] = {}
    for worker in workers:
        for bucket, count in worker.pop("counts", ()):
            counts[bucket] = counts.get(bucket, 0) + count
    return [[bucket, counts[bucket]] for bucket in sorted(counts)]
