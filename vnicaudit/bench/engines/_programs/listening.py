"""Servers that listen on a port: bound to the address that they are reached by, where possible,
started on a free port, and waited for."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address

from vnicaudit.bench.contract import Endpoint, StartedProgram, one_line
from vnicaudit.errors import MeasureError, NoTrafficError, UsageError
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
"""Arguments: the text that a line of /proc/net/tcp has when the port is open, and how often to
check."""


def ports(seed: int, wanted: str) -> tuple[int, ...]:
    """Ports to try: the wanted one, or some random ones."""
    if wanted:
        return (int(wanted),)
    return tuple(random.Random(seed).sample(_PORTS, _PORTS_TRIED))  # noqa: S311  (no secret)


def start_server(
    endpoint: Endpoint,
    commands: Callable[[int], Sequence[tuple[str, ...]]],
    tried: Sequence[int],
    *,
    seconds: float,
) -> tuple[StartedProgram, int]:
    """A server that listens, and its port. ``commands``: port -> commands that may start it, the
    best one first. Raises MeasureError if none of them works on any port."""
    last: Ran | None = None
    for port, argv in ((each, argv) for each in tried for argv in commands(each)):
        if listens(endpoint, port, tries=1):
            continue
        server = endpoint.start(argv, seconds=seconds)
        if listens(endpoint, port, tries=_LONGEST_WAIT) and server.running():
            return server, port
        last = server.stop()
    raise MeasureError(_failure(commands(tried[0])[0][0], endpoint, tried, last))


_NO_WAY = re.compile(
    r"timed out|refused|unreachable|no route to host|nothing came or went"
    r"|did not answer in time",
    re.IGNORECASE,
)
"""Words of clients, and of the system, for a server that was not reached or does not answer."""


def client_error(said: str) -> MeasureError:
    """The error for a client with this message: NoTrafficError if it did not reach its server."""
    return NoTrafficError(said) if _NO_WAY.search(said) else MeasureError(said)


def listens(endpoint: Endpoint, port: int, *, tries: int) -> bool:
    """True if a TCP port of the endpoint is open (Documentation/networking/proc_net_tcp.rst; 0A is
    TCP_LISTEN)."""
    line = f":{port:04X} [0-9A-F]*:[0-9A-F]* 0A "
    return endpoint.run(("sh", "-c", _WAIT, "wait", line, str(tries))).code == 0


def _failure(program: str, endpoint: Endpoint, tried: Sequence[int], last: Ran | None) -> str:
    if last is None:
        return f"port {', '.join(map(str, tried))} of {endpoint.url} is in use"
    reason = _last_line(last)
    return f"{program} does not listen on {endpoint.url}" + (f": {reason}" if reason else "")


def _last_line(ran: Ran) -> str:
    return one_line(ran.stderr.strip() or ran.stdout, last=True)


def require_none(workload: Workload, problems: Iterable[str]) -> None:
    """Raises UsageError with the first problem of a workload, if there is one."""
    for problem in problems:
        raise UsageError(f"{workload.id}: {problem}")


def number_problems(
    workload: Workload,
    engine: str,
    known: Mapping[str, tuple[int, int]],
    others: Sequence[str] = (),
) -> Iterator[str]:
    """Problems with options: unknown to the engine, or not a number in range. ``known``: option ->
    the least and the largest number; ``others``: options that are not numbers."""
    for name, value in workload.options.items():
        if name in others:
            continue
        if name not in known:
            yield f"{engine} has no option {name!r}; it has {', '.join((*known, *others))}"
            continue
        low, high = known[name]
        if not re.fullmatch(r"[0-9]{1,8}", value) or not low <= int(value) <= high:
            yield f"{name}: {value!r} is not a number from {low} to {high}"
