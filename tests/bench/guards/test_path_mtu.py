"""Path MTU by ping, or by tracepath."""

from pathlib import Path

import msgspec
import pytest

from tests.bench.guards.canned import DATA, WAY, Canned, ends, recorded
from vnicaudit.bench.facts import guards
from vnicaudit.bench.facts.guards import GUARDS, check
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Path as Way

path_mtu = GUARDS["path_mtu"]
REACHED = {"20221126-reached": 1500, "20221126-reached6": 1500, "20221126-mtu1400": 1400}
FILES = sorted((DATA / "tracepath").glob("*.txt"))
FULL = "ping/iputils-20221126-full.txt"
TOO_LONG = "ping/iputils-20221126-too-long.txt"
UNDECLARED = msgspec.structs.replace(WAY, mtu=None)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_recorded(path: Path) -> None:
    whole = path.read_text("utf-8")
    if path.stem in REACHED:
        assert guards.path_mtu(whole) == REACHED[path.stem]
    else:
        with pytest.raises(MeasureError, match="tracepath did not reach the other end"):
            guards.path_mtu(whole)


@pytest.mark.parametrize("name", REACHED)
def test_cut_off_anywhere_it_is_an_error(name: str) -> None:
    whole = (DATA / "tracepath" / f"{name}.txt").read_text("utf-8")
    for end in range(len(whole)):
        with pytest.raises(MeasureError):
            guards.path_mtu(whole[:end])


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


def test_by_tracepath_where_ping_is_busybox() -> None:
    peer = Canned(
        ping=recorded("ping/busybox-1.35-no-M.txt", 1),
        tracepath=recorded("tracepath/20221126-reached.txt"),
    )
    kept = path_mtu.before(ends(peer=peer), WAY)
    rail = check(path_mtu, ends(peer=peer), WAY, kept)
    assert (rail.verdict, rail.detail) == ("ok", "1500 B: path MTU is 1500 (tracepath)")
    peer.answers["tracepath"] = recorded("tracepath/20221126-mtu1400.txt")
    rail = check(path_mtu, ends(peer=peer), WAY, kept)
    assert (rail.verdict, rail.detail) == ("failed", "1500 B: path MTU is 1400 (tracepath)")


def test_busybox_and_no_tracepath() -> None:
    here = ends(peer=Canned(ping=recorded("ping/busybox-1.35-no-M.txt", 1)))
    rail = check(path_mtu, here, WAY, path_mtu.before(here, WAY))
    assert rail.verdict == "unknown"
    assert "ping ended with exit code 1: ping: invalid option -- 'M'" in rail.detail
    assert rail.detail.endswith(
        "tracepath is not installed: iputils-tracepath (apt), iputils (dnf)"
    )


def test_without_a_declared_mtu_it_is_the_one_that_was_found() -> None:
    peer = Canned(ping=recorded(FULL), tracepath=recorded("tracepath/20221126-mtu1400.txt"))
    kept = path_mtu.before(ends(peer=peer), UNDECLARED)
    rail = check(path_mtu, ends(peer=peer), UNDECLARED, kept)
    assert (rail.verdict, rail.detail) == ("ok", "1400 B: 3 of 3 got through")
    assert "1372" in peer.commands[-1]


def test_without_a_declared_mtu_and_none_found() -> None:
    peer = Canned(ping=recorded(FULL), tracepath=recorded("tracepath/20221126-not-reached.txt"))
    rail = check(
        path_mtu, ends(peer=peer), UNDECLARED, path_mtu.before(ends(peer=peer), UNDECLARED)
    )
    assert rail.verdict == "unknown"
    assert rail.detail == "no MTU is declared, and tracepath did not reach the other end"


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
