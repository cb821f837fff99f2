"""Settings of real interfaces, carried over their exchange in a network namespace."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.remedy.guest.namespaces import MAC, Namespace, namespace
from tests.remedy.guest.scenario import PLAIN, RICH
from tests.rig.process import wait_for
from tests.rows import rows
from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.guest_network import FOR_EVER, GuestNetwork
from vnicaudit.model.host import GuestExit
from vnicaudit.remedy.guest.network import capture, missing, restore

_FLEETING = {"ifindex", "link_index", "valid_life_time", "preferred_life_time", "expires"}


@pytest.fixture
def guest() -> Iterator[Namespace]:
    with namespace() as one:
        one.plug("eth0")
        yield one


def set_up(guest: Namespace, commands: str) -> None:
    for command in commands.splitlines():
        guest.ip(command)
    guest.settle()


def picture(guest: Namespace) -> dict[str, list[dict[str, Any]]]:
    """All that ``ip`` says of the interface but what changes by itself, in its order."""
    guest.settle()
    (interface,) = guest.json("addr", "show", "dev", "eth0")
    found = {
        "addresses": interface.pop("addr_info"),
        "link": [interface],
        "routes": guest.json("-4", "route", "show", "table", "all"),
        "routes6": guest.json("-6", "route", "show", "table", "all"),
        "rules": guest.json("rule", "show"),
        "rules6": guest.json("-6", "rule", "show"),
        "neighbours": guest.json("neigh", "show", "nud", "permanent"),
        "proxies": guest.json("neigh", "show", "proxy"),
    }
    return {
        what: [{key: one[key] for key in one.keys() - _FLEETING} for one in objects]
        for what, objects in found.items()
    }


def carried(guest: Namespace, new: str = "ens9") -> GuestNetwork:
    """Capture, exchange and restore."""
    network = capture(guest, MAC)
    guest.exchange(network.name, new)
    restore(guest, MAC, network)
    guest.settle()
    return network


def test_everything_is_as_it_was(guest: Namespace) -> None:
    set_up(guest, RICH)
    before = picture(guest)
    network = carried(guest)
    assert picture(guest) == before
    assert missing(guest, MAC, network) == ()


def test_lifetimes_are_as_they_were(guest: Namespace) -> None:
    set_up(guest, RICH)
    carried(guest)
    network = capture(guest, MAC)
    lifetimes = {
        one.local: (one.valid_life_time, one.preferred_life_time) for one in network.addresses
    }
    valid, preferred = lifetimes["10.2.0.2"]
    assert 3500 < valid <= 3600
    assert 1700 < preferred <= 1800
    assert lifetimes["fd00:3::2"] == (FOR_EVER, 0)
    (expires,) = (one.expires for one in network.routes if one.dst == "fd77::/64")
    assert expires is not None
    assert 2900 < expires <= 3000


def test_one_program_puts_everything_back(guest: Namespace) -> None:
    set_up(guest, RICH)
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    guest.executed.clear()
    restore(guest, MAC, network)
    assert guest.executed == [("ip", "-force", "-batch", "-")]


def test_addresses_are_used_at_once_where_new_ones_are_asked_for(guest: Namespace) -> None:
    set_up(guest, RICH)
    network = capture(guest, MAC)
    guest.ask_for_duplicates(1)
    guest.set("net.ipv6.conf.default.dad_transmits", 600)  # for ten minutes
    guest.exchange("eth0", "ens9")
    restore(guest, MAC, network)

    def addresses() -> dict[str, tuple[bool, bool]]:
        (interface,) = guest.json("addr", "show", "dev", "eth0")
        return {
            one["local"]: ("nodad" in one, "tentative" in one) for one in interface["addr_info"]
        }

    own = "fe80::5054:ff:fe12:3457"
    wait_for(lambda: own in addresses(), "the kernel has made its address")
    flags = addresses()
    assert flags.pop(own) == (False, True)  # the kernel's, which asks
    assert {local for local, (nodad, _) in flags.items() if nodad} == {"fd00::3"}
    assert not any(tentative for _, tentative in flags.values())
    assert missing(guest, MAC, network) == ()


def test_twice_is_the_same_as_once(guest: Namespace) -> None:
    set_up(guest, RICH)
    network = carried(guest)
    before = picture(guest)
    restore(guest, MAC, network)
    assert picture(guest) == before


def test_what_is_missing_is_told(guest: Namespace) -> None:
    set_up(guest, RICH)
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    assert missing(guest, MAC, network) == (
        "the name eth0 (it is ens9)",
        "up",
        "MTU 1400",
        "queue length 777",
        "promiscuous mode",
        "all multicast",
        "group 7",
        "address 10.3.0.2/24",
        "address 10.1.0.2/24",
        "address 10.9.9.1/32",
        "address 10.2.0.2/24",
        "address 10.1.0.3/24",
        "address fd00:5::1/128",
        "address fd00:3::2/64",
        "address fd00:1::2/64",
        "address fd00::3/64",
        "address fd00::2/64",
        "address fe80::77/64",
        "route 10.5.0.0/16 of table 50",
        "route 0.0.0.0/0 via 10.77.0.9",
        "route 0.0.0.0/0 via 10.1.0.1",
        "route 10.2.0.0/24",
        "route 10.8.0.0/16 via fd00::9",
        "route 224.5.0.0/16",
        "route 10.44.0.0/16 of table local",
        "route fd77::/64 via fd00::9 of table 51",
        "route fd79::/64",
        "route ::/0 via fe80::1",
        "route ff05::/16 of table local",
        "neighbour 10.1.0.1",
        "neighbour fd00::9",
        "neighbour 10.1.0.99",
        "neighbour fd00::99",
    )


def test_an_interface_that_is_gone_is_missing(guest: Namespace) -> None:
    set_up(guest, PLAIN)
    network = capture(guest, MAC)
    guest.ip("link del dev eth0")
    assert missing(guest, MAC, network) == (f"the interface with the MAC address {MAC}",)
    with pytest.raises(GuestError, match=f"no interface of the guest has the MAC address {MAC}"):
        restore(guest, MAC, network)


def test_an_interface_that_is_down_stays_down(guest: Namespace) -> None:
    set_up(guest, "addr add 10.1.0.2/24 dev eth0\nlink set dev eth0 arp off multicast off")
    before = picture(guest)
    network = carried(guest)
    assert picture(guest) == before
    assert not network.link.up


def test_a_gateway_outside_of_every_prefix(guest: Namespace) -> None:
    """As clouds have it: the default route is listed before the route that leads to its gateway."""
    set_up(
        guest,
        """\
