"""``vnicaudit bench line-rate``: the figures of IBM's talk and of RFC 2544, as they are shown."""

from __future__ import annotations

import json

import pytest

from tests.cli.inside import inside as vnicaudit


def lines(*arguments: str) -> list[str]:
    result = vnicaudit("bench", "line-rate", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_a_line_of_25g() -> None:
    assert lines("--speed", "25G") == [
        "25 Gb/s, MTU 1500, IPv4",
        "  38 B on the line beside each packet, 1448 B of data in one of TCP",
        "",
        "  goodput                       at most  of the line",
        "  TCP                       23.537 Gb/s  94.15 %",
        "  TCP without timestamps    23.732 Gb/s  94.93 %",
        "  UDP                       23.927 Gb/s  95.71 %",
        "",
        "  frames                        at most",
        "  64 B                    37.202M pkt/s",
        "  128 B                   21.115M pkt/s",
        "  256 B                   11.322M pkt/s",
        "  512 B                   5.8741M pkt/s",
        "  1024 B                  2.9933M pkt/s",
        "  1280 B                  2.4038M pkt/s",
        "  1518 B                  2.0319M pkt/s",
    ]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--speed", "25G", "--mtu", "9000"), "  TCP                       24.751 Gb/s  99.00 %"),
        (("--speed", "10G", "--mtu", "9000"), "  9018 B                   138.3k pkt/s"),
        (("--speed", "10G"), "  64 B                    14.881M pkt/s"),
        (("--speed", "1G", "--ipv6"), "  TCP                       928.48 Mb/s  92.85 %"),
        (
            ("--speed", "100G", "--mtu", "1450", "--encapsulation", "vxlan"),
            "  TCP                       90.897 Gb/s  90.90 %",
        ),
        (
            ("--speed", "100G", "--mtu", "1450", "--encapsulation", "vxlan"),
            "100 Gb/s, MTU 1450, IPv4 in vxlan over IPv4",
        ),
        (("--speed", "10G", "--encapsulation", "vlan"), "10 Gb/s, MTU 1500, IPv4 in vlan"),
        (("--speed", "10G", "--size", "594"), "  594 B                   2.0358M pkt/s"),
        (
            ("--speed", "25G", "--goodput", "13.4G"),
            "13.4 Gb/s is 56.93 % of what TCP can carry here, 56.00 % of what UDP can",
        ),
        (
            ("--speed", "10G", "--goodput", "19G"),
            "19 Gb/s is 201.81 % of what TCP can carry here, 198.52 % of what UDP can: more than "
            "one such line can carry",
        ),
    ],
)
def test_other_lines(arguments: tuple[str, ...], shown: str) -> None:
    assert shown in lines(*arguments)


def test_without_timestamps_there_is_one_tcp() -> None:
    shown = [line.split("  ")[1] for line in lines("--speed", "1G", "--no-timestamps")[4:6]]
    assert shown == ["TCP without timestamps", "UDP"]


def test_no_frame_of_a_tunnel_is_smaller_than_its_headers() -> None:
    shown = lines("--speed", "10G", "--mtu", "1450", "--encapsulation", "vxlan")
    assert not any(line.startswith("  64 B") for line in shown)


def test_json() -> None:
    result = vnicaudit(
        "bench", "line-rate", "--speed", "25G", "--size", "64", "--goodput", "13.4G",
        "--format", "json",
    )  # fmt: skip
    document = json.loads(result.stdout)
    assert document["schema"] == "vnicaudit.line-rate/1"
    assert document["line"]["speed"] == 25e9
    assert document["line"]["tcp"] == pytest.approx(25e9 * 1448 / 1538)
    assert document["line"]["packet_rates"] == [{"frame": 64, "rate": pytest.approx(25e9 / 672)}]
    assert document["share"]["of_tcp"] == pytest.approx(56.93, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--speed'"),
        (("--speed", "fast"), "'fast' is not a speed: write it as 25G, 100M or 2.5G"),
        (("--speed", "1G", "--goodput", "x"), "'x' is not a speed"),
        (("--speed", "1G", "--mtu", "9"), "an MTU is 576 to 65535 octets, not 9"),
        (
            ("--speed", "1G", "--size", "1519"),
            "--size 1519: frames on this link have 64 to 1518 bytes",
        ),
        (("--speed", "1G", "--size", "63"), "--size 63: frames on this link have 64 to 1518 bytes"),
        (("--speed", "1G", "--outer-ipv6"), "--outer-ipv6 needs a tunnel"),
        (("--speed", "1G", "--encapsulation", "mpls"), "'mpls' is not one of"),
    ],
)
def test_what_makes_no_sense(arguments: tuple[str, ...], message: str) -> None:
    result = vnicaudit("bench", "line-rate", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
