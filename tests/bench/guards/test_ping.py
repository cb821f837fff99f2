"""Ping: its summaries, and what is made of them."""

from pathlib import Path

import msgspec
import pytest

from tests.bench.guards.canned import DATA, WAY, Canned, Said, ends, recorded
from vnicaudit.bench.facts.guards import GUARDS, Pinged, check, ping_summary
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Path as Way

ping = GUARDS["ping"]
WITH_SUMMARY = {
    "iputils-20221126-ok": Pinged(10, 10, 0.060),
    "iputils-20221126-ok6": Pinged(10, 10, 0.055),
    "iputils-20221126-none": Pinged(10, 0, None),
    "iputils-20221126-some": Pinged(10, 5, 0.099),
    "iputils-20221126-full": Pinged(3, 3, 0.129),
    "iputils-20221126-too-long": Pinged(3, 0, None),
    "busybox-1.35-ok": Pinged(10, 10, 0.054),
    "busybox-1.35-none": Pinged(10, 0, None),
    "busybox-1.35-slow": Pinged(10, 10, 308.601),
}
FILES = sorted((DATA / "ping").glob("*.txt"))


def text(name: str) -> str:
    return (DATA / "ping" / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_recorded(path: Path) -> None:
    if path.stem in WITH_SUMMARY:
        assert ping_summary(path.read_text("utf-8")) == WITH_SUMMARY[path.stem]
    else:
        with pytest.raises(MeasureError, match="ping printed no summary"):
            ping_summary(path.read_text("utf-8"))


@pytest.mark.parametrize("name", WITH_SUMMARY)
def test_cut_off_anywhere_it_is_an_error(name: str) -> None:
    whole = text(name)
    for end in range(len(whole)):
        with pytest.raises(MeasureError):
            ping_summary(whole[:end])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        # iputils, ping_common.c, finish()
        (
            "5 packets transmitted, 5 received, +3 duplicates, 0% packet loss, time 812ms\n"
            "rtt min/avg/max/mdev = 0.039/0.054/0.082/0.019 ms, pipe 2\n",
            Pinged(5, 5, 0.054),
        ),
        (
            "5 packets transmitted, 2 received, +1 corrupted, +2 errors, 60% packet loss, "
            "time 812ms\nrtt min/avg/max/mdev = 0.039/0.054/0.082/0.019 ms\n",
            Pinged(5, 2, 0.054),
        ),
        # busybox, networking/ping.c, print_stats_and_exit()
        (
            "5 packets transmitted, 5 packets received, 2 duplicates, 0% packet loss\n"
            "round-trip min/avg/max = 0.045/0.059/0.068 ms\n",
            Pinged(5, 5, 0.059),
        ),
    ],
)
def test_forms_that_were_not_recorded(line: str, found: Pinged) -> None:
    assert ping_summary(f"--- 192.0.2.2 ping statistics ---\n{line}") == found


def test_it_answers_as_before() -> None:
    here = ends(peer=Canned(ping=recorded("ping/iputils-20221126-ok.txt")))
    rail = check(ping, here, WAY, ping.before(here, WAY))
    assert rail.verdict == "ok"
    assert rail.detail == "192.0.2.2: 10 of 10 answered, mean 0.06 ms"


def test_it_does_not_answer_any_more() -> None:
    peer = Canned(ping=recorded("ping/iputils-20221126-ok.txt"))
    kept = ping.before(ends(peer=peer), WAY)
    peer.answers["ping"] = recorded("ping/iputils-20221126-none.txt", 1)
    rail = check(ping, ends(peer=peer), WAY, kept)
    assert (rail.verdict, rail.detail) == ("failed", "192.0.2.2: 0 of 10 answered, 10 before")


def test_there_is_no_way_to_it_any_more() -> None:
    for tool in ("iputils-20221126", "busybox-1.35"):
        peer = Canned(ping=recorded(f"ping/{tool}-ok.txt"))
        kept = ping.before(ends(peer=peer), WAY)
        peer.answers["ping"] = recorded(f"ping/{tool}-no-route.txt", 2)
        rail = check(ping, ends(peer=peer), WAY, kept)
        assert rail.verdict == "failed"
        assert "0 of 10 answered, 10 before (ping: " in rail.detail
        assert "Network is unreachable)" in rail.detail