link set dev eth0 up
addr add 10.1.0.2/32 dev eth0
addr add fd00::2/128 dev eth0
route add 172.31.1.1 dev eth0 proto dhcp scope link src 10.1.0.2 metric 100
route add default via 172.31.1.1 proto dhcp src 10.1.0.2 metric 100
-6 route add fd01::1 dev eth0 metric 1024
-6 route add default via fd01::1 dev eth0 metric 1024""",
    )
    before = picture(guest)
    assert before["routes"][0]["dst"] == "default"
    carried(guest)
    assert picture(guest) == before


def test_settings_that_are_lost_are_told(guest: Namespace) -> None:
    set_up(guest, "link set dev eth0 arp off multicast off")
    network = capture(guest, MAC)
    guest.exchange("eth0", "eth0")
    assert missing(guest, MAC, network) == ("multicast off", "ARP off")


def test_the_kernel_makes_no_link_local_address_where_it_made_none(guest: Namespace) -> None:
    """As NetworkManager has it: it makes the address itself, and the route of its prefix."""
    set_up(
        guest,
        """\
link set dev eth0 addrgenmode none
link set dev eth0 up
addr add fe80::1234/64 dev eth0 noprefixroute
addr add 10.1.0.2/24 dev eth0 noprefixroute
-6 route add fe80::/64 dev eth0 proto kernel metric 1024
route add 10.1.0.0/24 dev eth0 proto kernel scope link src 10.1.0.2 metric 100
route add default via 10.1.0.1 proto dhcp src 10.1.0.2 metric 100""",
    )
    before = picture(guest)
    network = carried(guest)
    assert picture(guest) == before
    assert [one.dst for one in network.routes] == [
        "0.0.0.0/0", "10.1.0.0/24", "fe80::/64",
    ]  # fmt: skip


def test_a_random_link_local_address_is_put_back(guest: Namespace) -> None:
    set_up(guest, "link set dev eth0 addrgenmode random\nlink set dev eth0 up")
    (address,) = capture(guest, MAC).addresses
    carried(guest)
    assert address in capture(guest, MAC).addresses


def test_rules_that_name_the_interface_hold_again(guest: Namespace) -> None:
    set_up(guest, PLAIN + "rule add iif eth0 table 50 pref 1000\n")
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    (rule,) = (one for one in guest.json("rule", "show") if "iif" in one)
    assert "iif_detached" in rule
    restore(guest, MAC, network)
    (rule,) = (one for one in guest.json("rule", "show") if "iif" in one)
    assert "iif_detached" not in rule


def test_routes_through_others_are_left_alone(guest: Namespace) -> None:
    """They have the same destination and rank; ours are the last."""
    guest.plug("eth1", "52:54:00:00:00:01")
    set_up(
        guest,
        """\
