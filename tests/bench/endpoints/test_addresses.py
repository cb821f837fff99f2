"""What is made of the answers of both ends, whatever they are. Real ones are in test_netns.py."""

import json
from collections.abc import Sequence

import pytest

from tests.bench.endpoints.said import Answer, Saying
from vnicaudit.bench.endpoints.addresses import address_of
from vnicaudit.bench.endpoints.ip_output import (
    HeldAddress,
    RouteKind,
    held_addresses,
    held_addresses_of,
    next_hops,
)
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.host import GuestInterface


def nic(*infos: dict[str, object], mac: str = "52:54:00:00:00:01", up: bool = True) -> object:
    flags = ["BROADCAST", "UP"] if up else ["BROADCAST"]
    return {"ifname": "eth0", "address": mac, "flags": flags, "addr_info": infos}


def address(local: str, scope: str = "global", **more: object) -> dict[str, object]:
    family = "inet6" if ":" in local else "inet"
    return {"family": family, "local": local, "scope": scope, "prefixlen": 24, **more}


def test_lasting_global_addresses_are_held() -> None:
    text = json.dumps([
        nic(address("127.0.0.1", "host"), address("::1", "host")),
        nic(
            address("192.0.2.1"), address("fe80::1", "link"), address("2001:db8::1"),
            address("2001:db8::2", temporary=True), address("2001:db8::3", tentative=True),
            address("2001:db8::4", deprecated=True), address("2001:db8::5", dadfailed=True),
            address("2001:DB8:0::6", dynamic=True, mngtmpaddr=True), mac="52:54:00:AA:00:01",
        ),
        nic(address("192.0.2.9"), up=False),
    ])  # fmt: skip
    mac = "52:54:00:aa:00:01"
    assert held_addresses(text) == [
        HeldAddress(one, "eth0", mac) for one in ("192.0.2.1", "2001:db8::1", "2001:db8::6")
    ]


@pytest.mark.parametrize(
    "local", ["", "eth0", "192.0.2.1/24", "0.0.0.0", "224.0.0.1", "fe80::1%eth0", "\x1b[2J", "::1"]
)
def test_what_nobody_can_send_to_is_not_held(local: str) -> None:
    assert held_addresses(json.dumps([nic(address(local))])) == []


@pytest.mark.parametrize(
    "text", ["", "[", "{}", "1", "[1]", '[{"addr_info": 7}]', "2: eth0: <UP>", "[" * 100_000]
)
def test_what_is_not_of_that_shape_is_none(text: str) -> None:
    assert held_addresses(text) is None


def test_the_whole_answer_counts() -> None:
    """Cut off anywhere, it is none."""
    text = json.dumps([nic(address("192.0.2.1"), address("2001:db8::1"))])
    assert held_addresses(text) is not None
    assert [held_addresses(text[:end]) for end in range(len(text))] == [None] * len(text)


def test_too_long_an_answer_is_none() -> None:
    assert held_addresses("[" + " " * (8 * 2**20) + "]") is None
    many = held_addresses(json.dumps([nic(*[address("192.0.2.1")] * 5000)]))
    assert many is not None
    assert len(many) == 4096


def test_an_agent_lists_them_too() -> None:
    listed = [
        GuestInterface("lo", None, ("127.0.0.1/8", "::1/128")),
        GuestInterface("eth0", "52:54:00:00:00:01", ("192.0.2.1/24", "fe80::1/64")),
    ]
    assert held_addresses_of(listed) == [HeldAddress("192.0.2.1", "eth0", "52:54:00:00:00:01")]


