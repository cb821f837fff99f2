"""The command line.

    key F
    server --key F --sealed T --deadline S --port-file F [--listen A] [--port P]
    port F
    client --key F --sealed T --deadline S --connect A --port P --mode rr --size 200
           --answer 1000 --connections 50 --seconds 10 [--warmup 2] [--rate R] [--workers W]

``key`` creates a key file and prints the key; ``--sealed`` is the token in a form that only a
holder of the key can read. ``port`` waits for the server's file and prints the port in it. The
others print their result at the end: one line of JSON, with any failure in its ``error``.
"""

import argparse
import json
import os
import signal
import sys
import time

from .client import measure
from .seal import make_key, token_in
from .server import serve
from .task import PATIENCE, SIGNALS, Failure, clock


def options_of(argv: "list[str]") -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(prog="vnicaudit-rr")
    parser.add_argument("role", choices=("key", "server", "port", "client"))
    parser.add_argument("file", nargs="?", default="")
    for name in ("key", "sealed", "listen", "connect", "port-file", "mode"):
        parser.add_argument("--" + name, default="")
    for name in ("port", "size", "answer", "connections", "workers"):
        parser.add_argument("--" + name, type=int, default=0)
    for name in ("deadline", "warmup", "seconds", "rate"):
        parser.add_argument("--" + name, type=float, default=0.0)
    options = parser.parse_args(argv)
    if options.role in ("server", "client") and not (options.key and options.deadline > 0):
        parser.error("a key, what is sealed by it, and a deadline are needed")
    return options


def port_of(path: str) -> str:
    """Wait for the server's file; returns the port in it, 0 for a server that could not listen."""
    deadline = clock() + 2 * PATIENCE
    while not os.path.exists(path):
        if clock() > deadline:
            raise Failure("the server does not listen")
        time.sleep(0.02)
    with open(path) as file:
        return file.read()


def give_up(number: int, frame: object) -> None:  # noqa: ARG001
    """Handle a signal; SIGALRM is the deadline. Further signals are ignored until everything has
    been stopped."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Failure("it took too long" if number == signal.SIGALRM else "it was ended")


def result_of(options: argparse.Namespace) -> "dict[str, object]":
    """Result of a role, or its error."""
    try:
        options.token = token_in(options.key, options.sealed)
        found = serve(options) if options.role == "server" else measure(options)
        return dict(found, error="")
    except Failure as failure:
        return {"error": str(failure)}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main(argv: "list[str]") -> int:
    """Run one role. 0: success; 1: failure, and the printed line says why."""
    options = options_of(argv)
    if options.role in ("key", "port"):
        tell = port_of if options.role == "port" else make_key
        try:
            sys.stdout.write(tell(options.file))
        except Failure as failure:
            sys.stderr.write(f"{failure}\n")
            return 1
        return 0
    for number in SIGNALS:
        signal.signal(number, give_up)
    signal.alarm(int(options.deadline) + 1)
    result = result_of(options)
    sys.stdout.write(json.dumps(result) + "\n")
    return 1 if result["error"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
