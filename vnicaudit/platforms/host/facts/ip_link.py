"""Output of ``ip -d -s link``, as JSON or as text: both give the same records.

Sources: print_linkinfo(), print_linktype(), print_stats64() and print_name_and_link() of iproute2
(ip/ipaddress.c and lib/utils.c at ee2a4a86, 2026-06-28); text of 5.4 names the fifth counter of
received packets *overrun*, that of 5.9 and later *missed*, and each line of counters has its names
above it. A queue length of 0 is not printed, nor is a kind for most adapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import msgspec

from vnicaudit.model.host_facts import Counters, HostLink, Tunnel
from vnicaudit.platforms.host.readings import number_in

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
        counters=_counters(_of(entry.get("stats64") or entry.get("stats"))) or None,
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


def _counters(stats: _Fields) -> Counters:
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
    entry: _Fields = {"ifname": name, "flags": flags.split(","), **_numbers(said)}
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


def _numbers(words: list[str]) -> _Fields:
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
