"""Two network namespaces and two lines between them, for what goes another way than it should."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import NamedTuple

from tests.adapters import open_endpoint
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.session import EndpointSession

_SEND = """
import socket, sys
address, count = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as line:
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    for _ in range(count // 1000):
        line.sendto(bytes(1000), (address, 9))
"""


class TwoLinks(NamedTuple):
    """The target has 192.0.2.1 on ``eth0`` and 198.51.100.1 on ``eth1``, the peer .2 of both."""

    target: EndpointSession
    peer: EndpointSession
    names: tuple[str, str]

    def ends(self, address: str) -> Ends:
        return Ends(self.target, self.peer, address)

    def at_target(self, words: str) -> None:
        """Change something by ``ip``."""
        _ip(self.names[0], words)

    def at_peer(self, words: str) -> None:
        """Change something by ``ip``."""
        _ip(self.names[1], words)

    def send(self, address: str, count: int) -> None:
        """Have the peer send so many bytes; nobody has to take them."""
        _send(self.names[1], address, count)

    def send_at_target(self, address: str, count: int) -> None:
        """Have the target send so many bytes."""
        _send(self.names[0], address, count)


@contextmanager
def two_links() -> Iterator[TwoLinks]:
    """Made, and gone afterwards."""
    if os.getuid() != 0 or shutil.which("ip") is None:
        not_run("tests", "network namespaces need root and iproute2")
    names = (f"vnl{os.getpid()}a", f"vnl{os.getpid()}b")
    with ExitStack() as stack:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
            _ip(name, "link set lo up")
        for nic, network in (("eth0", "192.0.2"), ("eth1", "198.51.100")):
            _ip(names[0], f"link add {nic} type veth peer name {nic} netns {names[1]}")
            for number, name in enumerate(names, 1):
                _ip(name, f"addr add {network}.{number}/24 dev {nic}")
                _ip(name, f"link set {nic} up")
        target, peer = (
            stack.enter_context(closing(open_endpoint(f"netns://{name}"))) for name in names
        )
        yield TwoLinks(target, peer, names)


def _ip(name: str, words: str) -> None:
    subprocess.run(["ip", "-n", name, *words.split()], check=True)


def _send(name: str, address: str, count: int) -> None:
    argv = ["ip", "netns", "exec", name, sys.executable, "-c", _SEND, address, str(count)]
    subprocess.run(argv, check=True)
