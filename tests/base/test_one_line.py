"""What tools say becomes one short line."""

import pytest

from vnicaudit.base.wording import one_line

BUSYBOX = """ping: unrecognized option: M
BusyBox v1.36.1 (2024-06-10 07:11:47 UTC) multi-call binary.

Usage: ping [OPTIONS] HOST

Send ICMP ECHO_REQUESTs to HOST
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (BUSYBOX, "ping: unrecognized option: M"),
        (BUSYBOX.partition("\n")[2], ""),
        ("\n\x1b[31mno\tway\x07\nmore", "[31mno way"),
        ("", ""),
        ("x" * 500, "x" * 199 + "…"),
    ],
)
def test_one_short_line_and_no_usage_page(text: str, line: str) -> None:
    assert one_line(text) == line


def test_the_last_line_is_not_of_a_usage_page() -> None:
    assert one_line("iperf3: parameter error\nUsage: iperf3 [-s]\n  -p port", last=True) == (
        "iperf3: parameter error"
    )
    assert one_line("one\ntwo\n", last=True) == "two"
