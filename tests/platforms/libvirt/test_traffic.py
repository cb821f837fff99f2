"""Traffic of NICs by two readings of counters: of a real libvirtd with a real tap device, and of a
driver that counts nothing."""

import json
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import libvirt
import pytest

from tests.cli.inside import inside
from tests.platforms.libvirt.definitions import domain, nic
from tests.platforms.libvirt.private_daemon import PrivateDaemon
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import HostTraffic, LiveDomain, LiveOptions, NicTraffic
from vnicaudit.model.host import Host
from vnicaudit.platforms.libvirt.live import read, read_live
from vnicaudit.platforms.libvirt.visit import (
    CounterReading,
    counters_of,
    read_counters,
    traffic_between,
)

TAP = "vnicaudit-t0"
FRAME = b"\xff" * 6 + bytes.fromhex("525400000001") + b"\x88\xb5" + b"\0" * 86
"""100 bytes to everybody, of a protocol for experiments."""
QUEUE = 1000
"""Frames that a tap holds for a guest that takes none."""


def test_the_test_driver_counts_nothing_and_says_so() -> None:
    items = list(read_live("test:///default", LiveOptions(traffic=600.0)))
    assert [type(item) for item in items] == [Host, LiveDomain]
    live = read("test:///default")
    assert len(list(live.domains)) == 1
    assert live.visit.take_traffic() is None


def test_what_is_no_counter_is_left_out() -> None:
    stats = {
        "net.count": 4, "net.0.name": "vnet0", "net.0.rx.bytes": 5, "net.0.rx.drop": "many",
        "net.1.rx.bytes": 5, "net.2.name": "vnet2", "net.3.name": "", "net.3.rx.bytes": 1,
        "net.4.name": "vnet4", "net.4.rx.bytes": 1,
    }  # fmt: skip
    assert list(counters_of(stats)) == [("vnet0", {"rx_bytes": 5})]
    assert list(counters_of({})) == []
    assert list(counters_of({"net.count": "2"})) == []


def test_a_counter_that_began_anew_is_not_known() -> None:
    first = CounterReading(1.0, {("u", "a"): {"rx_bytes": 9, "tx_bytes": 1}, ("u", "gone"): {}})
    last = CounterReading(3.0, {("u", "a"): {"rx_bytes": 2, "tx_bytes": 5}, ("u", "new"): {}})
    (one,) = traffic_between(first, last)
    assert one == NicTraffic(uuid="u", device="a", seconds=2.0, tx_bytes=4)
    assert one.bytes_per_second is None
    assert (
        NicTraffic(uuid="u", device="a", seconds=2.0, rx_drops=3, tx_drops=1).drops_per_second == 2
    )


@pytest.fixture
def uuid(hypervisor_connection: libvirt.virConnect) -> str:
    """The UUID of a guest that runs, and takes no packets from its tap."""
    wire = nic("52:54:00:00:00:02", "ethernet", f"<target dev='{TAP}'/><model type='e1000'/>")
    paused = libvirt.VIR_DOMAIN_START_PAUSED
    return hypervisor_connection.createXML(domain("counted", wire), paused).UUIDString()


@pytest.mark.rig
def test_packets_that_a_guest_does_not_take_are_its_drops(daemon: PrivateDaemon, uuid: str) -> None:
    connection = libvirt.openReadOnly(daemon.uri)
    try:
        first = read_counters(connection)
        send(2 * QUEUE)
        last = read_counters(connection)
    finally:
        connection.close()
    (one,) = traffic_between(first, last)
    assert (one.uuid, one.device) == (uuid, TAP)
    assert one.rx_drops is not None
    assert one.rx_drops >= QUEUE
    assert (one.tx_bytes, one.tx_packets, one.tx_drops, one.tx_errors) == (0, 0, 0, 0)
    assert one.drops_per_second == one.rx_drops / one.seconds


@pytest.mark.rig
def test_a_host_s_traffic_comes_behind_its_domains(daemon: PrivateDaemon, uuid: str) -> None:
    began = time.monotonic()
    live = read(daemon.uri, LiveOptions(traffic=1.0))
    found = [item for item in live.domains if isinstance(item, Domain)]
    assert [(one.uuid, one.nics[0].target_dev) for one in found] == [(uuid, TAP)]
    traffic = live.visit.take_traffic()
    took = time.monotonic() - began
    assert isinstance(traffic, HostTraffic)
    assert [(one.uuid, one.device) for one in traffic.nics] == [(uuid, TAP)]
    assert 0.9 <= traffic.nics[0].seconds < took
    assert live.visit.take_traffic() is None


@pytest.mark.rig
@pytest.mark.usefixtures("uuid")
def test_who_no_longer_listens_is_not_waited_for(daemon: PrivateDaemon) -> None:
    items = read_live(daemon.uri, LiveOptions(traffic=3000.0))
    assert isinstance(next(items), Host)
    del items  # what is not walked to its end is closed
    visits = [one for one in threading.enumerate() if one.name.startswith("visit")]
    for one in visits:
        one.join(30)
    assert not any(one.is_alive() for one in visits)


@pytest.mark.rig
def test_drops_of_a_real_guest_stand_in_the_ranking(
    daemon: PrivateDaemon, uuid: str, tmp_path: Path
) -> None:
    ended = threading.Event()
    sender = threading.Thread(target=send_until, args=(ended,))
    sender.start()
    try:
        words = ("-i", daemon.uri, "--state", tmp_path, "-q", "--traffic", "1")
        audited = inside("audit", *words)
    finally:
        ended.set()
        sender.join()
    assert audited.returncode in (0, 1)
    result = inside("fleet", "top", "--state", tmp_path, "--format", "json")
    changes = json.loads(result.stdout)["changes"]
    of_nic = [one for one in changes if one["place"]["id"] == uuid and one["nics"] == 1]
    assert of_nic
    for one in of_nic:
        assert one["traffic"]["nics"] == 1
        assert one["traffic"]["drops_per_second"] > 0
        assert " drops/s; " in one["reason"]
        assert "; idle; " in one["reason"]


def send_until(ended: threading.Event) -> None:
    """Send frames that nobody takes, from now on."""
    while not ended.is_set():
        send(QUEUE)


def send(frames: int) -> None:
    """Send so many frames to the guest."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((TAP, 0))
        for _ in range(frames):
            with suppress(OSError):  # told of a frame that is dropped at once
                wire.send(FRAME)