def test_half_of_the_packets_are_lost() -> None:
    peer = Canned(ping=recorded("ping/iputils-20221126-ok.txt"))
    kept = ping.before(ends(peer=peer), WAY)
    peer.answers["ping"] = recorded("ping/iputils-20221126-some.txt")
    rail = check(ping, ends(peer=peer), WAY, kept)
    assert rail.verdict == "failed"
    assert rail.detail == "192.0.2.2: 5 of 10 answered, mean 0.099 ms, 10 before"


def test_what_was_lost_before_may_be_lost_after() -> None:
    here = ends(peer=Canned(ping=recorded("ping/iputils-20221126-some.txt")))
    assert check(ping, here, WAY, ping.before(here, WAY)).verdict == "ok"


def test_what_never_answered_says_nothing() -> None:
    here = ends(peer=Canned(ping=recorded("ping/iputils-20221126-none.txt", 1)))
    rail = check(ping, here, WAY, ping.before(here, WAY))
    assert rail.verdict == "unknown"
    assert rail.detail == "192.0.2.2 did not answer ping before either"


def test_where_there_is_no_ping_its_package_is_named() -> None:
    rail = check(ping, ends(), WAY, ping.before(ends(), WAY))
    assert rail.verdict == "unknown"
    assert rail.detail == "ping is not installed: iputils-ping (apt), iputils (dnf)"


def test_ping_that_did_not_end() -> None:
    peer = Canned(ping=recorded("ping/iputils-20221126-ok.txt"))
    kept = ping.before(ends(peer=peer), WAY)
    peer.answers["ping"] = Said(code=None)
    rail = check(ping, ends(peer=peer), WAY, kept)
    assert (rail.verdict, rail.detail) == ("unknown", "192.0.2.2: ping did not end in time")


def test_the_other_family_is_looked_at_too() -> None:
    peer = Canned(
        ping=recorded("ping/iputils-20221126-ok.txt"),
        **{"2001:db8::2": recorded("ping/iputils-20221126-ok6.txt")},
    )
    target = Canned(ip=recorded("ip/addr.json"))
    kept = ping.before(ends(target, peer), WAY)
    peer.answers["2001:db8::2"] = recorded("ping/iputils-20221126-none.txt", 1)
    rail = check(ping, ends(target, peer), WAY, kept)
    assert rail.verdict == "failed"
    assert rail.detail == (
        "192.0.2.2: 10 of 10 answered, mean 0.06 ms; 2001:db8::2: 0 of 10 answered, 10 before"
    )


def test_a_family_that_did_not_answer_before_is_left_out() -> None:
    peer = Canned(
        ping=recorded("ping/iputils-20221126-ok.txt"),
        **{"2001:db8::2": recorded("ping/iputils-20221126-no-route.txt", 2)},
    )
    here = ends(Canned(ip=recorded("ip/addr.json")), peer)
    rail = check(ping, here, WAY, ping.before(here, WAY))
    assert (rail.verdict, rail.detail) == ("ok", "192.0.2.2: 10 of 10 answered, mean 0.06 ms")


# Path MTU by ping.


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


# What all guard rails have in common.


@pytest.mark.parametrize("name", GUARDS)
def test_where_nothing_is_installed_it_is_unknown_and_says_why(name: str) -> None:
    guard = GUARDS[name]
    here = ends()
    rail = check(guard, here, WAY, guard.before(here, WAY))
    assert rail.verdict == "unknown"
    assert "not installed" in rail.detail


@pytest.mark.parametrize("name", GUARDS)
def test_where_nothing_was_kept_it_is_unknown_too(name: str) -> None:
    assert check(GUARDS[name], ends(), WAY, "").verdict == "unknown"


@pytest.mark.parametrize("name", ["addresses", "ping"])
def test_most_find_nothing_wrong_before_the_first_run(name: str) -> None:
    guard = GUARDS[name]
    assert guard.trouble(guard.before(ends(), WAY)) == ""
