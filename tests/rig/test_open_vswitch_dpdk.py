"""Faults planted in a real Open vSwitch with DPDK, and guests on it: each is found where it is, and
nothing else."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.open_vswitch import OpenVSwitch, running_with_dpdk
from tests.rig.process import require, run, wait_for

pytestmark = pytest.mark.rig

HERE, THERE, BUSY = (f"vnar{os.getpid()}{end}" for end in ("", "-there", "-busy"))
CONFIG = {
    "pmd-cpu-mask": "0x2",
    "pmd-sleep-max": "200",  # else a PMD takes a whole CPU
    "userspace-tso-enable": "true",
}
ASKED = ("VNIC138", "")
"""That PMDs sleep is a question, on which nothing of the rest depends."""
_FLOOD = """
import socket, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
    wire.bind(("veth0", 0))
    while True:
        wire.send(b"\\xff" * 6 + b"\\x02" * 6 + b"\\x88\\xb5" + bytes(50))
        time.sleep(0.001)
"""
"""Frames for everybody, of a protocol for experiments."""


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    """With one polled port that leads nowhere, a veth of the kernel, and a guest that is stopped by
    the kernel once it has taken its NIC, with which it can do nothing more."""
    with _missing_is_not_run(), _namespaces(HERE, THERE):
        require("qemu-system-x86_64", "ethtool", "iperf3")
        _add_veth(0, HERE)
        _add_veth(2, THERE)
        with running_with_dpdk(HERE, **CONFIG) as switch, ExitStack() as guests:
            switch.set(
                "add-br", "brd", "--", "set", "bridge", "brd", "datapath_type=netdev",
                "--", "add-port", "brd", "veth1",
                "--", "add-port", "brd", "nowhere", "--", "set", "Interface", "nowhere",
                "type=dpdk", "options:dpdk-devargs=net_null0,no-rx=1",
            )  # fmt: skip
            guest = guests.enter_context(_guest(switch, "web"))
            state = ("get", "Interface", "web", "status:status")
            wait_for(lambda: "\nconnected" in "\n" + switch.set(*state), "the guest took its NIC")
            guest.send_signal(signal.SIGSTOP)
            yield switch


@contextmanager
def _missing_is_not_run() -> Iterator[None]:
    try:
        yield
    except Missing as error:
        not_run("rig", str(error))


@contextmanager
def _namespaces(*names: str) -> Iterator[None]:
    try:
        for name in names:
            run("ip", "netns", "add", name)
        yield
    finally:
        for name in names:
            run("ip", "netns", "delete", name)


def _add_veth(number: int, place: str) -> None:
    """An even one with an address in ``place``, and its odd end for the switch."""
    outer, inner = f"veth{number}", f"veth{number + 1}"
    words = (inner, "netns", HERE, "type", "veth", "peer", "name", outer, "netns", place)
    run("ip", "link", "add", *words)
    run("ip", "-n", HERE, "link", "set", inner, "up")
    run("ip", "-n", place, "addr", "add", f"192.0.2.{number + 1}/24", "dev", outer)
    run("ip", "-n", place, "link", "set", outer, "up")


@contextmanager
def _guest(
    switch: OpenVSwitch, name: str, *, boots: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """A guest without a disk, at a port of its name. Its NIC's ROM takes the NIC for as long as it
    asks for an address, with a ring of 256 of the 1024 it could have; without one nothing does."""
    socket = switch.folder / f"{name}.sock"
    switch.set(
        "add-port", "brd", name, "--", "set", "Interface", name, "type=dpdkvhostuserclient",
        f"options:vhost-server-path={socket}",
    )  # fmt: skip
    rom = "" if boots else ",romfile="
    words = (
        "qemu-system-x86_64", "-name", f"guest={name},debug-threads=on", "-M", "q35",
        "-accel", "tcg", "-m", "256", "-display", "none", "-nodefaults",
        "-object", "memory-backend-memfd,id=mem,size=256M,share=on", "-numa", "node,memdev=mem",
        "-chardev", f"socket,id=c0,path={socket},server=on",
        "-netdev", "vhost-user,id=n0,chardev=c0",
        "-device", f"virtio-net-pci,netdev=n0,id=net0,vectors=0,rx_queue_size=1024{rom}",
    )  # fmt: skip
    with (switch.folder / f"{name}.log").open("wb") as output:
        process = subprocess.Popen(
            ("ip", "netns", "exec", HERE, *words), stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        switch.set("del-port", name)


@contextmanager
def _flood() -> Iterator[None]:
    process = subprocess.Popen(("ip", "netns", "exec", HERE, sys.executable, "-c", _FLOOD))
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def mended(switch: OpenVSwitch) -> OpenVSwitch:
    """The switch without a fault of a test before."""
    switch.set(
        "set", "Open_vSwitch", ".", *(f"other_config:{key}={CONFIG[key]}" for key in CONFIG),
        "--", "remove", "Open_vSwitch", ".", "other_config", "dpdk-lcore-mask",
        "--", "set", "Interface", "nowhere", "options:n_rxq=1",
        "--", "clear", "Interface", "nowhere", "other_config",
        "--", "--if-exists", "del-port", "planted",
    )  # fmt: skip
    return switch


def _found(switch: OpenVSwitch, *words: str, window: int = 0) -> list[tuple[str, str]]:
    return switch.found("--select", "ovs", *words, window=window)


def _config(key: str, value: str) -> tuple[str, ...]:
    return "set", "Open_vSwitch", ".", f"other_config:{key}={value}"


def _port(kind: str, *options: str) -> tuple[str, ...]:
    words = ("add-port", "brd", "planted", "--", "set", "Interface", "planted", f"type={kind}")
    return *words, *options


def test_a_clean_one_with_a_guest(mended: OpenVSwitch) -> None:
    assert _found(mended) == [ASKED]
    # whatever CPUs this machine has
    assert mended.found("--ignore", "cpus", "--level", "low") == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param(
            ("remove", "Open_vSwitch", ".", "other_config", "pmd-cpu-mask"),
            ("VNIC049", ""),
            id="no mask of PMDs",
        ),
        pytest.param(
            _port("dpdk", "options:dpdk-devargs=0000:ff:00.0"),
            ("VNIC126", "planted"),
            id="an adapter that is not there",
        ),
        pytest.param(
            ("set", "Interface", "nowhere", "options:n_rxq=2"),
            ("VNIC128", "nowhere"),
            id="two queues for one PMD",
        ),
        pytest.param(
            ("set", "Interface", "nowhere", "other_config:pmd-rxq-affinity=0:1"),
            ("VNIC129", "web"),
            id="the PMD is kept for another port",
        ),
        pytest.param(
            _config("dpdk-lcore-mask", "0x2"),
            ("VNIC131", "1 in dpdk-lcore-mask"),
            id="DPDK's other threads on the CPU of the PMD",
        ),
        pytest.param(
            _config("userspace-tso-enable", "false"),
            ("VNIC133", ""),
            id="no TSO for guests",
        ),
        pytest.param(
            _port("dpdkvhostuser"),
            ("VNIC134", "planted"),
            id="the deprecated type",
        ),
    ],
)
def test_a_setting(mended: OpenVSwitch, words: tuple[str, ...], found: tuple[str, str]) -> None:
    mended.set(*words)
    assert _found(mended) == sorted([found, ASKED])


def test_a_guest_that_does_not_take_its_nic(mended: OpenVSwitch) -> None:
    with _guest(mended, "deaf", boots=False):
        assert _found(mended) == [("VNIC135", "deaf"), ASKED]
    assert _found(mended) == [ASKED]


def test_a_guest_that_fetches_too_little(mended: OpenVSwitch) -> None:
    """Open vSwitch updates its counters every 5 s."""
    with _flood():
        assert _found(mended, window=6) == [("VNIC137", "web"), ASKED]


def test_pmds_that_never_sleep(mended: OpenVSwitch) -> None:
    mended.set(*_config("pmd-sleep-max", "0"))
    assert _found(mended) == []


def test_segments_that_are_cut_in_software(mended: OpenVSwitch) -> None:
    """The last test: they are told for a minute."""
    run("ip", "netns", "exec", HERE, "ethtool", "-K", "veth3", "tso", "off", "gso", "off")
    mended.set("add-port", "brd", "veth3")
    listens = ("ip", "netns", "exec", THERE, "iperf3", "--server", "--one-off")
    with subprocess.Popen(listens, stdout=subprocess.DEVNULL):
        sends = ("ip", "netns", "exec", HERE, "iperf3", "--client", "192.0.2.3", "--bytes", "8M")
        wait_for(
            lambda: subprocess.run(sends, stdout=subprocess.DEVNULL, check=False).returncode == 0,
            "iperf3 sent",
        )
    rate = re.compile(r"netdev_soft_seg_good +\S+ +(?!0\.000/)\S+/sec")
    wait_for(lambda: rate.search(mended.say("coverage/show")), "Open vSwitch counted")
    assert _found(mended) == sorted([("VNIC132", ""), ASKED])


def test_one_pmd_that_is_overloaded() -> None:
    """It polls a device that gives packets without end, to which nothing may be done. Usage is that
    of a minute: time is made to pass, and stands still while it is read."""
    two = {**CONFIG, "pmd-cpu-mask": "0x3"}
    with _missing_is_not_run(), _namespaces(BUSY), running_with_dpdk(BUSY, **two) as switch:
        switch.set(
            "add-br", "brd", "--", "set", "bridge", "brd", "datapath_type=netdev",
            "fail_mode=secure",
            "--", "add-port", "brd", "endless", "--", "set", "Interface", "endless",
            "type=dpdk", "options:dpdk-devargs=net_null0",
            "--", "add-port", "brd", "nowhere", "--", "set", "Interface", "nowhere",
            "type=dpdk", "options:dpdk-devargs=net_null1,no-rx=1",
        )  # fmt: skip
        switch.say("time/stop")
        busy = re.compile(r"core_id (\d):\n.*\n  port: endless .* (?:9[5-9]|1\d\d) %")

        def seen() -> re.Match[str] | None:
            switch.say("time/warp", "5000")
            return busy.search(switch.say("dpif-netdev/pmd-rxq-show"))

        pmd = wait_for(seen, "one PMD is busy")[1]
        assert _found(switch) == [ASKED, ("VNIC139", pmd)]
