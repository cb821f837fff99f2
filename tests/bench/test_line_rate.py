"""What a line carries. Wanted figures: IEEE 802.3's 14.88 Mpps, IBM's 1448/1538 (23.537 Gb/s of 25
at MTU 1500, 24.751 at 9000), and arithmetic by hand."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.judging.sides import ceiling, exceeds, fills, path_of
from vnicaudit.bench.line_rate import (
    Framing,
    line_rate,
    packet_rate,
    parse_rate,
    tcp_fraction,
    udp_fraction,
    udp_packet_rate,
)
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Path, Workload

LINE = Path(name="old", target="t", peer="p", address="192.0.2.1", mtu=1500, line_rate=10e9)


@pytest.mark.parametrize(
    ("framing", "percent"),
    [
        (Framing(), 94.1482),
        (Framing(ip=6), 92.85),
        (Framing(mtu=9000), 99.00),
        (Framing(mtu=1450, encapsulation="vxlan"), 90.90),
        (Framing(mtu=1450, encapsulation="geneve"), 90.90),
        (Framing(mtu=1458, encapsulation="gre"), 100 * 1406 / 1538),
        (Framing(encapsulation="vlan"), 100 * 1448 / 1542),
    ],
)
def test_tcp(framing: Framing, percent: float) -> None:
    assert 100 * tcp_fraction(framing) == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize(
    ("speed", "mtu", "wanted"),
    [(25e9, 1500, 23.537e9), (25e9, 9000, 24.751e9), (10e9, 1500, 9.415e9), (10e9, 9000, 9.900e9)],
)
def test_figures_of_ibm(speed: float, mtu: int, wanted: float) -> None:
    assert line_rate(speed, Framing(mtu=mtu)).tcp == pytest.approx(wanted, abs=5e5)


def test_ratio_of_ibm() -> None:
    found = line_rate(1.0, Framing())
    assert (found.tcp_payload, 1500 + found.overhead) == (1448, 1538)
    assert found.tcp == pytest.approx(0.941482, abs=1e-6)


def test_udp() -> None:
    assert udp_fraction(Framing()) == pytest.approx(0.9571, abs=5e-5)
    assert udp_fraction(Framing(), 1472) == udp_fraction(Framing())
    assert udp_fraction(Framing(), 64) == pytest.approx(64 / (64 + 28 + 38))


def test_small_datagrams_are_filled_up_to_the_smallest_frame() -> None:
    assert udp_fraction(Framing(), 1) == pytest.approx(1 / 84)
    assert udp_packet_rate(10e9, Framing(), 1) == pytest.approx(14.88e6, rel=1e-3)


def test_large_datagrams_are_fragmented() -> None:
    """1473 octets: 1480 and 1 octets after the IP header, the second filled up to 64."""
    assert udp_fraction(Framing(), 1473) == pytest.approx(1473 / (1538 + 84))
    assert udp_packet_rate(10e9, Framing(), 1473) is None
    assert udp_fraction(Framing(), 65507) == pytest.approx(
        65507 / (44 * 1538 + (65515 - 44 * 1480) + 20 + 38)
    )


def test_fragments_of_ipv6_have_a_header_more() -> None:
    """1453 octets: 1448 and 13 octets, with 8 + 40 in front of each."""
    first, second = 1448 + 48 + 38, 13 + 48 + 38
    assert udp_fraction(Framing(ip=6), 1453) == pytest.approx(1453 / (first + second))


@pytest.mark.parametrize(
    ("frame", "wanted"), [(64, 14.88e6), (128, 8.446e6), (512, 2.350e6), (1518, 0.813e6)]
)
def test_packets(frame: int, wanted: float) -> None:
    assert packet_rate(10e9, frame) == pytest.approx(wanted, rel=1e-3)


def test_table() -> None:
    found = line_rate(10e9, Framing())
    assert [each.frame for each in found.packet_rates] == [64, 128, 256, 512, 1024, 1280, 1518]
    assert found.udp == pytest.approx(9.571e9, abs=5e5)


@given(st.integers(1280, 65535), st.sampled_from(["none", "vlan", "vxlan", "geneve", "gre"]))
def test_a_line_never_carries_more_than_it_is(mtu: int, encapsulation: str) -> None:
    found = line_rate(1.0, Framing(mtu=mtu, encapsulation=encapsulation))
    assert 0 < found.tcp < found.udp < 1


@given(st.integers(1, 65507))
def test_datagrams_of_any_size_fit(size: int) -> None:
    assert 0 < udp_fraction(Framing(), size) < 1480 / 1538


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("25G", 25e9), ("100M", 1e8), ("2.5G", 2.5e9), (" 10g ", 1e10), ("1T", 1e12),
        ("10 Gbit/s", 1e10), ("25Gb/s", 25e9), ("40Gbps", 40e9), ("500k", 5e5), ("1000000000", 1e9),
    ],
)  # fmt: skip
def test_speeds(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text",
    ["", "fast", "25GB", "25GB/s", "-1G", "0G", "1e9", "nan", "inf", "25", "25000", "1,5G", "²G"],
)
def test_no_speeds(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a speed: write it as 25G, 100M or 2\.5G"):
        parse_rate(text)


@given(st.text())
def test_any_text_is_a_speed_or_an_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_rate(text) > 0


@pytest.mark.parametrize(
    ("framing", "said"),
    [
        (Framing(encapsulation="stt"), "unknown encapsulation 'stt'; use none, vlan, vxlan"),
        (Framing(mtu=40), "an MTU is 576 to 65535 octets, not 40"),
        (Framing(mtu=1000, ip=6), "an MTU is 1280 to 65535 octets, not 1000"),
        (Framing(mtu=70000), "not 70000"),
    ],
)
def test_no_framing(framing: Framing, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        line_rate(1e9, framing)


class TestCeiling:
    def test_of_goodput(self) -> None:
        tcp = Workload(id="w", engine="iperf3", pattern="tcp")
        udp = Workload(id="w", engine="iperf3", pattern="udp", size=64)
        six = Path(name="x", target="t", peer="p", address="2001:db8::1", mtu=1500, line_rate=10e9)
        assert ceiling(tcp, "goodput", LINE) == pytest.approx(9.415e9, abs=5e5)
        assert ceiling(tcp, "goodput", six) == pytest.approx(9.285e9, abs=5e5)
        assert ceiling(udp, "goodput", LINE) == pytest.approx(10e9 * 64 / 130)
        assert ceiling(udp, "packet_rate", LINE) == pytest.approx(10e9 / 8 / 130)

    @pytest.mark.parametrize(
        "path",
        [
            None,
            Path(name="x", target="t", peer="p", address="a", mtu=1500),
            Path(name="x", target="t", peer="p", address="a", line_rate=1e9),
            Path(name="x", target="t", peer="p", address="a", mtu=1500, line_rate=1e9,
                 encapsulation="wireguard"),
        ],
    )  # fmt: skip
    def test_unknown(self, path: Path | None) -> None:
        assert ceiling(Workload(id="w", engine="iperf3", pattern="tcp"), "goodput", path) is None

    def test_a_line_that_was_given_is_there(self) -> None:
        """Two ends of one machine may have physical NICs of their own between them."""
        path = Path(name="x", target="t", peer="p", address="a", mtu=1500, line_rate=10e9,
                    same_host=True)  # fmt: skip
        tcp = Workload(id="w", engine="iperf3", pattern="tcp")
        assert ceiling(tcp, "goodput", path) == pytest.approx(9.41e9, rel=0.01)

    def test_there_is_none(self) -> None:
        both = Workload(id="w", engine="iperf3", pattern="tcp", direction="both")
        assert ceiling(both, "goodput", LINE) is None
        assert ceiling(Workload(id="w", engine="rr", pattern="x"), "latency_p99", LINE) is None

    def test_path_of_an_arm(self) -> None:
        other = Path(name="new", target="t", peer="p", address="a")
        assert path_of("new", [LINE, other]) is other
        assert path_of("before", [LINE]) is LINE
        assert path_of("before", [LINE, other]) is None

    def test_filled_and_exceeded(self) -> None:
        assert (fills(0.97, 1.0), fills(0.96, 1.0), fills(1.1, 1.0), fills(1.0, None)) == (
            True, False, False, False,
        )  # fmt: skip
        assert (exceeds(1.1, 1.0), exceeds(1.0, 1.0), exceeds(9.0, None)) == (True, False, False)
