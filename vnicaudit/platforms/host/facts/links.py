"""The links of a host, with everything that is known of each: ``ip``, sysfs, ethtool, qeth.

Sources: ip-link(8), ip-route(8); Documentation/ABI/testing/sysfs-class-net and
sysfs-class-net-queues of Linux. A tunnel's packets leave by the device it names, else by the most
specific route of the main table to its remote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from itertools import pairwise

import msgspec

from vnicaudit.knowledge.cpu_lists import from_mask
from vnicaudit.knowledge.host_links import route_to
from vnicaudit.model.host_facts import Amount, Counters, HostLink, HostRoute, Queue, Tunnel
from vnicaudit.platforms.host.facts import ethtool, qeth
from vnicaudit.platforms.host.facts.ip_link import links_in
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings, number_in

_LINKS = HostCommand(
    "ip -j -d -s -s link", ("sos_commands/networking/ip_-s_-d_link",), is_counter=True
)
_ROUTES = HostCommand(
    "ip route show table all", ("sos_commands/networking/ip_route_show_table_all",)
)
_SYS = "/sys/class/net/*"
_NODE, _SPEED = f"{_SYS}/device/numa_node", f"{_SYS}/speed"
_RPS, _FLOWS, _XPS = (
    f"{_SYS}/queues/{name}" for name in ("*/rps_cpus", "*/rps_flow_cnt", "*/xps_cpus")
)
_ROUTE = re.compile(r"(default|[0-9a-f][0-9a-f.:]*(?:/\d+)?) (.*)", re.ASCII)
_MOST_ROUTES = 1024


def read(readings: HostReadings) -> dict[str, object]:
    """The links and routes; nothing where ``ip`` did not answer."""
    links = links_in(readings.output(_LINKS.name) or "")
    if links is None:
        return {}
    routes = routes_in(readings.output(_ROUTES.name))
    answers, queues = ethtool.answers_in(readings), _queues(readings)
    devices, addresses = qeth.qeth_in(readings), qeth.static_macs(readings)
    nodes, speeds = (_numbers(readings, each) for each in (_NODE, _SPEED))
    totals = _counters(links, readings)
    grown = _growth(readings, totals)
    names = {link.name for link in links}
    found: list[HostLink] = []
    for link in links:
        name, own, channels = link.name, queues.get(link.name), answers.channels.get(link.name)
        speed = speeds.get(name, answers.speeds.get(name))
        physical = link.physical if answers.adapters is None else name in answers.adapters
        found.append(
            msgspec.structs.replace(
                link,
                driver=answers.drivers.get(name),
                physical=physical,
                lower=link.lower if link.lower in names else None,
                speed=speed if speed is not None and speed > 0 else None,
                node=nodes.get(name),
                rx_queues=_receive_queues(own, channels) or link.rx_queues,
                features=answers.features.get(name) or None,
                private_flags=answers.flags.get(name),
                rings=answers.rings.get(name),
                channels=channels,
                queues=own,
                counters=totals.get(name),
                growth=grown.get(name),
                tunnel=link.tunnel and _way(link.tunnel, routes, links),
                static_macs=None if addresses is None else addresses.get(name, 0),
                qeth=devices.get(name),
            )
        )
    return {"links": tuple(found), "routes": routes}


FACT = HostFact(
    "links",
    read,
    files=(_NODE, _SPEED, _RPS, _FLOWS, _XPS, *qeth.FILES),
    commands=(_LINKS, _ROUTES, *ethtool.COMMANDS, qeth.ADDRESSES),
    script=ethtool.SCRIPT + qeth.SCRIPT,
    counter_script=ethtool.COUNTER_SCRIPT,
)


def _growth(readings: HostReadings, before: Mapping[str, Counters]) -> dict[str, Counters]:
    """Link -> what its counters grew by within the window; without those that were reset."""
    if readings.window is None:
        return {}
    later = readings.later()
    after = _counters(links_in(later.output(_LINKS.name) or "") or (), later)
    return {
        name: {
            key: value - before[name][key]
            for key, value in counters.items()
            if value >= before[name].get(key, value + 1)
        }
        for name, counters in after.items()
        if name in before
    }


def _counters(links: Iterable[HostLink], readings: HostReadings) -> dict[str, Counters]:
    dropped = ethtool.no_buffers(readings)
    return {
        link.name: {
            **link.counters,
            **({"rx_no_buffer": dropped[link.name]} if link.name in dropped else {}),
        }
        for link in links
        if link.counters is not None
    }


def routes_in(text: str | None) -> tuple[HostRoute, ...] | None:
    """The routes of the main table in what ``ip route show table all`` printed; of a route by
    several links the last of them."""
    if text is None:
        return None
    found: list[HostRoute] = []
    for line in re.sub(r"\n\s{0,16}nexthop ", " nexthop ", text).splitlines():
        match = _ROUTE.fullmatch(line.strip())
        if match is None or len(found) == _MOST_ROUTES:
            continue
        words = match[2].split()
        options = dict(pairwise(words))
        if "table" in options or "dev" not in options:
            continue
        network = match[1]
        if network == "default":
            network = "::/0" if ":" in options.get("via", "") else "0.0.0.0/0"
        try:
            ip_network(network, strict=False)
        except ValueError:
            continue
        mtu = number_in(options.get("mtu", ""))
        found.append(HostRoute(network=network, device=options["dev"], mtu=mtu))
    return tuple(found)


def _way(
    tunnel: Tunnel, routes: tuple[HostRoute, ...] | None, links: tuple[HostLink, ...]
) -> Tunnel:  # fmt: skip
    """The tunnel with the device by which its packets leave, and the MTU of that way."""
    route = route_to(routes or (), tunnel.remote)
    device = tunnel.device or (route and route.device)
    mtu = next((link.mtu for link in links if link.name == device), None)
    if route is not None and route.device == device and route.mtu is not None:
        mtu = route.mtu
    return msgspec.structs.replace(tunnel, device=device, mtu=mtu)


def _numbers(readings: HostReadings, pattern: str) -> dict[str, int]:
    """Link -> the number in a file of it."""
    return {
        path.split("/")[4]: int(text)
        for path, text in readings.texts(pattern).items()
        if re.fullmatch(r"-?\d{1,9}", text.strip(), re.ASCII)
    }


def _queues(readings: HostReadings) -> Mapping[str, tuple[Queue, ...]]:
    """Link -> its queues, in order."""
    flows = readings.texts(_FLOWS)
    found: dict[str, list[Queue]] = {}
    for pattern in (_RPS, _XPS):
        for path, text in readings.texts(pattern).items():
            device, name = path.split("/")[4:7:2]
            count = flows.get(f"{path.rpartition('/')[0]}/rps_flow_cnt", "").strip()
            found.setdefault(device, []).append(
                Queue(name=name, cpus=from_mask(text), flows=number_in(count))
            )
    return {name: tuple(sorted(queues, key=_order)) for name, queues in found.items()}


def _order(queue: Queue) -> tuple[str, int, str]:
    kind, _dash, number = queue.name.partition("-")
    return kind, number_in(number) or 0, queue.name


def _receive_queues(queues: tuple[Queue, ...] | None, channels: Mapping[str, Amount] | None) -> int:
    """Receive queues in use: those in sysfs, else by ethtool's channels; 0: unknown."""
    listed = sum(queue.name.startswith("rx-") for queue in queues or ())
    named = (channels or {}).items()
    return listed or sum(amount.now for name, amount in named if name in ("rx", "combined"))
