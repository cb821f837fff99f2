"""Two machines of namespaces, as the nodes of a cluster are joined:

    this machine -- mgmt0 [ A ] eno1 ======= eno1 [ B ] mgmt0 -- this machine
                     br0 + vxlan0 - - eno1 - - vxlan0 + br0        the network of the pods
                             eno2 ======= eno2                     free, as for macvlan
                       br1 + eno3 ======= eno3 + br1               a bridge for virtual machines

This machine reaches both by their addresses on eno1, and their pods. All of it is of 198.18.0.0/15
(RFC 2544), of which each process has a part of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import NamedTuple

from tests.kube.spaces import Space
from tests.rig.errors import Missing
from tests.rig.process import require, run

_PROGRAMS = ("ip", "tc", "nsenter", "unshare", "setpriv", "ssh", "ssh-keygen")
_MTU = 1450
"""Of pods: what VXLAN leaves of 1500."""
_KERNEL = "echo 1 >ip_forward; echo 0 >conf/all/rp_filter; echo 0 >conf/default/rp_filter"


class Link(NamedTuple):
    """That of a pod to its machine: the address of the pod, and the NIC at the other end."""

    address: str
    mac: str
    nic: str


class Machine:
    """One of the two. ``address``: that by which it is reached."""

    def __init__(self, name: str, network: str, number: int) -> None:
        self.name, self.address = name, f"{network}.{number}"
        first = 64 * (number + 1)
        self.pods = f"{network}.{first}/26"
        self._gateway = f"{network}.{first + 1}"
        self._free = cycle(f"{network}.{last}" for last in range(first + 2, first + 63))
        self._used: dict[int, Link] = {}
        self.space = Space(name)
        self.space.run("sh", "-ec", f"cd /proc/sys/net/ipv4; {_KERNEL}")

    def attach(self, pod: Space, rate: str = "") -> Link:
        """Give a pod its eth0 in the network of the pods, with a limit at both ends."""
        address = next(one for one in self._free if one not in self._addresses())
        # the MAC follows from the address, as with OVN-Kubernetes: who knew it keeps knowing it
        mac = ":".join(["0a", "58", *(f"{int(part):02x}" for part in address.split("."))])
        link = self._used[pod.pid] = Link(address, mac, f"pod{pod.pid}")
        self.space.ip(
            f"link add {link.nic} mtu {_MTU} type veth"
            f" peer name eth0 mtu {_MTU} address {mac} netns {pod.pid}"
        )
        self.space.ip(f"link set {link.nic} master br0 up")
        pod.ip(f"addr add {address}/25 dev eth0")
        pod.ip("link set eth0 up")
        pod.ip(f"route add default via {self._gateway}")
        if rate:
            self.limit(pod, rate)
        return link

    def limit(self, pod: Space, rate: str) -> None:
        """So much goes over the link of a pod at most, in each direction; with an empty rate, as
        much as may."""
        self.space.limit(self._used[pod.pid].nic, rate)
        pod.limit("eth0", rate)

    def detach(self, pod: Space) -> None:
        """Its address is free."""
        self._used.pop(pod.pid, None)

    def join(self, other: Machine) -> None:
        """The way of the pods to those of the other."""
        tunnel = f"local {self.address} remote {other.address} dev eno1 dstport 4789"
        for words in (
            f"addr add {self.address}/27 dev eno1",
            *(f"link set {nic} up" for nic in ("eno1", "eno2", "eno3")),
            f"link add br0 mtu {_MTU} type bridge",
            f"link add vxlan0 mtu {_MTU} type vxlan id 1 {tunnel}",
            "link add br1 type bridge",
            "link set vxlan0 master br0 up",
            "link set eno3 master br1",
            f"addr add {self._gateway}/25 dev br0",
            "link set br0 up",
            "link set br1 up",
        ):
            self.space.ip(words)

    def _addresses(self) -> list[str]:
        return [link.address for link in self._used.values()]


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Both, with what joins them. Raises Missing where this machine does not let us."""
    if os.geteuid():
        raise Missing("machines of namespaces need root")
    require(*_PROGRAMS)
    if not shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin"):
        raise Missing("sshd is not installed")
    pid = os.getpid()
    network = f"198.{18 + pid // 256 % 2}.{pid % 256}"
    with ExitStack() as ended:
        machines = []
        for number, name in enumerate(("node-a", "node-b"), 1):
            machines.append(Machine(name, network, number))
            ended.callback(machines[-1].space.end)
        first, second = machines
        for nic in ("eno1", "eno2", "eno3"):
            first.space.ip(f"link add {nic} type veth peer name {nic} netns {second.space.pid}")
        first.join(second)
        second.join(first)
        for machine in machines:
            nic = f"vk{pid}{machine.name[-1]}"
            _reach(machine, f"{network}.30", nic)
            ended.callback(run, "ip", "link", "del", nic)
        yield first, second


def _reach(machine: Machine, here: str, nic: str) -> None:
    """This machine has a way to it, which also goes with its namespace."""
    there = machine.space.pid
    run("ip", "link", "add", nic, "type", "veth", "peer", "name", "mgmt0", "netns", str(there))
    machine.space.ip("link set mgmt0 up")
    machine.space.ip(f"route add {here}/32 dev mgmt0")
    for words in (
        f"addr add {here}/32 dev {nic}",
        f"link set {nic} up",
        f"route add {machine.address}/32 dev {nic} src {here}",
        f"route add {machine.pods} via {machine.address} dev {nic} onlink src {here}",
    ):
        run("ip", *words.split())
