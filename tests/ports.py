"""Ports of this machine on which nobody listens."""

import random
import socket
from contextlib import suppress

_RANGE = range(10000, 20000)
"""Below those that Linux gives to connections, which would take one before its server does
(net.ipv4.ip_local_port_range), and below those that engines draw."""
_TRIES = 100


def free_port() -> int:
    """One that is free for TCP and UDP now. It is drawn by chance: each process of pytest draws
    others."""
    for port in random.SystemRandom().sample(_RANGE, _TRIES):
        with (
            suppress(OSError),
            socket.create_server(("127.0.0.1", port)),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        ):
            udp.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
