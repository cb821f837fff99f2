"""Endpoints in network namespaces, and the addresses by which they reach one another."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.adapters import open_endpoint
from tests.bench.endpoints.left import gone, until
from tests.not_run import not_run
from vnicaudit.bench.endpoints.addresses import address_of
from vnicaudit.bench.endpoints.session import EndpointSession
from vnicaudit.errors import EndpointError, UsageError

MAC = "52:54:00:00:00:01"
OTHER_MAC = "52:54:00:00:00:02"


class Two(NamedTuple):
    """Two ends of a path: ``eth0`` of the target has MAC and 192.0.2.1/24, the peer 192.0.2.2."""

    target: EndpointSession
    peer: EndpointSession

    def ip(self, words: str) -> None:
        """Change something at the target."""
        self._ip(self.target, words)

    def ip_peer(self, words: str) -> None:
        """Change something at the peer."""
        self._ip(self.peer, words)

    @staticmethod
    def _ip(session: EndpointSession, words: str) -> None:
        ran = session.run(["ip", *words.split()])
        assert ran.code == 0, ran.stderr


@pytest.fixture
def two() -> Iterator[Two]:
    if os.getuid() != 0 or shutil.which("ip") is None:
        not_run("tests", "network namespaces need root and iproute2")
    names = [f"vnt{os.getpid()}{end}" for end in "ab"]
    with ExitStack() as stack:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
        target, peer = (
            stack.enter_context(closing(open_endpoint(f"netns://{name}"))) for name in names
        )
        ends = Two(target, peer)
        ends.ip(f"link add eth0 address {MAC} type veth peer name eth0 netns {names[1]}")
        for session, address in ((target, "192.0.2.1/24"), (peer, "192.0.2.2/24")):
            Two._ip(session, "link set lo up")
            Two._ip(session, f"addr add {address} dev eth0")
            Two._ip(session, "link set eth0 up")
        yield ends
    until(lambda: gone(target.folder), "nothing is left")
    until(lambda: gone(peer.folder), "nothing is left")


def test_programs_run_in_the_namespace(two: Two) -> None:
    listed = two.target.run(["ip", "-br", "addr", "show", "dev", "eth0"]).stdout
    assert "192.0.2.1/24" in listed
    started = two.target.start(["sleep", "100"], seconds=60)
    assert started.running()
    assert started.stop().code is None


def test_a_namespace_that_is_not_there() -> None:
    if os.getuid() != 0 or shutil.which("ip") is None:
        not_run("tests", "network namespaces need root and iproute2")
    with pytest.raises(EndpointError) as error:
        open_endpoint("netns://none-such")
    assert str(error.value) == (
        'netns://none-such: Cannot open network namespace "none-such": No such file or directory'
    )


def test_the_address_on_the_link_is_found(two: Two) -> None:
    assert address_of(two.target, two.peer, None, None) == "192.0.2.1"
    assert address_of(two.peer, two.target, None, None) == "192.0.2.2"


def test_what_is_wanted_wins(two: Two) -> None:
    assert address_of(two.target, two.peer, "2001:DB8::7", None) == "2001:db8::7"
    with pytest.raises(UsageError, match=r"^not an IP address: '-web01'$"):
        address_of(two.target, two.peer, "-web01", None)


def test_a_name_is_resolved_where_it_is_connected_from(two: Two) -> None:
    """``ip netns exec`` puts /etc/netns/NAME/hosts in the place of /etc/hosts."""
    folder = Path("/etc/netns") / two.peer.url.removeprefix("netns://")
    folder.mkdir(parents=True)
    try:
        (folder / "hosts").write_text("192.0.2.1 web01.example.org\n127.0.1.1 self\n")
        with closing(open_endpoint(two.peer.url)) as peer:
            assert address_of(two.target, peer, "web01.example.org", None) == "192.0.2.1"
            with pytest.raises(UsageError, match="that end itself"):
                address_of(two.target, peer, "self", None)
    finally:
        shutil.rmtree(folder)


def test_the_interface_with_that_mac(two: Two) -> None:
    two.ip(f"link add eth1 address {OTHER_MAC} type veth peer name eth2")
    two.ip("addr add 192.0.2.9/32 dev eth1")
    two.ip("link set eth1 up")
    assert address_of(two.target, two.peer, None, MAC.upper()) == "192.0.2.1"
    assert address_of(two.target, two.peer, None, OTHER_MAC) == "192.0.2.9"
    with pytest.raises(EndpointError) as error:
        address_of(two.target, two.peer, None, "52:54:00:00:00:09")
    assert str(error.value) == (
        f"{two.target.url} has no interface with 52:54:00:00:00:09 that is up with a lasting "
        "address: append it to the URL: ?address=IP"
    )


def test_several_are_listed(two: Two) -> None:
    two.ip("addr add 192.0.2.10/24 dev eth0")
    with pytest.raises(UsageError) as error:
        address_of(two.target, two.peer, None, None)
    assert str(error.value) == (
        f"{two.target.url} has several addresses (192.0.2.1, 192.0.2.10): append it to the "
        "URL: ?address=IP"
    )


def test_a_link_is_better_than_a_router(two: Two) -> None:
    two.ip("addr add 198.51.100.1/32 dev eth0")
    two.ip_peer("route add default via 192.0.2.1")
    assert address_of(two.target, two.peer, None, None) == "192.0.2.1"


def test_one_behind_a_router_does_where_there_is_no_other(two: Two) -> None:
    two.ip("addr add 198.51.100.1/32 dev lo")
    two.ip("addr del 192.0.2.1/24 dev eth0")
    two.ip("addr add 192.0.2.77/24 dev eth0 scope link")
    two.ip_peer("route add default via 192.0.2.77")
    assert address_of(two.target, two.peer, None, None) == "198.51.100.1"


def test_an_address_of_the_peer_itself_is_not_the_target(two: Two) -> None:
    """docker0 has the same address on each machine."""
    for change in (two.ip, two.ip_peer):
        change("link add docker0 type veth peer name veth0")
        change("addr add 172.17.0.1/16 dev docker0")
        change("link set docker0 up")
    assert address_of(two.target, two.peer, None, None) == "192.0.2.1"


def test_ipv6_does_where_there_is_no_ipv4(two: Two) -> None:
    for change, address in ((two.ip, "2001:db8::1/64"), (two.ip_peer, "2001:db8::2/64")):
        change(f"addr add {address} dev eth0 nodad")
    assert address_of(two.target, two.peer, None, None) == "192.0.2.1"
    two.ip("addr del 192.0.2.1/24 dev eth0")
    assert address_of(two.target, two.peer, None, None) == "2001:db8::1"


def test_no_way_is_an_error(two: Two) -> None:
    two.ip_peer("addr del 192.0.2.2/24 dev eth0")
    with pytest.raises(EndpointError) as error:
        address_of(two.target, two.peer, None, None)
    assert str(error.value) == (
        f"{two.peer.url} cannot reach any known address of {two.target.url}: append it to "
        "the URL: ?address=IP"
    )


def test_an_interface_that_is_down_has_none(two: Two) -> None:
    two.ip("link set eth0 down")
    with pytest.raises(EndpointError, match="no interface that is up with a lasting address"):
        address_of(two.target, two.peer, None, None)


def test_a_machine_reaches_itself(two: Two) -> None:
    with closing(open_endpoint(two.target.url)) as again:
        assert address_of(two.target, again, None, None) == "192.0.2.1"
