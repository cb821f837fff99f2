"""Links of a host: ip's JSON and its text give equal records, and sysfs, ethtool, qeth add to them.

Excerpts of what iproute2 5.4 and 6.1, ethtool 5.4, 6.1 and 6.14 printed (kernels 5.4, 6.12, 6.18);
the trees of qeth are made by hand.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.rows import rows
from vnicaudit.model.host import Section
from vnicaudit.model.host_facts import HostLink
from vnicaudit.platforms.host.facts import EVERY_FACT, kernel, links
from vnicaudit.platforms.host.facts.links import links_in
from vnicaudit.platforms.host.readings import SectionReadings, facts_from

LINK = "ip -j -d -s -s link"


def given(
    outputs: Mapping[str, str],
    files: Mapping[str, str] | None = None,
    later: Mapping[str, str] | None = None,
) -> SectionReadings:
    """Readings of a host that printed this; ``later``: what it printed two seconds later."""
    first = _sections(outputs, {**(files or {}), "/proc/uptime": "5.00 1.00"})
    second = _sections(later or {}, {"/proc/uptime": "7.00 1.00"})
    return SectionReadings(first if later is None else [*first, Section("later", ""), *second])


def _sections(outputs: Mapping[str, str], files: Mapping[str, str]) -> list[Section]:
    lines = [f"{path}\0{line}" for path, text in files.items() for line in text.split("\n")]
    return [
        Section("files", "\n".join(lines)),
        *(Section(name, text, 0) for name, text in outputs.items()),
    ]


def _links(readings: SectionReadings) -> dict[str, HostLink]:
    return {link.name: link for link in facts_from(readings, [links.FACT]).links or ()}


@rows
def test_json_and_text_give_equal_links(
    text: str, json_form: list[Any], links: list[dict[str, Any]]
) -> None:
    found = links_in(text)
    assert list(msgspec.to_builtins(found)) == links
    assert links_in(json.dumps(json_form)) == found


@rows
def test_a_text_of_an_older_ip(text: str, links: list[dict[str, Any]]) -> None:
    assert list(msgspec.to_builtins(links_in(text))) == links


@rows
def test_what_adds_to_a_link(
    outputs: dict[str, str], link: dict[str, Any], files: dict[str, str]
) -> None:
    entry = {"ifname": "eth0", "flags": ["UP"], "num_rx_queues": 8, "num_tx_queues": 8}
    found = _links(given({LINK: json.dumps([entry]), **outputs}, files))["eth0"]
    told = json.loads(msgspec.json.encode(found))
    assert {key: told.get(key) for key in link} == link


@pytest.mark.parametrize("text", ["", "[]", "[5]", "[{}]", "[" * 5000, "1: x", "Option -j?", "{}"])
def test_what_is_no_list_of_links_tells_none(text: str) -> None:
    assert facts_from(given({LINK: text}), EVERY_FACT).links is None


def test_counters_grow_within_the_window() -> None:
    def printed(missed: int, dropped: int) -> str:
        rx = {"missed_errors": missed, "dropped": dropped}
        return json.dumps([{"ifname": "eth0", "flags": [], "stats64": {"rx": rx}}])

    statistics = "NIC statistics:\n     rx_out_of_buffer: {}\n"
    first = {LINK: printed(3, 9), "ethtool -S eth0": statistics.format(40)}
    second = {LINK: printed(8, 0), "ethtool -S eth0": statistics.format(45)}
    link = _links(given(first, later=second))["eth0"]
    assert link.counters == {"rx_missed": 3, "rx_dropped": 9, "rx_no_buffer": 40}
    assert link.growth == {"rx_missed": 5, "rx_no_buffer": 5}, "rx_dropped was reset"
    assert _links(given(first))["eth0"].growth is None


def test_available_memory() -> None:
    told = given({}, {"/proc/meminfo": "MemTotal:  8000000 kB\nMemAvailable:    4000000 kB"})
    assert facts_from(told, [kernel.FACT]).memory_available == 4_000_000
    assert facts_from(given({}), [kernel.FACT]).memory_available is None


def test_a_tunnel_leaves_by_the_most_specific_route() -> None:
    remote = {"info_kind": "vxlan", "info_data": {"remote": "10.1.2.3"}}
    entries: list[dict[str, Any]] = [
        {"ifname": "vx0", "flags": [], "linkinfo": remote},
        {"ifname": "eth0", "flags": [], "mtu": 1500},
        {"ifname": "eth1", "flags": [], "mtu": 9000},
    ]
    routes = (
        "default via 192.0.2.1 dev eth0 \n10.1.0.0/16 dev eth1 proto kernel\n"
        "10.1.2.0/24 dev eth0 table 7\n10.1.0.0/16x dev eth0\nunreachable 10.1.2.0/24\n"
    )
    outputs = {LINK: json.dumps(entries), "ip route show table all": routes}
    tunnel = _links(given(outputs))["vx0"].tunnel
    assert tunnel is not None
    assert (tunnel.device, tunnel.mtu) == ("eth1", 9000)
    routed = routes.replace("proto kernel", "mtu 1400")
    tunnel = _links(given({**outputs, "ip route show table all": routed}))["vx0"].tunnel
    assert tunnel is not None
    assert tunnel.mtu == 1400
    several = "10.1.0.0/16 proto bgp \n" + "".join(
        f"\tnexthop via 192.0.2.1 dev {device} weight 1 \n" for device in ("eth0", "eth1")
    )
    tunnel = _links(given({**outputs, "ip route show table all": several}))["vx0"].tunnel
    assert tunnel is not None
    assert tunnel.device == "eth1"


def test_each_device_is_asked_where_a_sosreport_or_an_old_ethtool_answers() -> None:
    part = "Features for {}:\ntcp-segmentation-offload: {}\n"
    entries: list[dict[str, Any]] = [{"ifname": name, "flags": []} for name in ("eth0", "eth1")]
    outputs = {
        LINK: json.dumps(entries),
        "ethtool -k '*' eth0": part.format("eth0", "on"),
        "ethtool -k '*' eth1": part.format("eth1", "off"),
    }
    found = _links(given(outputs))
    features = [found[name].feature("tcp-segmentation-offload") for name in ("eth0", "eth1")]
    assert [each and each.on for each in features] == [True, False]


EVERYTHING = """[{"ifname": "eth0", "flags": ["UP"], "mtu": 1500, "master": "br0"}]
2: vf0@if7: <UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9702
    vxlan id 5 remote 10.0.0.1 dev eth0 external
    RX: bytes packets errors dropped missed mcast
    5 6 7 8 9 10
    RX errors: length crc frame fifo overrun
               1 2 3 4 5
default via 192.0.2.1 dev eth0 mtu 1400
Features for eth0:
tcp-segmentation-offload: off [requested on]
Ring parameters for eth0:
Pre-set maximums:
RX: 4096
Current hardware settings:
RX: 512
Adaptive RX: off  TX: n/a
driver: virtio_net
     rx_no_buffer_count: 5
"""


def test_nothing_cut_off_is_an_error() -> None:
    one = '[{"ifname": "eth0", "flags": []}]'
    for end in range(len(EVERYTHING)):
        text = EVERYTHING[:end]
        commands = [command.name for command in links.FACT.commands]
        outputs = dict.fromkeys([*commands, *(f"{name} eth0" for name in commands)], text)
        for printed in (text, one):
            links.read(given({**outputs, LINK: printed}, later={LINK: text}))
