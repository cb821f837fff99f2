"""pktgen: recorded outputs, what is refused, and to whom packets would go, with real namespaces."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.two_links import TwoLinks, two_links
from vnicaudit.bench.engines import pktgen
from vnicaudit.bench.engines._pktgen import command
from vnicaudit.bench.engines._pktgen.report import SentFrames, require_destination, sent_frames
from vnicaudit.bench.engines._pktgen.wire import Wire, received_packets, require_ready, wire
from vnicaudit.bench.engines.pktgen import PacketCount
from vnicaudit.errors import EndpointError, MeasureError, SilenceError, UsageError
from vnicaudit.model.measurement import Workload

DATA = Path(__file__).parent / "data" / "pktgen" / "6.12"
RECORDED = sorted(DATA.glob("*.txt"))


def workload(**changes: object) -> Workload:
    usual: dict[str, object] = {"pattern": "frames", "direction": "rx", "seconds": 1, "warmup": 0}
    return Workload(id="w", engine="pktgen", **(usual | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def links() -> Iterator[TwoLinks]:
    with two_links() as made:
        yield made


def the_way(**changes: object) -> Wire:
    usual = {
        "sender": None, "receiver": None, "device": "eth0", "source": "192.0.2.2",
        "address": "192.0.2.1", "mac": "52:54:00:ab:0a:01", "nic": "eth0", "mtu": 1500,
    }  # fmt: skip
    return Wire(**(usual | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pattern": "tcp"}, "pktgen has no pattern 'tcp'; it has frames, imix"),
        ({"direction": "both"}, "direction both: pktgen sends one way at a time"),
        ({"size": 63}, "size 63: a frame has 64 to 9018 bytes, with its check sequence"),
        ({"pattern": "imix", "size": 64}, "size: imix has sizes of its own"),
        ({"seconds": 0.5}, "seconds and warmup: pktgen runs for whole seconds, at least one"),
        ({"connections": 65}, "pktgen has one generator, with 1 to 64 threads (connections)"),
        ({"rate": 0.5}, "rate 0.5: it is packets per second, at least one for each thread"),
        ({"options": {"dst": "192.0.2.9"}}, "pktgen has no option 'dst'; it has "),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        pktgen.check(workload(**changes))
    assert str(error.value) == f"w: {problem}"


def test_settings_name_one_destination_and_sizes_without_the_check_sequence() -> None:
    lines = command.settings(workload(rate=1000.0, connections=2), the_way())
    assert {"pkt_size 60", "ratep 500", "dst_mac 52:54:00:ab:0a:01"} <= set(lines)
    assert {"dst_min 192.0.2.1", "dst_max 192.0.2.1"} <= set(lines)
    mixed = command.settings(workload(pattern="imix"), the_way())
    assert "imix_weights 60,7 590,4 1514,1" in mixed
    with pytest.raises(MeasureError, match="whose MTU is 1400"):
        command.settings(workload(pattern="imix"), the_way(mtu=1400))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_outputs(path: Path) -> None:
    text = path.read_text()
    sent = sent_frames(text, 1)
    assert sent_frames(text + text, 2) == (2 * sent.sent, 0, sent.seconds)
    assert sent.seconds == pytest.approx(1.0, abs=0.3)
    assert sent.errors == 0
    assert sent.sent > 100


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_an_output_that_is_cut_is_an_error(path: Path) -> None:
    text = path.read_text()
    for length in range(len(text) - 1):
        with pytest.raises(MeasureError):
            sent_frames(text[:length], 1)


@given(st.text(), st.integers(0, 2000))
def test_any_text_is_read_or_refused(noise: str, at: int) -> None:
    text = (DATA / "frames.txt").read_text()
    for one in (noise, text[:at] + noise + text[at + len(noise) :]):
        try:
            assert sent_frames(one, 1).sent > 0
        except MeasureError:
            continue


def test_nothing_is_started_but_towards_the_only_destination() -> None:
    text = (DATA / "frames.txt").read_text()
    (address,) = {
        line.split()[1] for line in text.splitlines() if " dst_max: " in line and "udp" not in line
    }
    (mac,) = {line.split()[-1] for line in text.splitlines() if "dst_mac:" in line}
    meant = the_way(address=address, mac=mac)
    require_destination(text, meant, 1)
    for other, threads in (
        (text, 2),
        (text.replace(f"dst_max: {address}", "dst_max: 10.255.255.255"), 1),
        (text.replace(f"dst_min: {address}", "dst_min: 10.0.0.1"), 1),
        (text.replace(mac, "52:54:00:00:00:99"), 1),
        (text.replace("Flags: ", "Flags: IPDST_RND "), 1),
        ("", 1),
    ):
        with pytest.raises(MeasureError, match="pktgen was not started"):
            require_destination(other, meant, threads)


def test_what_was_counted() -> None:
    found = pktgen.measurement_of(workload(), PacketCount(SentFrames(2000, 0, 2.0), 1500), ())
    assert found.values == {"packet_rate": 750.0, "loss": 25.0}
    assert (found.bytes, found.generator_limited) == (1500 * 18, False)
    full = pktgen.measurement_of(workload(), PacketCount(SentFrames(2000, 0, 2.0), 2001), ())
    assert (full.values["loss"], full.generator_limited) == (0.0, True)
    late = PacketCount(SentFrames(1900, 0, 2.0), 1900)
    assert pktgen.measurement_of(workload(rate=1000.0), late, ()).generator_limited
    with pytest.raises(SilenceError):
        pktgen.measurement_of(workload(), PacketCount(SentFrames(2000, 0, 2.0), 0), ())
    with pytest.raises(MeasureError, match="other traffic"):
        pktgen.measurement_of(workload(), PacketCount(SentFrames(2000, 0, 2.0), 3000), ())


def mac_of(name: str, device: str) -> str:
    show = ["ip", "-n", name, "-o", "link", "show", device]
    said = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    return said.partition("link/ether ")[2].split()[0]


def test_packets_go_to_the_nic_that_has_the_address(links: TwoLinks) -> None:
    found = wire(links.ends("192.0.2.1"), "rx")
    assert (found.sender, found.receiver) == (links.peer, links.target)
    assert (found.device, found.source, found.nic, found.mtu) == ("eth0", "192.0.2.2", "eth0", 1500)
    assert found.mac == mac_of(links.names[0], "eth0")
    back = wire(links.ends("192.0.2.1"), "tx")
    assert (back.sender, back.address) == (links.target, "192.0.2.2")
    assert back.mac == mac_of(links.names[1], "eth0")
    before = received_packets(found)
    links.send("192.0.2.1", 50_000)
    assert received_packets(found) - before >= 50


def test_nothing_is_sent_to_a_mac_that_is_not_that_nics(links: TwoLinks) -> None:
    links.at_peer("neigh replace 192.0.2.1 lladdr 52:54:00:00:00:99 dev eth0 nud permanent")
    try:
        with pytest.raises(MeasureError, match="pktgen sends nothing to anybody else"):
            wire(links.ends("192.0.2.1"), "rx")
    finally:
        links.at_peer("neigh del 192.0.2.1 dev eth0")


def test_nothing_is_sent_through_a_router(links: TwoLinks) -> None:
    links.at_target("addr add 203.0.113.1/32 dev eth1")
    links.at_peer("route add 203.0.113.0/24 via 198.51.100.1")
    try:
        with pytest.raises(MeasureError, match="is not on the same link as the other end"):
            wire(links.ends("203.0.113.1"), "rx")
    finally:
        links.at_peer("route del 203.0.113.0/24")
        links.at_target("addr del 203.0.113.1/32 dev eth1")


def test_nothing_is_sent_to_itself_or_by_another_family(links: TwoLinks) -> None:
    with pytest.raises(MeasureError, match="is not on the same link as the other end"):
        wire(links.ends("192.0.2.2"), "rx")
    with pytest.raises(MeasureError, match="pktgen is for IPv4 here"):
        wire(links.ends("2001:db8::1"), "rx")


def test_a_kernel_without_it_is_told_before_the_first_run(links: TwoLinks) -> None:
    """Where this machine's kernel has it, it is ready instead."""
    if subprocess.run(["modprobe", "-n", "-q", "pktgen"], check=False).returncode == 0:
        require_ready(links.peer, 1)
        return
    with pytest.raises(EndpointError, match="its kernel has no pktgen"):
        pktgen.settled(workload(), [links.ends("192.0.2.1")])
