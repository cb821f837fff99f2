"""What is made of the answers of both ends, whatever they are. Real ones are in test_netns.py."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench.endpoints.said import Answer, Saying
from tests.bench.running.fakes import profile
from tests.bench.two_links import TwoLinks, two_links
from tests.cli.command import vnicaudit
from vnicaudit.bench.endpoints.addresses import (
    address_of,
    is_host_name,
    refuse_local_route,
    resolved_at,
)
from vnicaudit.bench.endpoints.ip_output import (
    HeldAddress,
    RouteKind,
    held_addresses,
    held_addresses_of,
    next_hops,
)
from vnicaudit.bench.endpoints.opening import PathOption
from vnicaudit.bench.running.opening import OpenedEndpoints
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.host import GuestInterface
from vnicaudit.model.measurement import Ran


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


# Host names in the place of addresses.


@pytest.mark.parametrize("text", ["web01", "web01.example.org", "a.b.", "x_1.lab", "1.lab", "7up"])
def test_a_name(text: str) -> None:
    assert is_host_name(text)


@pytest.mark.parametrize(
    "text",
    ["", ".", "192.0.2.1", "192.0.2", "2001:db8::1", "-a", "a-", "a b", "a..b", "ä", "a" * 254],
)
def test_what_is_no_name(text: str) -> None:
    assert not is_host_name(text)


class Resolver:
    """An endpoint whose ``getent`` prints that."""

    url = "ssh://gen1"

    def __init__(self, stdout: str, code: int = 0, stderr: str = "") -> None:
        self._said = code, stdout, stderr

    def run(self, argv: tuple[str, ...], *, seconds: float) -> Ran:
        assert (argv[:2], seconds > 0) == (("getent", "ahosts"), True)
        return Ran(argv, *self._said)


def resolved(stdout: str, code: int = 0, stderr: str = "") -> str:
    return resolved_at(Resolver(stdout, code, stderr), "web01")  # type: ignore[arg-type]


# glibc 2.36; musl's prints STREAM alone
BOTH = """\
2001:db8::7     STREAM web01.example.org
2001:db8::7     DGRAM
192.0.2.7       STREAM
192.0.2.7       DGRAM
"""


def test_ipv4_before_ipv6() -> None:
    assert resolved(BOTH) == "192.0.2.7"
    assert resolved(BOTH.partition("192")[0]) == "2001:db8::7"


def test_several_are_listed() -> None:
    with pytest.raises(UsageError, match=r"\(192\.0\.2\.7, 192\.0\.2\.8\)"):
        resolved(BOTH + "192.0.2.8 STREAM\n")


def test_none() -> None:
    for code, stdout in ((2, ""), (0, "\nno address here\n"), (127, BOTH)):
        with pytest.raises(EndpointError) as error:
            resolved(stdout, code, "getent: not found\n" if code == 127 else "")
        assert str(error.value).startswith("ssh://gen1 cannot resolve 'web01'")
        assert ("not found" in str(error.value)) == (code == 127)


def test_a_name_of_the_peer_itself() -> None:
    with pytest.raises(UsageError, match=r"'web01' is 127\.0\.1\.1, which is that end itself"):
        resolved("127.0.1.1 STREAM web01\n")


# Paths that would take no NIC are refused before anything is measured.


@pytest.fixture(scope="module")
def links() -> Iterator[TwoLinks]:
    with two_links() as made:
        yield made


def test_a_path_between_two_namespaces(links: TwoLinks) -> None:
    refuse_local_route(links.target, links.peer, "192.0.2.1", one_kernel=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_loopback_that_is_asked_for(links: TwoLinks, address: str) -> None:
    refuse_local_route(links.target, links.target, address, one_kernel=True)


def test_an_address_of_the_peer(links: TwoLinks) -> None:
    with pytest.raises(UsageError) as error:
        refuse_local_route(links.target, links.peer, "192.0.2.2", one_kernel=True)
    assert str(error.value).startswith(
        f"{links.peer.url}: 192.0.2.2 is an address of this end itself (its route is local)"
    )


def test_both_ends_are_one(links: TwoLinks) -> None:
    """Also where the address is another machine's."""
    url = links.target.url
    for address in ("192.0.2.1", "192.0.2.2"):
        path = PathOption("a", f"{url}?address={address}", url)
        with ExitStack() as stack, pytest.raises(UsageError, match="in the same network namespace"):
            OpenedEndpoints(stack, adapters).open(path, profile())


def test_nothing_is_measured(links: TwoLinks, tmp_path_factory: pytest.TempPathFactory) -> None:
    state = tmp_path_factory.mktemp("state")
    path = f"{links.target.url}?address=192.0.2.1,{links.target.url}"
    done = vnicaudit("bench", "run", path, "-p", "smoke", "--state", state)
    assert (done.returncode, done.stdout) == (2, "")
    assert "in the same network namespace" in done.stderr
    assert list(state.iterdir()) == []


# The way to an address: from what was recorded, and from anything else.


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


def test_the_whole_answer_of_a_route_counts() -> None:
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
