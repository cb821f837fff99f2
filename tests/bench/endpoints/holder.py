"""Holds a session until it is ended: ``python -m tests.bench.endpoints.holder URL LEASE PORT``.

Prints the session's folder when a server listens on that port of it, beside a program that does not
want to end; then waits in the middle of a command.
"""

import sys
from contextlib import closing

from tests.adapters import open_endpoint


def main(url: str, lease: str, port: str) -> None:
    """Hold it."""
    with closing(open_endpoint(url, lease=float(lease))) as session:
        session.start(["sh", "-c", "trap '' TERM; while :; do sleep 0.2; done"], seconds=600)
        session.start(["iperf3", "-s", "-p", port], seconds=600)
        print(session.folder, flush=True)
        session.run(["sleep", "600"], seconds=600)


if __name__ == "__main__":
    main(*sys.argv[1:])
