"""Servers of programs that take a port: started on one that is free, and waited for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from vnicaudit.bench.contract import Endpoint, Started
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

_PORTS = range(20000, 30000)
"""Below those that Linux gives to connections (net.ipv4.ip_local_port_range)."""
_PORTS_TRIED = 3
_LONGEST_WAIT = 30
"""Tenths of a second."""

_WAIT = """\
n=0
while [ "$n" -lt "$2" ]; do
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "$1" && exit 0
    n=$((n + 1))
    sleep 0.1 2>/dev/null || sleep 1
done
exit 1
"""
"""Arguments: what a line of /proc/net/tcp has when somebody listens, and how often to look."""


def ports(seed: int, wanted: str) -> tuple[int, ...]:
    """Ports to try: the one that is wanted, or some by chance."""
    if wanted:
        return (int(wanted),)
    return tuple(random.Random(seed).sample(_PORTS, _PORTS_TRIED))  # noqa: S311  (no secret)


def start_server(
    endpoint: Endpoint,
    commands: Callable[[int], Sequence[tuple[str, ...]]],
    tried: Sequence[int],
    *,
    seconds: float,
) -> tuple[Started, int]:
    """A server that listens, and its port. ``commands``: of a port, those that may start it, the
    best one first. Raises MeasureError where none of them does on any port."""
    last: Ran | None = None
    for port, argv in _attempts(commands, tried):
        if listens(endpoint, port, tries=1):
            continue
        server = endpoint.start(argv, seconds=seconds)
        if listens(endpoint, port, tries=_LONGEST_WAIT) and server.running():
            return server, port
        last = server.stop()
    raise MeasureError(_failure(commands(tried[0])[0][0], tried, last))


def listens(endpoint: Endpoint, port: int, *, tries: int) -> bool:
    """Whether somebody listens on a TCP port there (Documentation/networking/proc_net_tcp.rst; 0A
    is TCP_LISTEN)."""
    line = f":{port:04X} [0-9A-F]*:[0-9A-F]* 0A "
    return endpoint.run(("sh", "-c", _WAIT, "wait", line, str(tries))).code == 0


def _attempts(
    commands: Callable[[int], Sequence[tuple[str, ...]]], tried: Sequence[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    for port in tried:
        for argv in commands(port):
            yield port, argv


def _failure(program: str, tried: Sequence[int], last: Ran | None) -> str:
    if last is None:
        return f"port {', '.join(map(str, tried))} is in use"
    said = (last.stderr.strip() or last.stdout.strip()).splitlines()
    return f"{program} does not listen" + (f": {said[-1][:200]}" if said else "")
