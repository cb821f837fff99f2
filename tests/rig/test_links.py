"""Faults planted in links of a real kernel, under real QEMUs in a network namespace: each is found
where it is, and what only looks like one is not."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.process import require, run
from tests.rig.product import found_at

pytestmark = pytest.mark.rig

HERE = f"vnal{os.getpid()}"
MACVTAP = 10_000_000 + os.getpid()
"""Number of the macvtap's link, by which its node in /dev is named."""
LINKS = (
    "link add br0 type bridge",
    "link add up0 type veth peer name peer0",
    "link add up1 type veth peer name peer1",
    "tuntap add tap0 mode tap",
    f"link add macvtap0 index {MACVTAP} link up1 type macvtap mode bridge",
    "link set up0 master br0",
    "link set tap0 master br0",
    *(
        f"link set {name} up"
        for name in ("br0", "up0", "up1", "peer0", "peer1", "tap0", "macvtap0")
    ),
)
UNDERLAY = (
    "link add under0 type veth peer name under1",
    "addr add 192.0.2.1/24 dev under0",
    "link set under0 up",
    "link set under1 up",
)
TUNNEL = (
    "link add vx0 type vxlan id 7 remote 192.0.2.9 dstport 4789",
    "link set vx0 master br0 up",
)
_OPEN_MACVTAP = """
number=$(cat /sys/class/net/macvtap0/tap*/dev) node=/dev/$(basename /sys/class/net/macvtap0/tap*)
[ -e "$node" ] || mknod "$node" c "${number%:*}" "${number#*:}" || exit
exec 3<>"$node"
exec "$@"
"""
_FLOOD = """
import socket
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind(("br0", 0))
    for _ in range(3000):
        wire.send(b"\\xff" * 6 + b"\\x02" * 6 + b"\\x88\\xb5" + bytes(50))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bridge with an uplink and the tap of a guest, and another uplink with the macvtap of one;
    all MTUs are 1500, also those of the guests."""
    tmp = tmp_path_factory.mktemp("guests")
    try:
        require("ip", "ethtool", "qemu-system-x86_64")
        with ExitStack() as stack:
            run("ip", "netns", "add", HERE)
            stack.callback(run, "ip", "netns", "delete", HERE)
            _ip(*LINKS)
            tap = "ifname=tap0,script=no,downscript=no"
            stack.enter_context(_guest(tmp, "web", f"tap,id=n0,{tap}"))
            stack.callback(Path(f"/dev/tap{MACVTAP}").unlink, missing_ok=True)
            opener = ("sh", "-c", _OPEN_MACVTAP, "sh")
            stack.enter_context(_guest(tmp, "db", "tap,id=n0,fd=3", *opener))
            yield f"netns://{HERE}"
    except Missing as error:
        not_run("rig", str(error))


@contextmanager
def _guest(folder: Path, name: str, netdev: str, *opener: str) -> Iterator[None]:
    """It runs, and has opened its tap."""
    pid = folder / f"{name}.pid"
    words = (
        "qemu-system-x86_64", "-name", f"guest={name}", "-M", "q35", "-accel", "tcg", "-m", "64",
        "-display", "none", "-nodefaults", "-daemonize", "-pidfile", pid, "-netdev", netdev,
        "-device", f"virtio-net-pci,netdev=n0,id=net0,mac=52:54:00:00:00:{len(name):02x},"
        "host_mtu=1500,romfile=",
    )  # fmt: skip
    run("ip", "netns", "exec", HERE, *opener, *words)
    try:
        yield
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def _ip(*lines: str) -> None:
    for line in lines:
        run("ip", "-n", HERE, *line.split())


def _sh(line: str) -> None:
    run("ip", "netns", "exec", HERE, "sh", "-c", line)


def _found(place: str) -> list[tuple[str, str]]:
    every = found_at(place, "--level", "info", "--window", "0")
    return [(rule, where.removeprefix("link/")) for rule, where in every if "link/" in where]


class Plant(NamedTuple):
    """A change of links (by ``ip``, then by a shell), what is found then, and the way back."""

    name: str
    ip: tuple[str, ...]
    found: list[tuple[str, str]]
    back: tuple[str, ...]
    sh: str = ":"
    sh_back: str = ":"


