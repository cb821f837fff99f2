"""The routes of a guest that must be restored after its interface was exchanged, and the commands
for that.

Routes that the kernel makes by itself for an address are left out; routes that could only come back
changed are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_interface
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import RefusedError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.guest_network import GuestAddress, GuestRoute
from vnicaudit.remedy.guest.links import Guest, address, ask, excerpt, name, prefix

# A guest's routes as its ``ip`` prints them, and each as it is to be restored.
#
# Fields are those of ``ip -j -d route`` of iproute2 5.10, 6.1 and 6.15 (ip/iproute.c,
# print_route).
# An unknown field of a route is not ignored: such a route cannot be restored.


_STATES = frozenset({"dead", "linkdown", "offload", "rt_offload", "trap", "rt_trap", "notify"})
"""Flags for the state of a route, which are not part of its definition."""
_NUMBERS = frozenset({
    "mtu", "window", "ssthresh", "cwnd", "advmss", "reordering", "hoplimit", "initcwnd",
    "initrwnd", "quickack", "fastopen_no_cookie",
})  # fmt: skip
_MILLISECONDS = frozenset({"rtt", "rttvar"})


_KNOWN = frozenset(GuestRoute.__struct_encode_fields__) - {"shared"}
_DEFAULT = ("default", "0.0.0.0/0", "::/0")
_PLACE = ("dst", "dev", "nexthops", "table", "protocol", "prefsrc", "metric")
"""The fields that are read from a route with unknown fields: these may use other field names in
their own sense (``encap ip`` has a ``tos``, up to iproute2 6.1)."""


class Route(NamedTuple):
    """A route, and the names of its fields that are unknown here."""

    fields: GuestRoute
    unknown: tuple[str, ...]


def read_routes(guest: Guest, *, inet6: bool) -> list[Route]:
    """All routes of one family, in the kernel's order. Raises RefusedError if the guest cannot
    report them."""
    family = "-6" if inet6 else "-4"
    command = ("ip", "-j", "-d", family, "route", "show", "table", "all")
    return [_route(raw) for raw in ask(guest, command, msgspec.Raw)]


def _route(raw: msgspec.Raw) -> Route:
    try:
        said = json_as(raw, dict[str, msgspec.Raw])
        unknown = tuple(sorted(said.keys() - _KNOWN))
        if unknown:
            raw = msgspec.Raw(
                msgspec.json.encode({key: said[key] for key in _PLACE if key in said})
            )
        return Route(json_as(raw, GuestRoute), unknown)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedError(
            f"a route of the guest is not understood: {excerpt(str(error))}"
        ) from None


def _check_known(route: GuestRoute, unknown: Iterable[str]) -> None:
    """Raises RefusedError for a route that cannot be restored exactly."""
    what = [*unknown, *(flag for flag in route.flags if flag not in _STATES | {"onlink"})]
    if route.nexthops:
        what.append("several next hops")
    if route.via is not None and route.via.family not in ("inet", "inet6"):
        what.append("via")
    if what:
        raise _not_put_back(route, ", ".join(what))
    name(route.scope)  # it is kept, and not always written in a line


def _metrics(route: GuestRoute) -> Iterator[str]:
    for key, value in (item for metrics in route.metrics for item in metrics.items()):
        number = isinstance(value, int) and 0 <= value < 2**32
        if key in _NUMBERS and number:
            yield f"{key} {value}"
        elif key in _MILLISECONDS and number:
            yield f"{key} {value}ms"
        elif key == "congestion" and isinstance(value, str):
            yield f"congctl {name(value)}"
        else:
            raise _not_put_back(route, key)


def _not_put_back(route: GuestRoute, what: str) -> RefusedError:
    text = f"the guest's route {described(route)} cannot be restored as it is: {excerpt(what)}"
    return RefusedError(text)


def described(route: GuestRoute) -> str:
    """The route, as text for a message."""
    table = "" if route.table == "main" else f" of table {excerpt(route.table)}"
    return f"{'default' if route.dst in _DEFAULT else excerpt(route.dst)}{table}"


def locked(text: bytes, device: str) -> bool:
    """True if the text, printed by ``ip route`` without ``-j``, has a route through the interface
    with a locked metric, which ``ip -j`` does not show (print_rta_metrics)."""
    words = f" dev {device} ".encode()
    return any(words in line + b" " and b" lock " in line for line in text.splitlines())


_OWN_METRIC = 256
"""Metric of the kernel's route for the prefix of an IPv6 address (IP6_RT_PRIO_ADDRCONF)."""
_OWN_PROTOCOLS = ("kernel", "unspec", "none")
"""Protocols that the kernel shows for its own routes; older kernels show none for IPv6."""


def guest_routes(
    routes: Iterable[Route], device: str, addresses: Iterable[GuestAddress], *, inet6: bool
) -> list[GuestRoute]:
    """The routes of one family to restore. Raises RefusedError if one cannot be restored, or would
    come back in a different position."""
    routes = tuple(routes)
    addresses = tuple(one for one in addresses if one.inet6 == inet6)
    _check_others(routes, device, addresses)
    by_address = frozenset(_by_address(addresses))
    last = _last(routes, device)
    found, known = [], set()
    for number, route in enumerate(routes):
        fields = route.fields
        shared = fields.key in known
        known.add(fields.key)
        if fields.through(device) and not _made_for_address(fields):
            _check_rank(fields, number, last)
            if not _comes_back(fields, by_address, inet6=inet6):
                _check_known(fields, route.unknown)
                found.append(replace(fields, dst=prefix(fields.dst, inet6=inet6), shared=shared))
    return found


