"""Servers that listen on a port: bound to the address that they are reached by, where possible,
started on a free port, and waited for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint, StartedProgram
from vnicaudit.errors import MeasureError, UsageError
from vnicaudit.model.measurement import Ran, Workload


def is_literal(address: str) -> bool:
    """True for an address that means the same at both ends: neither a name nor one with a zone."""
    try:
        ip_address(address)
    except ValueError:
        return False
    return "%" not in address


_PORTS = range(20000, 30000)
"""Below the range that Linux assigns to connections (net.ipv4.ip_local_port_range)."""
_PORTS_TRIED = 3
_LISTEN = 10.0
"""Seconds within which a server must listen."""
_TENTHS = 5
"""Tenths of a second for which an end checks that, before it is asked if the server still runs."""

_WAIT = """\
n=0
while [ "$n" -lt "$2" ]; do
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "$1" && exit 0
    n=$((n + 1))
    sleep 0.1 2>/dev/null || sleep 1
done
exit 1
"""
"""Arguments: the text that a line of /proc/net/tcp has when the port is open, and how often to
check."""


def ports(seed: int, wanted: str) -> tuple[int, ...]:
    """Ports to try: the wanted one, or some random ones."""
    if wanted:
        return (int(wanted),)
    return tuple(random.Random(seed).sample(_PORTS, _PORTS_TRIED))  # noqa: S311  (no secret)


def last_line(ran: Ran) -> str:
    """The last line of a program's errors, or of its output if there are none."""
    return one_line(ran.stderr.strip() or ran.stdout, last=True)


def start_server(
    endpoint: Endpoint,
    commands: Callable[[int], Sequence[tuple[str, ...]]],
    tried: Sequence[int],
    *,
    seconds: float,
    reason: Callable[[Ran], str] = last_line,
) -> tuple[StartedProgram, int]:
    """A server that listens, and its port. ``commands``: port -> commands that may start it, the
    best one first; ``reason``: why one that ended did so. Raises MeasureError if none of them works
    on any port."""
    last: Ran | None = None
    for port, argv in ((each, argv) for each in tried for argv in commands(each)):
        if listens(endpoint, port, tries=1):
            continue
        server = endpoint.start(argv, seconds=seconds)
        until = time.monotonic() + _LISTEN
        while server.running() and time.monotonic() < until:
            if listens(endpoint, port, tries=_TENTHS) and server.running():
                return server, port
        last = server.stop()
    if last is None:
        numbers = ", ".join(map(str, tried))
        raise MeasureError(f"port {numbers} of {endpoint.url} is already in use")
    why = f" after {_LISTEN:g} s" if last.code is None else f": {reason(last)}"
    program = commands(tried[0])[0][0]
    raise MeasureError(f"{program} does not listen on {endpoint.url}{why}".rstrip(": "))


def listens(endpoint: Endpoint, port: int, *, tries: int) -> bool:
    """True if a TCP port of the endpoint is open (Documentation/networking/proc_net_tcp.rst; 0A is
    TCP_LISTEN)."""
    line = f":{port:04X} [0-9A-F]*:[0-9A-F]* 0A "
    return endpoint.run(("sh", "-c", _WAIT, "wait", line, str(tries))).code == 0


Problems = Iterator[tuple[bool, str]]
"""Problems that a workload may have: True if it has this one, and the words for it."""


def refuse_if(workload: Workload, *problems: tuple[bool, str]) -> None:
    """Raises UsageError with the first of these problems that a workload has."""
    for is_one, words in problems:
        if is_one:
            raise UsageError(f"{workload.id}: {words}")
