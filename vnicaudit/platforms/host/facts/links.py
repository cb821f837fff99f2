"""The links of a host, with everything that is known of each: ``ip``, sysfs, ethtool, qeth.

Sources: ip-link(8), ip-route(8); Documentation/ABI/testing/sysfs-class-net and
sysfs-class-net-queues of Linux. A tunnel's packets leave by the device it names, else by the most
specific route of the main table to its remote.

Output of ``ip -d -s link`` is read as JSON or as text: both give the same records. Sources:
print_linkinfo(), print_linktype(), print_stats64() and print_name_and_link() of iproute2
(ip/ipaddress.c and lib/utils.c at ee2a4a86, 2026-06-28); text of 5.4 names the fifth counter of
received packets *overrun*, that of 5.9 and later *missed*, and each line of counters has its names
above it. A queue length of 0 is not printed, nor is a kind for most adapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_network
from itertools import pairwise
from typing import cast

import msgspec

from vnicaudit.knowledge.cpu_lists import from_mask
from vnicaudit.knowledge.host_links import route_to
from vnicaudit.model.host_facts import Amount, Counters, HostLink, HostRoute, Queue, Tunnel
from vnicaudit.platforms.host.facts import ethtool, ibm_z
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
    devices, addresses = ibm_z.qeth_in(readings), ibm_z.static_macs(readings)
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
    files=(_NODE, _SPEED, _RPS, _FLOWS, _XPS, *ibm_z.FILES),
    commands=(_LINKS, _ROUTES, *ethtool.COMMANDS, ibm_z.ADDRESSES),
    script=ethtool.SCRIPT + ibm_z.SCRIPT,
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


# What ``ip link`` printed.


_Fields = dict[str, object]
_MOST_LINKS = 16_384
_HEADER = re.compile(r"\d{1,10}: ([^\s:@]{1,32})(?:@([^\s:]{1,32}))?: <([^>]{0,400})> ?(.*)")
_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_COUNTERS = {
    "bytes": "bytes",
    "packets": "packets",
    "errors": "errors",
    "dropped": "dropped",
    "over_errors": "over",
    "overrun": "over",
    "missed_errors": "missed",
    "missed": "missed",
    "fifo_errors": "fifo",
    "fifo": "fifo",
}
"""Name in JSON or in text -> our name, behind ``rx_`` or ``tx_``."""
_TUNNELS = frozenset({"vxlan", "geneve", "gre", "gretap", "ip6gre", "ip6gretap"})
_NO_KIND = ("alias", "altname", "vf", "prog/xdp", "RX:", "TX:")
_NUMBERS = {
    "mtu": "mtu",
    "maxmtu": "max_mtu",
    "qlen": "txqlen",
    "numrxqueues": "num_rx_queues",
}
"""Word of the text -> key of the JSON."""
_DATA = {"remote": "remote", "group": "group", "dev": "link"}


def links_in(text: str) -> tuple[HostLink, ...] | None:
    """The links in what it printed; None if there is none in it."""
    if text.lstrip().startswith("["):
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        entries = [_of(each) for each in found] if isinstance(found, list) else []
    else:
        entries = list(_entries(text))
    links = [link for each in entries[:_MOST_LINKS] if (link := _link(each)) is not None]
    return tuple({link.name: link for link in links}.values()) or None


def _link(entry: _Fields) -> HostLink | None:
    name, flags = _text(entry, "ifname"), entry.get("flags")
    if not name or not isinstance(flags, list):
        return None
    info = _of(entry.get("linkinfo"))
    kind, data = _text(info, "info_kind") or "", _of(info.get("info_data"))
    up = "UP" in flags
    permanent, present = _mac(entry, "permaddr"), _mac(entry, "address")
    return HostLink(
        name=name,
        kind=kind,
        mac=permanent or present,
        address=present if permanent not in (None, present) else None,
        up=up,
        carrier="LOWER_UP" in flags if up else None,
        mtu=_number(entry, "mtu"),
        max_mtu=_number(entry, "max_mtu") or None,
        queue_length=_number(entry, "txqlen") or 0,
        master=_text(entry, "master"),
        lower=_text(entry, "link"),
        physical=True if "parentdev" in entry else None,
        rx_queues=1 if _number(entry, "num_rx_queues") == 1 else None,  # else fewer may be used
        counters=_counters_in(_of(entry.get("stats64") or entry.get("stats"))) or None,
        tunnel=_tunnel(data) if kind in _TUNNELS else None,
    )


def _mac(entry: _Fields, key: str) -> str | None:
    """An Ethernet address; a loopback and most tunnels have none. A permanent one is shown where
    it is not the present one."""
    mac = (_text(entry, key) or "").lower()
    return mac if _MAC.fullmatch(mac) and mac.strip("0:") else None


def _tunnel(data: _Fields) -> Tunnel:
    words = (_text(data, key) for key in ("remote", "remote6", "group", "group6"))
    remote = next((word for word in words if word), "")
    return Tunnel(
        remote="" if remote in ("any", "unknown") else remote,
        device=_text(data, "link"),
        external=data.get("external") is True,
    )


def _counters_in(stats: _Fields) -> Counters:
    return {
        f"{way}_{_COUNTERS[name]}": value
        for way in ("rx", "tx")
        for name in _of(stats.get(way))
        if name in _COUNTERS and (value := _number(_of(stats[way]), name)) is not None
    }


def _of(value: object) -> _Fields:
    return cast(_Fields, value) if isinstance(value, dict) else {}


def _text(entry: _Fields, key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) and value else None


def _number(entry: _Fields, key: str) -> int | None:
    value = entry.get(key)
    return value if type(value) is int and 0 <= value < 1 << 64 else None


def _entries(text: str) -> Iterator[_Fields]:
    """The text form, as JSON has it."""
    block: list[str] = []
    for line in text.splitlines():
        if _HEADER.match(line):
            yield from _entry(block)
            block = [line]
        elif block:
            block.append(line)
    yield from _entry(block)


def _entry(block: list[str]) -> Iterator[_Fields]:
    found = _HEADER.fullmatch(block[0]) if block else None
    if found is None:
        return
    name, lower, flags, rest = found.groups()
    lines = [line.split() for line in _own_lines(block)]
    said = rest.split() + [word for line in lines for word in line]
    entry: _Fields = {"ifname": name, "flags": flags.split(","), **_numbers_in(said)}
    if lower is not None and lower != "NONE" and not re.fullmatch(r"if\d+", lower):
        entry["link"] = lower
    address = lines[0] if lines else []
    for key, words, word in (
        ("master", rest.split(), "master"), ("parentdev", said, "parentdev"),
        ("address", address, "link/ether"), ("permaddr", address, "permaddr"),
    ):  # fmt: skip
        if (value := _after(words, word)) is not None:
            entry[key] = value
    kind = lines[1] if len(lines) > 1 else []
    if kind and kind[0] not in _NO_KIND and not kind[0].endswith("_slave"):
        data: _Fields = {key: _after(kind, word) for word, key in _DATA.items()}
        entry["linkinfo"] = {
            "info_kind": kind[0], "info_data": {**data, "external": "external" in kind}
        }  # fmt: skip
    entry["stats64"] = _stats(lines)
    yield entry


def _own_lines(block: list[str]) -> Iterator[str]:
    """Lines behind the first, up to those of virtual functions, which have counters too."""
    for line in block[1:]:
        if line.startswith("    vf "):
            return
        yield line


def _numbers_in(words: list[str]) -> _Fields:
    values = {key: number_in(_after(words, word) or "") for word, key in _NUMBERS.items()}
    return {key: value for key, value in values.items() if value is not None}


def _after(words: list[str], key: str) -> str | None:
    return next((word for before, word in pairwise(words) if before == key), None)


def _stats(lines: list[list[str]]) -> _Fields:
    """Counters: a line of names, which begins ``RX:`` or ``RX errors:``, and one of numbers."""
    found: dict[str, dict[str, int]] = {"rx": {}, "tx": {}}
    for names, values in pairwise(lines):
        way = names[0].rstrip(":").lower() if names else ""
        numbers = [number for each in values if (number := number_in(each)) is not None]
        if way in found and len(numbers) == len(values):
            names = names[2:] if names[1:2] == ["errors:"] else names[1:]
            found[way].update(zip(names, numbers, strict=False))
    return cast(_Fields, found)