def _mtu(name: str, device: str, mtu: int, *found: str) -> Plant:
    narrow = [("VNIC048", each) for each in found]
    return Plant(name, (f"link set {device} mtu {mtu}",), narrow, (f"link set {device} mtu 1500",))


_QUEUE = "/sys/class/net/{}/queues"
_FLOWS, _XPS = (f"{_QUEUE.format('up0')}/{end}" for end in ("rx-0/rps_flow_cnt", "tx-0/xps_cpus"))
_RPS = f"{_QUEUE.format('tap0')}/rx-0/rps_cpus"
PLANTS = (
    _mtu("a tap", "tap0", 1400, "tap0"),
    _mtu("an uplink", "up0", 1400, "up0"),
    _mtu("a macvtap", "macvtap0", 1400, "macvtap0"),
    Plant(
        "the link below a macvtap, which the kernel makes smaller too",
        ("link set up1 mtu 1400",),
        [("VNIC048", "macvtap0"), ("VNIC048", "up1")],
        ("link set up1 mtu 1500", "link set macvtap0 mtu 1500"),
    ),
    _mtu("a wider uplink", "up0", 9000),
    _mtu("a bridge, whose MTU is the host's own", "br0", 1300),
    Plant(
        "a tunnel that makes room",
        (*UNDERLAY, *TUNNEL, "link set vx0 mtu 1450"),
        [("VNIC048", "vx0")],
        ("link delete vx0", "link delete under0"),
    ),
    Plant(
        "a tunnel that makes none",
        (*UNDERLAY, *TUNNEL, "link set vx0 mtu 1500"),
        [("VNIC101", "vx0")],
        ("link delete vx0", "link delete under0"),
    ),
    Plant(
        "a tunnel over large packets",
        (*UNDERLAY, "link set under0 mtu 9000", *TUNNEL, "link set vx0 mtu 1500"),
        [],
        ("link delete vx0", "link delete under0"),
    ),
    Plant(
        "taps that nobody opens",
        (
            "tuntap add tap9 mode tap", "link set tap9 mtu 600 master br0 up",
            "link add macvtap9 link up1 type macvtap mode bridge", "link set macvtap9 mtu 600 up",
        ),
        [],
        ("link delete tap9", "link delete macvtap9"),
    ),
    Plant(
        "offloads of a link that is no adapter",
        (),
        [],
        (),
        sh="ethtool -K up0 tso off gro off",
        sh_back="ethtool -K up0 tso on gro on",
    ),
    Plant(
        "steering of links that are no adapters",
        (),
        [],
        (),
        sh=f"echo 1 > {_RPS}; echo 4096 > {_FLOWS}; echo 2 > {_XPS}",
        sh_back=f"echo 0 > {_RPS}; echo 0 > {_FLOWS}; echo 0 > {_XPS}",
    ),
    Plant(
        "a short queue that lost nothing",
        ("link set tap0 txqueuelen 10",),
        [],
        ("link set tap0 txqueuelen 1000",),
    ),
)  # fmt: skip


def test_clean_links(place: str) -> None:
    assert _found(place) == []
    # whatever CPUs this machine has
    assert found_at(place, "--ignore", "cpus", "--level", "low", "--window", "0") == []


@pytest.mark.parametrize("plant", [pytest.param(plant, id=plant.name) for plant in PLANTS])
def test_a_plant(place: str, plant: Plant) -> None:
    try:
        _ip(*plant.ip)
        _sh(plant.sh)
        assert _found(place) == plant.found
    finally:
        _sh(plant.sh_back)
        _ip(*plant.back)


def test_a_guest_that_takes_no_packets(place: str) -> None:
    """The last test: they are counted for as long as the tap is there."""
    assert _found(place) == []
    run("ip", "netns", "exec", HERE, sys.executable, "-c", _FLOOD)
    assert _found(place) == [("VNIC116", "tap0")]
    _ip("link set tap0 txqueuelen 50")
    assert _found(place) == [("VNIC116", "tap0"), ("VNIC117", "tap0")]
    _ip("link set tap0 down")
    assert _found(place) == []
