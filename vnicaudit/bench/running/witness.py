"""A check of a path right after a failed run, from sources that took no part in the run.

A TCP connection of vnicaudit's own says most of a run over TCP: it does what the run does, with
none of its tools. It carries 64 KiB both ways, as large segments may be what does not get through.
For a run over UDP, the target sends datagrams of its own back: if they arrive and no query was
answered, the server is down, and not the path. Python at both ends does both; without it, and for
other runs, ping tells if packets get through. If that gives no answer (it is not installed, or a
firewall drops it), two more can tell: the peer's neighbour table (ARP; for IPv6 neighbour
discovery), if the target is on a link of the peer, and the counters of the target's NIC, if the
target can be reached in another way (a guest's agent).
"""

from __future__ import annotations

import re

from vnicaudit.bench.contract import Ends, Transport, readable
from vnicaudit.bench.engines._programs.listening import ports, start_server
from vnicaudit.bench.guards.ping import Pinged, pinged
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Witness

_ECHO_REQUESTS = 3
"""Number of echo requests, one of which must be answered."""
_FRESH_SECONDS = 5
"""An address that was confirmed longer ago says nothing about this run."""

# ip/ipneigh.c of iproute2, print_cacheinfo and print_neigh_state
_NEIGHBOUR = re.compile(
    r" used \d{1,10}/(?P<confirmed>\d{1,10})/\d{1,10} ?probes \d{1,10} (?P<state>[A-Z]+) *$",
    re.MULTILINE,
)
_UNRESOLVED = ("FAILED", "INCOMPLETE")

_SECONDS = 5
_LISTENER = """
import socket, sys
port, longest = int(sys.argv[1]), int(sys.argv[3])
def bound(kind):
    try:
        door = socket.socket(socket.AF_INET6, kind)
        door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        door.bind(("::", port))
    except OSError:
        door = socket.socket(socket.AF_INET, kind)
        door.bind(("", port))
    return door
mail = bound(socket.SOCK_DGRAM)
door = bound(socket.SOCK_STREAM)
door.listen(1)
while sys.argv[2] == "udp":
    said, sender = mail.recvfrom(2048)
    mail.sendto(said, sender)
door.settimeout(60)
line = door.accept()[0]
line.settimeout(longest)
left = 65536
while left:
    got = len(line.recv(left))
    if not got:
        sys.exit(1)
    left -= got
line.sendall(bytes(65536))
"""
_CALLER = """
import socket, sys
host, port, longest = sys.argv[1], int(sys.argv[3]), int(sys.argv[4])
try:
    if sys.argv[2] == "udp":
        family, kind, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        mail = socket.socket(family, kind)
        mail.connect(where)
        mail.settimeout(1)
        for _ in range(longest):
            try:
                mail.send(bytes(512))
                mail.recv(2048)
                sys.exit(0)
            except socket.timeout:
                pass
        sys.exit(3)
    line = socket.create_connection((host, port), longest)
    line.sendall(bytes(65536))
    left = 65536
    while left:
        got = len(line.recv(left))
        if not got:
            sys.exit(3)
        left -= got
except OSError:
    sys.exit(3)
"""
_NOTHING = 3


def witness_of(opened: OpenedArm, transport: Transport = "") -> Witness:
    """The state of the path now, in about 3 s at most, with the ``transport`` of the run in 10."""
    answered, detail = _ping(opened.ends)
    carried = _carried(opened.ends, transport) if transport else None
    return Witness(
        answered,
        detail,
        _resolved(opened.ends),
        carried if transport == "tcp" else None,
        opened.watch.target_counted,
        carried if transport == "udp" else None,
    )


def _carried(ends: Ends, transport: Transport) -> bool | None:
    """True if data went both ways, False if not; None: it could not be tried."""
    bound = str(_SECONDS)
    try:
        server, port = start_server(
            ends.target,
            lambda port: [("python3", "-c", _LISTENER, str(port), transport, bound)],
            ports(ends.seed, ""),
            seconds=6 * _SECONDS,
        )
        try:
            called = ("python3", "-c", _CALLER, ends.address, transport, str(port), bound)
            code = ends.peer.run(called, seconds=4 * _SECONDS).code
        finally:
            server.stop()
    except (EndpointError, MeasureError):
        return None
    return {0: True, _NOTHING: False}.get(-1 if code is None else code)


def _ping(ends: Ends) -> tuple[bool | None, str]:
    try:
        with readable("what ping printed"):
            found = pinged(ends, _ECHO_REQUESTS)
    except (EndpointError, MeasureError) as error:
        return None, str(error)
    if not isinstance(found, Pinged):
        return None, found
    return found.received > 0, f"{found.received} of {found.sent} answered"


def _resolved(ends: Ends) -> bool | None:
    """True if the peer has just heard from the NIC that has the address, False if it asks in vain;
    None: unknown, as with a router between them."""
    try:
        ran = ends.peer.run(("ip", "-s", "-o", "neigh", "show", "to", ends.address))
    except EndpointError:
        return None
    return parse_neighbour(ran.stdout) if ran.code == 0 else None


def parse_neighbour(text: str) -> bool | None:
    """The state in the output of ``ip -s -o neigh show to ADDRESS``: see :func:`_resolved`."""
    entries = list(_NEIGHBOUR.finditer(text))
    if len(entries) != 1:
        return None
    (entry,) = entries
    if entry["state"] in _UNRESOLVED:
        return False
    fresh = int(entry["confirmed"]) <= _FRESH_SECONDS
    return True if entry["state"] == "REACHABLE" and fresh else None
