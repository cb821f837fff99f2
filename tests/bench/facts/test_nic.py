"""The interface behind an address: from what was recorded, and from anything else."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bench.endpoints.said import Saying
from vnicaudit.bench.endpoints.ip_output import FoundNic, nic_in, nic_with
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Ran

ADDR = (Path(__file__).parent / "data" / "ip" / "addr.json").read_text("utf-8")
ETH0 = FoundNic("eth0", "52:54:00:12:34:56", 9000)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_the_one_that_has_the_address(address: str) -> None:
    assert nic_in(ADDR, address) == ETH0


def test_no_address_of_it_no_interface() -> None:
    assert nic_in(ADDR, "192.0.2.9") is None


def test_an_address_that_two_have_is_of_neither() -> None:
    twice = json.loads(ADDR)
    assert nic_in(json.dumps([*twice, twice[-1]]), "192.0.2.1") is None


def test_the_whole_answer_counts() -> None:
    """Cut off anywhere, it tells nothing: no MTU of which a digit is missing."""
    text = ADDR.rstrip("\n")
    assert nic_in(text, "192.0.2.1") == ETH0
    for end in range(len(text)):
        assert nic_in(text[:end], "192.0.2.1") is None


@pytest.mark.parametrize("mtu", [0, -1, 65537, 2**40])
def test_an_mtu_that_none_has_is_not_said(mtu: int) -> None:
    found = json.loads(ADDR)
    found[-1]["mtu"] = mtu
    assert nic_in(json.dumps(found), "192.0.2.1") == ETH0._replace(mtu=None)


def test_too_long_an_answer_is_none() -> None:
    assert nic_in("[" + " " * (8 * 2**20) + ADDR[1:], "192.0.2.1") is None


def test_it_is_asked_for_as_iproute2_knows_it() -> None:
    end = Saying("ssh://web01", lambda _argv: (0, ADDR))
    assert nic_with(end, "192.0.2.1") == ETH0
    assert end.commands == [("ip", "-j", "addr", "show")]


@pytest.mark.parametrize("code", [1, 127, None])
def test_a_program_that_fails_tells_nothing(code: int | None) -> None:
    assert nic_with(Saying("ssh://web01", lambda _argv: (code, ADDR)), "192.0.2.1") is None


def test_an_end_that_is_lost_tells_nothing() -> None:
    class Lost(Saying):
        def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
            raise EndpointError(f"{self.url}: {argv} {seconds} {stdin!r}")

    assert nic_with(Lost("ssh://web01", lambda _argv: (0, ADDR)), "192.0.2.1") is None
