"""Path MTU by ping."""

import msgspec
import pytest

from tests.bench.guards.canned import WAY, Canned, ends, recorded
from vnicaudit.bench.facts.guards import GUARDS, check
from vnicaudit.model.measurement import Path as Way

path_mtu = GUARDS["path_mtu"]
FULL = "ping/iputils-20221126-full.txt"
TOO_LONG = "ping/iputils-20221126-too-long.txt"
UNDECLARED = msgspec.structs.replace(WAY, mtu=None)


def test_the_declared_size_passes() -> None:
    peer = Canned(ping=recorded(FULL))
    rail = check(path_mtu, ends(peer=peer), WAY, path_mtu.before(ends(peer=peer), WAY))
    assert (rail.verdict, rail.detail) == ("ok", "1500 B: 3 of 3 got through")
    assert peer.commands[-1][-5:] == ("-M", "do", "-s", "1472", "192.0.2.2")


def test_over_ipv6_the_headers_are_longer() -> None:
    peer = Canned(ping=recorded(FULL))
    path_mtu.before(ends(peer=peer)._replace(address="2001:db8::2"), WAY)
    assert peer.commands[-1][-5:] == ("-M", "do", "-s", "1452", "2001:db8::2")


def test_it_does_not_pass_any_more() -> None:
    peer = Canned(ping=recorded(FULL))
    kept = path_mtu.before(ends(peer=peer), WAY)
    peer.answers["ping"] = recorded(TOO_LONG, 1)
    rail = check(path_mtu, ends(peer=peer), WAY, kept)
    assert rail.verdict == "failed"
    assert rail.detail == "1500 B: ping: local error: message too long, mtu=1500"


def test_what_did_not_pass_before_says_nothing() -> None:
    here = ends(peer=Canned(ping=recorded(TOO_LONG, 1)))
    rail = check(path_mtu, here, WAY, path_mtu.before(here, WAY))
    assert rail.verdict == "unknown"
    assert rail.detail == (
        "1500 B did not get through before either: ping: local error: message too long, mtu=1500"
    )


def test_busybox_cannot_tell() -> None:
    here = ends(peer=Canned(ping=recorded("ping/busybox-1.35-no-M.txt", 1)))
    rail = check(path_mtu, here, WAY, path_mtu.before(here, WAY))
    assert rail.verdict == "unknown"
    assert "ping ended with exit code 1: ping: invalid option -- 'M'" in rail.detail


def test_without_a_known_mtu() -> None:
    here = ends(peer=Canned(ping=recorded(FULL)))
    rail = check(path_mtu, here, UNDECLARED, path_mtu.before(here, UNDECLARED))
    assert (rail.verdict, rail.detail) == ("unknown", "the MTU of the target's NIC is unknown")


def test_loopback_says_more_than_an_ip_packet_holds() -> None:
    peer = Canned(ping=recorded(FULL))
    path_mtu.before(ends(peer=peer), msgspec.structs.replace(WAY, mtu=65536))
    assert "65507" in peer.commands[-1]


@pytest.mark.parametrize(
    ("peer", "way", "said"),
    [
        (Canned(ping=recorded(FULL)), WAY, ""),
        (Canned(), UNDECLARED, ""),
        (Canned(), WAY, ""),
        (
            Canned(ping=recorded(TOO_LONG, 1)),
            WAY,
            "1500 B: ping: local error: message too long, mtu=1500",
        ),
    ],
    ids=["passed", "unknown", "no tool", "did not get through"],
)
def test_what_was_wrong_before_the_first_run(peer: Canned, way: Way, said: str) -> None:
    assert path_mtu.trouble(path_mtu.before(ends(peer=peer), way)) == said
