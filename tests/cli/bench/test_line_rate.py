"""``vnicaudit bench line-rate``: the figures of IBM's talk and of RFC 2544, as they are shown."""

import json

import pytest

from tests.cli.inside import inside as vnicaudit
from tests.rows import rows_of_tuples


def lines(*arguments: str) -> list[str]:
    result = vnicaudit("bench", "line-rate", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_a_line_of_25g() -> None:
    assert lines("--speed", "25G") == [
        "25 Gb/s, MTU 1500, IPv4",
        "  38 B of overhead on the line per packet, 1448 B of data per TCP packet",
        "",
        "  goodput                       at most  of the line",
        "  TCP                       23.537 Gb/s  94.15 %",
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


@rows_of_tuples
def test_other_lines(arguments: tuple[str, ...], shown: str) -> None:
    assert shown in lines(*arguments)


def test_no_frame_of_a_tunnel_is_smaller_than_its_headers() -> None:
    shown = lines("--speed", "10G", "--mtu", "1450", "--encapsulation", "vxlan")
    assert not any(line.startswith("  64 B") for line in shown)


def test_json() -> None:
    result = vnicaudit(
        "bench", "line-rate", "--speed", "25G", "--goodput", "13.4G", "--format", "json"
    )
    document = json.loads(result.stdout)
    assert document["schema"] == "vnicaudit.line-rate/1"
    assert (document["speed"], document["goodput"]) == (25e9, 13.4e9)
    assert document["tcp"] == pytest.approx(25e9 * 1448 / 1538)
    assert document["packet_rates"][0] == {"frame": 64, "rate": pytest.approx(25e9 / 672)}


@rows_of_tuples
def test_what_makes_no_sense(arguments: tuple[str, ...], message: str) -> None:
    result = vnicaudit("bench", "line-rate", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
