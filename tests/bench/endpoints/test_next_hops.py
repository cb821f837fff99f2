"""The way to an address: from what was recorded, and from anything else."""

from pathlib import Path

from vnicaudit.bench.endpoints.ip_output import RouteKind, next_hops

RECORDED = (Path(__file__).parent / "data" / "route-get.txt").read_text("utf-8")
FOUND = {
    "192.0.2.2": RouteKind.LINK,
    "198.51.100.7": RouteKind.ROUTER,
    "192.0.2.1": RouteKind.LOCAL,
    "2001:db8::2": RouteKind.LINK,
    "203.0.113.9": RouteKind.NONE,
}


def test_as_it_was_recorded() -> None:
    assert next_hops(RECORDED, tuple(FOUND)) == FOUND


def test_the_whole_answer_counts() -> None:
    """Cut off anywhere, it tells nothing, or that the last one is not reached; never another way
    than there is."""
    text = RECORDED.strip()
    whole = [line for line in text.splitlines() if line]
    for end in range(len(text)):
        found = next_hops(text[:end], tuple(FOUND))
        assert found in (None, FOUND), text[:end]
        assert found is None or text[:end].count("\n") == len(whole) - 1


def test_a_line_counts_whole() -> None:
    for address, line in zip(FOUND, RECORDED.splitlines(), strict=True):
        for end in range(1, len(line)):
            assert next_hops(line[:end], [address]) == {address: RouteKind.NONE}, line[:end]


def test_too_long_a_line_is_no_way() -> None:
    line = RECORDED.splitlines()[0]
    assert next_hops("[" + " " * 65536 + line[1:], ["192.0.2.2"]) == {"192.0.2.2": RouteKind.NONE}