link set dev eth1 up
addr add 10.1.0.9/24 dev eth1
addr add fd00::9/64 dev eth1
link set dev eth0 up
addr add 10.1.0.2/24 dev eth0
addr add 10.5.0.1/24 dev eth0 noprefixroute
addr add fd00::2/64 dev eth0 noprefixroute
route add 10.2.0.0/24 dev eth1
route append 10.2.0.0/24 dev eth0
route add fd00:7::/64 dev eth1 metric 1024
-6 route append fd00:7::/64 dev eth0 metric 1024
-6 route append fd00::/64 dev eth0 proto kernel metric 256""",
    )
    before = picture(guest)
    network = carried(guest)
    after = picture(guest)
    assert _unordered(after) == _unordered(before)
    assert [one.dst for one in network.routes if one.shared] == [
        "10.2.0.0/24", "fd00::/64", "fd00:7::/64",
    ]  # fmt: skip
    restore(guest, MAC, network)
    assert picture(guest) == after


@pytest.mark.parametrize(
    ("commands", "route"),
    [
        ("addr add 10.1.0.9/24 dev eth1", "10.1.0.0/24"),
        ("addr add fd00::9/64 dev eth1", "fd00::/64"),
    ],
)
def test_a_route_that_would_lose_its_rank_is_refused(
    guest: Namespace, commands: str, route: str
) -> None:
    guest.plug("eth1", "52:54:00:00:00:01")
    set_up(guest, f"{PLAIN}link set dev eth1 up\n{commands}")
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == (
        f"the guest's route {route} is also there through eth1, which would become the first of "
        "the two"
    )


def test_a_route_through_another_that_would_be_lost_is_refused(guest: Namespace) -> None:
    guest.plug("eth1", "52:54:00:00:00:01")
    set_up(guest, f"{PLAIN}link set dev eth1 up\nroute add 10.9.0.0/16 dev eth1 src 10.1.0.2")
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == (
        "the guest's route 10.9.0.0/16 through eth1 uses an address of eth0 as its source: "
        "it would be lost"
    )


def test_what_the_guest_set_up_meanwhile_is_met(guest: Namespace) -> None:
    set_up(guest, RICH)
    before = picture(guest)
    network = capture(guest, MAC)
    guest.exchange("eth0", "eth0")
    set_up(
        guest,
        """\