def _check_others(routes: Iterable[Route], device: str, addresses: Iterable[GuestAddress]) -> None:
    """Raises RefusedError if a route through another interface has one of the addresses as its
    source: the kernel deletes it with the address (fib_sync_down_addr)."""
    own = {one.local for one in addresses}
    for route, _unknown in routes:
        if route.source in own and not route.through(device) and not _made_for_address(route):
            raise RefusedError(
                f"the guest's route {described(route)} through {excerpt(route.dev or '?')} uses "
                f"an address of {excerpt(device)} as its source: it would be lost"
            )


def _made_for_address(route: GuestRoute) -> bool:
    """True for a route that the kernel keeps in its local table for an address, or for IPv6
    multicast."""
    if route.table != "local":
        return False
    multicast = route.dst == "ff00::/8" and route.metric == _OWN_METRIC
    return multicast or route.protocol in _OWN_PROTOCOLS


def _by_address(addresses: Iterable[GuestAddress]) -> Iterator[tuple[str, int]]:
    """Destination and metric of the routes that the kernel makes for the addresses."""
    for one in addresses:
        if one.noprefixroute:
            continue
        metric = one.metric or (_OWN_METRIC if one.inet6 else 0)
        for end in (one.local, one.address or one.local):
            yield str(ip_interface(f"{end}/{one.prefixlen}").network), metric
            if one.inet6:
                yield f"{end}/128", metric


def _comes_back(route: GuestRoute, by_address: frozenset[tuple[str, int]], *, inet6: bool) -> bool:
    """True if the kernel makes the route again when the interface has its addresses. NetworkManager
    makes such routes itself, marked as the kernel's, and tells the kernel not to."""
    if route.protocol != "kernel" or route.next_hop is not None or route.table != "main":
        return False
    if route.metrics or route.type != "unicast" or route.origin or route.tos:
        return False
    destination = prefix(route.dst, inet6=inet6)
    if inet6 and destination == "fe80::/64" and route.metric == _OWN_METRIC:
        return True
    return (destination, route.metric) in by_address


def _last(routes: Iterable[Route], device: str) -> dict[tuple[object, ...], tuple[int, GuestRoute]]:
    """Key -> the last route with it through another interface, and its position."""
    return {
        route.key: (number, route)
        for number, (route, _unknown) in enumerate(routes)
        if not route.through(device)
    }


def _check_rank(
    route: GuestRoute, number: int, last: dict[tuple[object, ...], tuple[int, GuestRoute]]
) -> None:
    """Raises RefusedError if restoring the route would put another one with the same key before it:
    the first counts, and an added one is the last. Exempt are link-local and multicast
    destinations, which are used with an interface, and advertised routes, which come in any
    order."""
    if route.protocol == "ra" or route.dst.startswith(("fe80:", "ff")):
        return
    place, other = last.get(route.key, (-1, route))
    if place > number:
        raise RefusedError(
            f"the guest's route {described(route)} is also there through "
            f"{excerpt(other.dev or '?')}, which would become the first of the two"
        )


def route_lines(routes: Iterable[GuestRoute], device: str) -> list[str]:
    """The commands that add the routes; those without a gateway first, as they are the way to the
    gateways. ``replace`` would replace any route of the same key, through whatever interface
    (measured with Linux 6.18): if there is another, the route is appended."""
    ordered = sorted(routes, key=lambda route: route.next_hop is not None)
    return [" ".join(_words(route, device)) for route in ordered]


def _words(route: GuestRoute, device: str) -> Iterator[str]:
    yield "route append" if route.shared else "route replace"
    yield f"{name(route.type)} {prefix(route.dst, inet6=route.inet6)}"
    if route.origin is not None:
        yield f"from {prefix(route.origin, inet6=route.inet6)}"
    if route.tos is not None:
        yield f"tos {name(route.tos)}"
    if route.next_hop is not None:
        other = not route.inet6 and ":" in route.next_hop
        yield f"via {'inet6 ' if other else ''}{address(route.next_hop)}"
    yield f"dev {device} table {name(route.table)} proto {name(route.protocol)}"
    if not route.inet6:
        yield f"scope {name(route.scope)}"
    if route.metric:
        yield f"metric {route.metric}"
    if route.source is not None:
        yield f"src {address(route.source)}"
    yield from _metrics(route)
    if route.expires is not None:
        yield f"expires {route.expires}"
    if route.pref is not None:
        yield f"pref {name(route.pref)}"
    if "onlink" in route.flags:
        yield "onlink"


def missing_routes(wanted: Iterable[GuestRoute], now: Iterable[Route], device: str) -> list[str]:
    """The wanted routes that do not exist through the interface, whatever their other fields."""
    there = {_identity(route) for route, _unknown in now if route.dev == device}
    return [_text(route) for route in wanted if _identity(route) not in there]


def _identity(route: GuestRoute) -> tuple[object, ...]:
    default = route.dst in _DEFAULT
    return (
        route.table, route.type, None if default else _network(route.dst),
        None if route.origin is None else _network(route.origin),
        route.tos, route.metric, route.next_hop,
    )  # fmt: skip


def _network(text: str) -> str:
    """The network of a destination. An address without a length is a host's, as for ``prefix`` of
    ``words.py``."""
    return text if "/" in text else f"{text}/{128 if ':' in text else 32}"


def _text(route: GuestRoute) -> str:
    gateway = "" if route.next_hop is None else f" via {route.next_hop}"
    table = "" if route.table == "main" else f" of table {route.table}"
    return f"route {route.dst}{gateway}{table}"
