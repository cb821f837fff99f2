"""A shadow NIC in its guest: set up a temporary address with routes of its own, and undo it.

Two NICs on one network are one machine to Linux: it answers ARP for any of its addresses on both,
and sends by the first route. So

* traffic from the temporary address has a routing table of its own, in which the network and its
  routers are reached through the shadow;
* ``arp_filter`` on the old NIC: it answers ARP only for addresses from which it would send, so for
  all that it answered for before, and not for the temporary address. (``arp_ignore`` would silence
  addresses that the guest has on other interfaces, such as those of a load balancer.)
* ``arp_ignore`` and ``arp_announce`` on the shadow: it answers, and asks, for its own address.
* ``rp_filter`` on the shadow: programs get a broadcast only once, through the old NIC, as the route
  back to its sender is there. Packets to the temporary address pass: for them the rule decides the
  route back.

(Linux, Documentation/networking/ip-sysctl.rst; net/ipv4/arp.c, arp_filter and arp_ignore;
net/ipv4/fib_frontend.c, __fib_validate_source.) The address is a /32, so that no other route
changes. The settings of the shadow disappear with it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vnicaudit.bench.trials.shadow_notes import ShadowNote
from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.machine import GuestInterface
from vnicaudit.remedy.guest.agent import by_mac
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.links import link_of, read_links
from vnicaudit.remedy.guest.words import address, excerpt, name, prefix

_BATCH = ("ip", "-batch", "-")
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_TABLES = range(7710, 7810)
_RULES_MAX = 8
_LOOSE = (("net/ipv6/conf/{}/disable_ipv6", "1"),)
"""Settings of the shadow: router advertisements must give it no addresses and routes. A kernel
without IPv6 has no such setting."""
_OWN = (
    ("net/ipv4/conf/{}/arp_ignore", "1"),
    ("net/ipv4/conf/{}/arp_announce", "2"),
    ("net/ipv4/conf/{}/rp_filter", "1"),
    ("net/ipv4/conf/{}/arp_notify", "1"),
)
"""Settings of the shadow. ``arp_notify``: others learn at once which NIC has the address now."""


class NicSurroundings(NamedTuple):
    """The NIC beside which the shadow is plugged in, as the guest has it. ``ways``: destinations
    behind routers on its network, and these routers; ``table``: an unused routing table."""

    device: str
    mtu: int
    arp_filter: str
    boot: str
    table: int
    ways: tuple[tuple[str, str], ...]
    addresses: tuple[str, ...]


class _RoutingRule(msgspec.Struct, frozen=True):
    src: str = "all"
    table: str = ""


class _RoutingTableEntry(msgspec.Struct, frozen=True):
    dst: str = ""
    gateway: str | None = None
    dev: str | None = None
    table: str = "main"
    type: str = "unicast"


def ground_of(guest: Guest, mac: str, network: str) -> NicSurroundings:
    """Read the NIC and its surroundings in the guest. Nothing is changed. Raises RefusedError if a
    shadow could not work beside it in that network; GuestError if the guest does not answer."""
    link = link_of(read_links(guest), mac)
    if link is None:
        raise RefusedError(f"no interface of the guest has the MAC address {mac}")
    if link.master is not None:
        raise RefusedError(f"{link.ifname} is part of {excerpt(link.master)} in the guest")
    device = name(link.ifname)
    routes = ask(guest, ("ip", "-j", "-4", "route", "show", "table", "all"), _RoutingTableEntry)
    others = {one.dev for one in routes if one.dst == network and one.dev != device}
    if others:
        other = excerpt(others.pop() or "?")
        raise RefusedError(f"the guest is in {network} with {other} too, not only with {device}")
    used = {rule.table for rule in _rules(guest)} | {route.table for route in routes}
    free = [table for table in _TABLES if str(table) not in used]
    if not free:
        raise RefusedError(f"the guest uses the routing tables {_TABLES[0]} to {_TABLES[-1]}")
    return NicSurroundings(
        device=device,
        mtu=link.mtu,
        arp_filter=_checked_number(
            _file_text(guest, f"/proc/sys/net/ipv4/conf/{device}/arp_filter")
        ),
        boot=_file_text(guest, _BOOT_ID),
        table=free[0],
        ways=tuple(_kept_routes(routes, device)),
        addresses=_interface(guest, mac).addresses,
    )


def set_up(guest: Guest, note: ShadowNote, ground: NicSurroundings, network: str) -> None:
    """Give the shadow its address, and have the guest use it for traffic from there. May be
    repeated. Raises GuestError."""
    device = name(_interface(guest, note.mac).name)
    _leave_alone(guest, device)
    for path, value in _LOOSE:
        _write_setting(guest, path.format(device), value)
    for path, value in _OWN:
        _must(guest, path.format(device), value)
    _must(guest, f"net/ipv4/conf/{ground.device}/arp_filter", "1")
    _remove_rules(guest, note)
    ran = guest.execute(_BATCH, _lines(note, ground, network, device))
    if ran.code:
        raise GuestError(f"{note.mac} cannot be configured in the guest: {excerpt(ran.stderr)}")


def put_back(guest: Guest, note: ShadowNote) -> None:
    """Undo it, as far as it was done; does nothing if the guest was booted since. May be repeated.
    Raises GuestError, RefusedError if something is left."""
    if _file_text(guest, _BOOT_ID) != note.boot:
        return
    found = by_mac(guest.interfaces())
    if note.mac in found:
        device = name(found[note.mac].name)
        guest.execute(("ip", "address", "flush", "dev", device))
        guest.execute(("ip", "link", "set", "dev", device, "down"))
    _remove_rules(guest, note)
    if note.beside in found:
        device = name(found[note.beside].name)
        _must(guest, f"net/ipv4/conf/{device}/arp_filter", note.arp_filter)


def _lines(note: ShadowNote, ground: NicSurroundings, network: str, device: str) -> bytes:
    """Lines for ``ip -batch``: routes can be set when the link is up."""
    temporary, table = address(note.address), f"table {note.table}"
    lines = [
        f"address replace {temporary}/32 dev {device}",
        f"link set dev {device} mtu {ground.mtu} up",
        f"route replace {network} dev {device} scope link src {temporary} {table}",
    ]
    lines += [
        f"route replace {to} via {router} dev {device} onlink src {temporary} {table}"
        for to, router in ground.ways
    ]
    lines.append(f"rule add from {temporary} {table}")
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _kept_routes(routes: list[_RoutingTableEntry], device: str) -> list[tuple[str, str]]:
    """The first route to each destination, which is the one in effect: they are sorted by
    metric."""
    found: dict[str, str] = {}
    for route in routes:
        if (route.dev, route.table, route.type) == (device, "main", "unicast") and route.gateway:
            found.setdefault(prefix(route.dst, inet6=False), address(route.gateway))
    return list(found.items())


def _remove_rules(guest: Guest, note: ShadowNote) -> None:
    words = ("from", address(note.address), "table", str(note.table))
    wanted = _RoutingRule(note.address, str(note.table))
    for _ in range(_RULES_MAX):
        if wanted not in _rules(guest):
            return
        guest.execute(("ip", "-4", "rule", "del", *words))
    raise GuestError(f"the guest keeps its routing rule {' '.join(words)}")


def _rules(guest: Guest) -> list[_RoutingRule]:
    return ask(guest, ("ip", "-j", "-4", "rule", "show"), _RoutingRule)


def _interface(guest: Guest, mac: str) -> GuestInterface:
    found = by_mac(guest.interfaces()).get(mac)
    if found is None:
        raise GuestError(f"no interface of the guest has the MAC address {mac}")
    return found


def _leave_alone(guest: Guest, device: str) -> None:
    """Keep NetworkManager, if present, from configuring the shadow."""
    try:
        guest.execute(("nmcli", "device", "set", device, "managed", "no"))
    except GuestError:  # not installed
        return


def _file_text(guest: Guest, path: str) -> str:
    ran = guest.execute(("cat", path))
    if ran.code:
        raise GuestError(f"{path} cannot be read in the guest: {excerpt(ran.stderr)}")
    return ran.stdout.decode("ascii", "replace").strip()[:64]


def _checked_number(text: str) -> str:
    if not text.isdecimal():
        raise GuestError(f"arp_filter is {excerpt(text)} in the guest, not a number")
    return text


def _write_setting(guest: Guest, path: str, value: str) -> str:
    """Write a setting; returns why that was not possible."""
    ran = guest.execute(("tee", f"/proc/sys/{path}"), value.encode("ascii") + b"\n")
    return excerpt(ran.stderr) if ran.code else ""


def _must(guest: Guest, path: str, value: str) -> None:
    if failed := _write_setting(guest, path, value):
        raise GuestError(f"the guest's agent may not set {path}: {failed}")