@pytest.mark.parametrize(
    ("line", "way"),
    [
        ('[{"dst":"192.0.2.1","dev":"eth0","prefsrc":"192.0.2.2","flags":[],"uid":0,"cache":[]}]',
         RouteKind.LINK),
        ('[{"dst":"8.8.8.8","gateway":"192.0.2.1","dev":"eth0"}]', RouteKind.ROUTER),
        ('[{"dst":"8.8.8.8","via":{"family":"inet6","host":"fe80::1"},"dev":"eth0"}]',
         RouteKind.ROUTER),
        ('[{"type":"local","dst":"127.0.0.1","dev":"lo","cache":["local"]}]', RouteKind.LOCAL),
        ('[{"type":"unreachable","dst":"192.0.2.1","dev":"eth1"}]', RouteKind.NONE),
        ("[]", RouteKind.NONE),
        ("[ ]", RouteKind.NONE),
        ("[1]", RouteKind.NONE),
        ("RTNETLINK answers: Network is unreachable", RouteKind.NONE),
    ],
)  # fmt: skip
def test_a_route_says_the_way(line: str, way: RouteKind) -> None:
    assert next_hops(f"{line}\n", ["192.0.2.1"]) == {"192.0.2.1": way}


def test_each_address_has_its_line() -> None:
    text = '[{"dev":"eth0"}]\n[]\n'
    assert next_hops(text, ["192.0.2.1", "2001:db8::1"]) == {
        "192.0.2.1": RouteKind.LINK,
        "2001:db8::1": RouteKind.NONE,
    }
    assert next_hops(text, ["192.0.2.1"]) is None


def target(*locals_: str, code: int = 0, listed: list[GuestInterface] | None = None) -> Saying:
    """One whose ``ip`` says these addresses, or fails."""
    text = json.dumps([nic(*(address(local) for local in locals_))])
    return Saying("agent://web01", lambda _argv: (code, "" if code else text), listed)


def peer(**routes: str) -> Saying:
    """One with a route (``link``, ``router`` or ``local``) to each of these addresses."""
    lines = {
        "link": '[{"dev":"eth0"}]',
        "router": '[{"dev":"eth0","gateway":"192.0.2.254"}]',
        "local": '[{"dev":"lo","type":"local"}]',
    }

    def answer(argv: Sequence[str]) -> Answer:
        if "boot_id" in argv[2]:
            return 0, "other-machine net:[1]\n"
        return 0, "".join(f"{lines.get(routes.get(one, ''), '[]')}\n" for one in argv[4:])

    return Saying("ssh://lab7", answer)


def test_a_guest_without_iproute2_is_asked_through_its_agent() -> None:
    listed = [GuestInterface("eth0", "52:54:00:00:00:01", ("192.0.2.7/24",))]
    found = address_of(target(code=127, listed=listed), peer(**{"192.0.2.7": "link"}), None, None)
    assert found == "192.0.2.7"


def test_a_target_that_cannot_list_any_says_what_to_do() -> None:
    with pytest.raises(EndpointError) as error:
        address_of(target(code=1), peer(), None, None)
    assert str(error.value) == (
        "agent://web01 cannot list its addresses (that needs `ip -j addr show` of iproute2 "
        "4.17 or later): install iproute2, or append it to the URL: ?address=IP"
    )


def test_a_peer_without_iproute2_takes_the_only_one() -> None:
    mute = Saying("ssh://lab7", lambda _argv: (3, ""))
    assert address_of(target("192.0.2.1", "2001:db8::1"), mute, None, None) == "192.0.2.1"
    with pytest.raises(UsageError, match=r"several addresses \(192\.0\.2\.1, 192\.0\.2\.9\)"):
        address_of(target("192.0.2.9", "192.0.2.1"), mute, None, None)


def test_a_link_over_ipv6_is_better_than_a_router_over_ipv4() -> None:
    routes = {"192.0.2.1": "router", "2001:db8::1": "link"}
    found = address_of(target("192.0.2.1", "2001:db8::1"), peer(**routes), None, None)
    assert found == "2001:db8::1"


def test_the_peers_own_address_does_not_count_on_another_machine() -> None:
    with pytest.raises(
        EndpointError, match=r"^ssh://lab7 cannot reach any known address of agent://web01"
    ):
        address_of(target("172.17.0.1"), peer(**{"172.17.0.1": "local"}), None, None)


def test_many_are_not_all_listed() -> None:
    locals_ = [f"192.0.2.{n}" for n in range(1, 200)]
    with pytest.raises(UsageError) as error:
        address_of(target(*locals_), peer(**dict.fromkeys(locals_, "link")), None, None)
    assert str(error.value) == (
        "agent://web01 has several addresses (192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, "
        "192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8, …): append it to the URL: ?address=IP"
    )
