"""What is set in the guest for a shadow NIC, and what keeps it from being set."""

from __future__ import annotations

import pytest

from tests.bench.trials.shadow_fakes import (
    NETWORK,
    OLD,
    ROUTER,
    SHADOW,
    TEMPORARY,
    World,
    installed,
    note,
)
from vnicaudit.bench.trials.shadow_guest import NicSurroundings, ground_of, put_back, set_up
from vnicaudit.errors import GuestError, RefusedError

_GROUND = NicSurroundings(
    device="eth0",
    mtu=1400,
    arp_filter="0",
    boot="first",
    table=7710,
    ways=(("0.0.0.0/0", ROUTER), ("198.51.100.0/24", "192.0.2.253")),
    addresses=("192.0.2.1/24",),
)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return installed(World(), monkeypatch)


def test_the_ground(world: World) -> None:
    before = world.guest.state()
    assert ground_of(world.agent, OLD, NETWORK) == _GROUND
    assert world.guest.state() == before


def test_a_table_that_is_used_is_left_alone(world: World) -> None:
    world.guest.rules.append(("198.51.100.7", "7710"))
    world.guest.routes.append({"dst": "default", "dev": "eth0", "table": "7711"})
    assert ground_of(world.agent, OLD, NETWORK).table == 7712


def test_the_route_that_holds_is_taken(world: World) -> None:
    """Of several to one destination, the first, which has the lowest metric."""
    world.guest.routes.append({"dst": "default", "gateway": "192.0.2.77", "dev": "eth0"})
    world.guest.routes.insert(0, {"dst": "default", "gateway": "192.0.2.78", "dev": "tun0"})
    assert ground_of(world.agent, OLD, NETWORK).ways == _GROUND.ways


def test_set_up_and_put_back(world: World) -> None:
    agent, before = world.agent, world.guest.state()
    world.guest.plugged(SHADOW)
    for _ in range(2):
        set_up(agent, note(), _GROUND, NETWORK)
    guest = world.guest
    assert guest.addresses == {"eth0": ["192.0.2.1/24"], "eth1": [f"{TEMPORARY}/32"]}
    assert guest.rules == [
        ("all", "local"), (TEMPORARY, "7710"), ("all", "main"), ("all", "default"),
    ]  # fmt: skip
    ours = [(one["dst"], one["dev"]) for one in guest.routes if one.get("table") == "7710"]
    assert set(ours) == {
        (NETWORK, "eth1"), ("0.0.0.0/0", "eth1"), ("198.51.100.0/24", "eth1"),
    }  # fmt: skip
    assert guest.settings == {
        "net/ipv4/conf/eth0/arp_filter": "1",
        "net/ipv4/conf/eth1/arp_ignore": "1",
        "net/ipv4/conf/eth1/arp_announce": "2",
        "net/ipv4/conf/eth1/rp_filter": "1",
        "net/ipv4/conf/eth1/arp_notify": "1",
        "net/ipv6/conf/eth1/disable_ipv6": "1",
    }
    for _ in range(2):
        put_back(agent, note())
    world.guest.unplugged(SHADOW)
    assert world.guest.state() == before


def test_what_was_set_before_stays_set(world: World) -> None:
    world.guest.settings["net/ipv4/conf/eth0/arp_filter"] = "1"
    ground = ground_of(world.agent, OLD, NETWORK)
    world.guest.plugged(SHADOW)
    set_up(world.agent, note(arp_filter=ground.arp_filter), ground, NETWORK)
    put_back(world.agent, note(arp_filter=ground.arp_filter))
    assert world.guest.settings["net/ipv4/conf/eth0/arp_filter"] == "1"


def test_a_kernel_without_ipv6(world: World) -> None:
    world.guest.plugged(SHADOW)
    del world.guest.settings["net/ipv6/conf/eth1/disable_ipv6"]
    set_up(world.agent, note(), _GROUND, NETWORK)
    assert (TEMPORARY, "7710") in world.guest.rules


def test_a_bond_has_the_nic(world: World) -> None:
    world.guest.masters["eth0"] = "bond0"
    with pytest.raises(RefusedError, match=r"^eth0 is part of bond0 in the guest$"):
        ground_of(world.agent, OLD, NETWORK)


def test_no_such_nic(world: World) -> None:
    with pytest.raises(RefusedError, match="has the MAC address"):
        ground_of(world.agent, SHADOW, NETWORK)


def test_another_interface_in_the_network(world: World) -> None:
    world.guest.routes.append({"dst": NETWORK, "dev": "eth7", "scope": "link"})
    with pytest.raises(
        RefusedError, match=r"is in 192.0.2.0/24 with eth7 too, not only with eth0$"
    ):
        ground_of(world.agent, OLD, NETWORK)


def test_no_iproute2(world: World) -> None:
    world.guest.fails["ip", "-j"] = "invalid option -- 'j'"
    with pytest.raises(RefusedError, match="install iproute2"):
        ground_of(world.agent, OLD, NETWORK)


def test_an_agent_that_may_not(world: World) -> None:
    world.guest.plugged(SHADOW)
    world.guest.fails["tee", "/proc/sys/net/ipv4/conf/eth0/arp_filter"] = "Permission denied"
    with pytest.raises(GuestError, match="may not set net/ipv4/conf/eth0/arp_filter: Permission"):
        set_up(world.agent, note(), _GROUND, NETWORK)


def test_ip_that_fails(world: World) -> None:
    world.guest.plugged(SHADOW)
    world.guest.fails["-batch",] = "RTNETLINK answers: Invalid argument"
    with pytest.raises(GuestError, match="cannot be configured in the guest: RTNETLINK answers"):
        set_up(world.agent, note(), _GROUND, NETWORK)


@pytest.mark.parametrize("value", ["", "on", "1\n2"])
def test_a_setting_that_is_none(world: World, value: str) -> None:
    world.guest.settings["net/ipv4/conf/eth0/arp_filter"] = value
    with pytest.raises(GuestError, match="in the guest, not a number"):
        ground_of(world.agent, OLD, NETWORK)


@pytest.mark.parametrize("gateway", ["1.2.3.4 dev lo", "fe80::1%eth0", "\u0661.2.3.4"])
def test_a_route_that_says_too_much(world: World, gateway: str) -> None:
    world.guest.routes[0]["gateway"] = gateway
    with pytest.raises(RefusedError):
        ground_of(world.agent, OLD, NETWORK)
