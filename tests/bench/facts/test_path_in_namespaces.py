"""By which NIC a run's payload went, between real network namespaces."""

from collections.abc import Callable, Iterator

import pytest

from tests.bench.two_links import TwoLinks, two_links
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.facts import path_check
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.model.measurement import NicBytes, Path

SENT = 2_000_000
ETH0, ETH1 = "192.0.2.1", "198.51.100.1"


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoLinks]:
    monkeypatch.setattr(path_check, "LAG_SECONDS", 0.0)  # veth has no driver that lags
    with two_links() as made:
        yield made


def watched(
    links: TwoLinks, address: str, send: Callable[[], None]
) -> tuple[Watch, list[NicBytes]]:
    path = Path(name="p", target="netns://a", peer="netns://b", address=address)
    watch = Watch(links.ends(address), path, None, None)
    watch.begin()
    send()
    return watch, list(watch.end(Measured(bytes=SENT)).nics)


def names(found: list[NicBytes]) -> list[tuple[str, str, bool]]:
    return [(nic.end, nic.nic, nic.is_subject) for nic in found]


def run(links: TwoLinks, address: str) -> list[NicBytes]:
    watch, found = watched(links, address, lambda: links.send(address, SENT))
    assert watch.unchecked == {}
    return found


RIGHT = [("target", "eth0", True), ("peer", "eth0", True)]


def test_the_nic_that_is_meant(links: TwoLinks) -> None:
    found = run(links, ETH0)
    assert names(found) == RIGHT
    assert all(SENT <= nic.bytes < 1.2 * SENT for nic in found)


def test_a_route_leads_to_the_other_nic(links: TwoLinks) -> None:
    """The peer's own NIC is the one of its route; the target's is not the one with the address."""
    links.at_peer(f"route add {ETH0}/32 via {ETH1}")
    found = run(links, ETH0)
    assert names(found) == [
        ("target", "eth0", True), ("target", "eth1", False), ("peer", "eth1", True),
    ]  # fmt: skip
    assert found[1].bytes >= SENT
    assert found[0].bytes < SENT / 100


def test_nothing_but_loopback_carried_it(links: TwoLinks) -> None:
    watch, found = watched(links, ETH0, lambda: links.send_at_target(ETH0, SENT))
    assert names(found) == [
        ("target", "eth0", True), ("target", "lo", False), ("peer", "eth0", True),
    ]  # fmt: skip
    assert list(watch.unchecked.values()) == [
        "no NIC there counted as many bytes as the payload"
    ]  # at the peer


def test_a_tunnel_on_a_nic(links: TwoLinks) -> None:
    for change, here, there in ((links.at_target, 1, 2), (links.at_peer, 2, 1)):
        tunnel = f"type vxlan id 7 dstport 4789 dev eth1 remote 198.51.100.{there}"
        change(f"link add vxlan7 {tunnel}")
        change(f"addr add 203.0.113.{here}/24 dev vxlan7")
        change("link set vxlan7 up")
    assert names(run(links, "203.0.113.1")) == [
        ("target", "vxlan7", True), ("peer", "vxlan7", True),
    ]  # fmt: skip


def test_an_address_that_a_bridge_should_have(links: TwoLinks) -> None:
    """Packets for the address of a bridge's port are the bridge's, which counts them."""
    links.at_target("link add br0 type bridge")
    links.at_target("link set eth0 master br0")
    links.at_target("link set br0 up")
    links.at_target("addr del 192.0.2.1/24 dev eth0")
    links.at_target("addr add 192.0.2.1/24 dev br0")
    assert names(run(links, ETH0)) == [("target", "br0", True), ("peer", "eth0", True)]


def test_next_hops_are_one_way(links: TwoLinks) -> None:
    """The address is on loopback, as where routers learn it, and the peer knows two ways to it."""
    links.at_target("addr add 203.0.113.1/32 dev lo")
    ways = f"nexthop via {ETH0} dev eth0 nexthop via {ETH1} dev eth1"
    links.at_peer(f"route add 203.0.113.1/32 {ways}")

    def by_both() -> None:
        # as flows of one workload do whose hashes differ
        links.send(ETH0, SENT // 2)
        links.send(ETH1, SENT // 2)

    watch, found = watched(links, "203.0.113.1", by_both)
    assert [(nic.end, nic.is_subject) for nic in found] == [("target", True), ("peer", True)]
    assert found[1].bytes >= SENT
    assert list(watch.unchecked.values()) == [
        "the address is on lo, which carries no traffic itself"
    ]


def test_ipv6(links: TwoLinks) -> None:
    for change, number in ((links.at_target, 1), (links.at_peer, 2)):
        change(f"addr add 2001:db8::{number}/64 dev eth0 nodad")
    assert names(run(links, "2001:db8::1")) == RIGHT