link set dev eth0 up
addr add 10.1.0.2/24 brd + dev eth0 label eth0:web
addr add fd00::2/64 dev eth0
route add default via 10.1.0.1 metric 100 src 10.1.0.2 proto dhcp
-6 route add default via fe80::1 dev eth0 metric 300""",
    )
    restore(guest, MAC, network)
    assert _unordered(picture(guest)) == _unordered(before)


def _unordered(seen: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    return {
        what: sorted(json.dumps(one, sort_keys=True) for one in objects)
        for what, objects in seen.items()
    }


def test_a_name_that_became_another_name_of_the_new_interface(guest: Namespace) -> None:
    """udev gives a new interface its names by slot and path; the old one is among them."""
    set_up(guest, PLAIN)
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    guest.ip("link property add dev ens9 altname eth0")
    restore(guest, MAC, network)
    assert missing(guest, MAC, network) == ()


def test_a_name_that_another_interface_has_is_left_to_it(guest: Namespace) -> None:
    set_up(guest, RICH)
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    guest.plug("eth0", "52:54:00:00:00:01")
    restore(guest, MAC, network)
    assert missing(guest, MAC, network) == ("the name eth0 (it is ens9)",)
    (interface,) = guest.json("addr", "show", "dev", "ens9")
    assert [one["label"] for one in interface["addr_info"] if one["local"] == "10.1.0.2"] == [
        "ens9:web"
    ]


class _Renaming:
    """A guest whose udev renames the new interface at the worst moment."""

    def __init__(self, guest: Namespace) -> None:
        self._guest = guest
        self._left = 1
        self.interfaces = guest.interfaces

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        if "-batch" in argv and self._left:
            self._left -= 1
            self._guest.ip("link set dev ens9 name enp0s9")
        return self._guest.execute(argv, stdin)


def test_an_interface_that_is_renamed_meanwhile(guest: Namespace) -> None:
    set_up(guest, RICH)
    before = picture(guest)
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    restore(_Renaming(guest), MAC, network)
    assert picture(guest) == before


def test_what_cannot_be_put_back_is_told(guest: Namespace) -> None:
    """A guest whose kernel takes an address no more, as if it had forgotten IPv6."""
    set_up(guest, PLAIN)
    network = capture(guest, MAC)
    guest.exchange("eth0", "ens9")
    guest.set("net.ipv6.conf.ens9.disable_ipv6", 1)
    with pytest.raises(GuestError) as error:
        restore(guest, MAC, network)
    said = str(error.value)
    assert said.startswith("not restored in the guest: address fd00::2/64 (ip: ")
    assert "Command failed -:" in said
    assert missing(guest, MAC, network) == ("address fd00::2/64",)


def test_capturing_changes_nothing(guest: Namespace) -> None:
    set_up(guest, RICH)
    before = picture(guest)
    capture(guest, MAC)
    assert picture(guest) == before


def test_no_such_interface(guest: Namespace) -> None:
    with pytest.raises(RefusedError) as error:
        capture(guest, "52:54:00:00:00:99")
    assert str(error.value) == (
        "no interface of the guest has the MAC address 52:54:00:00:00:99 (interfaces in "
        "other network namespaces are not visible)"
    )


@rows
def test_an_interface_that_does_not_stand_alone(
    guest: Namespace, command: str, message: str
) -> None:
    set_up(guest, command)
    with pytest.raises(RefusedError, match=f"^{re.escape(message)}$"):
        capture(guest, MAC)


def test_a_bridge_with_the_address_of_its_port_is_not_taken_for_it(guest: Namespace) -> None:
    set_up(guest, f"link add name br0 address {MAC} type bridge\nlink set dev eth0 master br0")
    with pytest.raises(RefusedError, match=r"^eth0 is part of br0 \(bridge\) in the guest$"):
        capture(guest, MAC)


def test_several_interfaces_with_the_address(guest: Namespace) -> None:
    guest.plug("eth1")
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == (
        f"several interfaces of the guest have the MAC address {MAC}: eth0, eth1"
    )


def test_traffic_control_that_would_be_lost(guest: Namespace) -> None:
    assert guest.execute(("tc", "qdisc", "add", "dev", "eth0", "clsact")).code == 0
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == (
        "traffic control (clsact) was set on eth0 in the guest with tc, and would be lost"
    )


def test_settings_of_the_kernel_are_noted(guest: Namespace) -> None:
    guest.set("net.ipv4.conf.eth0.forwarding", 1)
    guest.set("net.ipv6.conf.eth0.proxy_ndp", 1)
    assert capture(guest, MAC).notes == (
        "Set on eth0 with sysctl, and not restored: forwarding (IPv4), proxy_neigh (IPv6).",
    )


def test_a_description_is_noted(guest: Namespace) -> None:
    set_up(guest, "link set dev eth0 alias uplink")
    assert capture(guest, MAC).notes == ("The description of eth0 (ifalias) is not restored.",)


def test_a_locked_metric_is_refused(guest: Namespace) -> None:
    set_up(guest, PLAIN + "route add 10.5.0.0/16 dev eth0 mtu lock 1200")
    with pytest.raises(RefusedError) as error:
        capture(guest, MAC)
    assert str(error.value) == (
        "a metric of a route through eth0 is, or may be, locked in the guest"
    )


@pytest.mark.parametrize(("accept", "kept"), [(0, True), (1, False)])
def test_routes_that_a_router_advertised(guest: Namespace, accept: int, kept: bool) -> None:
    """Where the kernel reads advertisements, a copy of its route would be in its way."""
    set_up(guest, PLAIN + "-6 route add default via fe80::1 dev eth0 proto ra expires 1800")
    guest.set("net.ipv6.conf.eth0.accept_ra", accept)
    network = capture(guest, MAC)
    assert ("::/0" in [one.dst for one in network.routes]) is kept
    note = "IPv6 routes that a router advertised come back with its next advertisement."
    assert network.notes == (() if kept else (note,))
    guest.exchange("eth0", "ens9")
    restore(guest, MAC, network)
    assert missing(guest, MAC, network) == ()


def test_a_guest_without_ipv6_on_the_interface(guest: Namespace) -> None:
    set_up(guest, "link set dev eth0 mtu 1000 up\naddr add 10.1.0.2/24 dev eth0")
    before = picture(guest)
    network = carried(guest)
    assert picture(guest) == before
    assert network.link.address_mode is None
