"""A guest's routes as its ``ip`` prints them, and each as it is to be restored.

Fields are those of ``ip -j -d route`` of iproute2 5.10, 6.1 and 6.15 (ip/iproute.c, print_route).
An unknown field of a route is not ignored: such a route cannot be restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.guest_network import GuestRoute
from vnicaudit.remedy.guest.answers import Guest, ask
from vnicaudit.remedy.guest.links import Number
from vnicaudit.remedy.guest.words import address, excerpt, name, prefix

_STATES = frozenset({"dead", "linkdown", "offload", "rt_offload", "trap", "rt_trap", "notify"})
"""Flags for the state of a route, which are not part of its definition."""
_NUMBERS = frozenset({
    "mtu", "window", "ssthresh", "cwnd", "advmss", "reordering", "hoplimit", "initcwnd",
    "initrwnd", "quickack", "fastopen_no_cookie",
})  # fmt: skip
_MILLISECONDS = frozenset({"rtt", "rttvar"})


class _Via(msgspec.Struct, frozen=True):
    family: str
    host: str


class _Hop(msgspec.Struct, frozen=True):
    dev: str | None = None


class Fields(msgspec.Struct, frozen=True, rename={"origin": "from", "source": "prefsrc"}):
    """One route, with the field names of ``ip``."""

    dst: str
    type: str = "unicast"
    origin: str | None = None
    tos: str | None = None
    via: _Via | None = None
    gateway: str | None = None
    dev: str | None = None
    table: str = "main"
    protocol: str = "boot"
    scope: str = "global"
    source: str | None = None
    metric: Number = 0
    flags: tuple[str, ...] = ()
    metrics: tuple[dict[str, int | str | None], ...] = ()
    expires: Number | None = None
    pref: str | None = None
    nexthops: tuple[_Hop, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """The fields by which the kernel tells the routes of one family apart."""
        return self.table, self.dst, self.origin, self.tos, self.metric

    @property
    def next_hop(self) -> str | None:
        """The gateway's address, of whatever family."""
        return self.gateway if self.via is None else self.via.host

    def through(self, device: str) -> bool:
        """True if the route leads through that interface, alone or with others."""
        return self.dev == device or any(hop.dev == device for hop in self.nexthops)


_KNOWN = frozenset(Fields.__struct_encode_fields__)
_PLACE = ("dst", "dev", "nexthops", "table", "protocol", "prefsrc", "metric")
"""The fields that are read from a route with unknown fields: these may use other field names in
their own sense (``encap ip`` has a ``tos``, up to iproute2 6.1)."""


class Route(NamedTuple):
    """A route, and the names of its fields that are unknown here."""

    fields: Fields
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
        return Route(json_as(raw, Fields), unknown)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RefusedError(
            f"a route of the guest is not understood: {excerpt(str(error))}"
        ) from None


def guest_route(route: Route, *, shared: bool, inet6: bool) -> GuestRoute:
    """The route as it is to be restored. Raises RefusedError if it cannot be restored exactly."""
    fields, unknown = route
    _check_known(fields, unknown)
    return GuestRoute(
        destination=prefix(fields.dst, inet6=inet6),
        type=name(fields.type),
        origin=None if fields.origin is None else prefix(fields.origin, inet6=inet6),
        gateway=None if fields.next_hop is None else address(fields.next_hop),
        source=None if fields.source is None else address(fields.source),
        table=name(fields.table),
        protocol=name(fields.protocol),
        scope=name(fields.scope),
        metric=fields.metric,
        tos=None if fields.tos is None else name(fields.tos),
        onlink="onlink" in fields.flags,
        preference=None if fields.pref is None else name(fields.pref),
        expires=fields.expires,
        metrics=tuple(_metrics(fields)),
        shared=shared,
    )


def _check_known(route: Fields, unknown: Iterable[str]) -> None:
    what = [*unknown, *(flag for flag in route.flags if flag not in _STATES | {"onlink"})]
    if route.nexthops:
        what.append("several next hops")
    if route.via is not None and route.via.family not in ("inet", "inet6"):
        what.append("via")
    if what:
        raise _not_put_back(route, ", ".join(what))


def _metrics(route: Fields) -> Iterator[tuple[str, str]]:
    for key, value in (item for metrics in route.metrics for item in metrics.items()):
        number = isinstance(value, int) and 0 <= value < 2**32
        if key in _NUMBERS and number:
            yield key, str(value)
        elif key in _MILLISECONDS and number:
            yield key, f"{value}ms"
        elif key == "congestion" and isinstance(value, str):
            yield "congctl", name(value)
        else:
            raise _not_put_back(route, key)


def _not_put_back(route: Fields, what: str) -> RefusedError:
    text = f"the guest's route {described(route)} cannot be restored as it is: {excerpt(what)}"
    return RefusedError(text)


def described(route: Fields) -> str:
    """The route, as text for a message."""
    table = "" if route.table == "main" else f" of table {excerpt(route.table)}"
    return f"{excerpt(route.dst)}{table}"


def locked(text: bytes, device: str) -> bool:
    """True if the text, printed by ``ip route`` without ``-j``, has a route through the interface
    with a locked metric, which ``ip -j`` does not show (print_rta_metrics)."""
    words = f" dev {device} ".encode()
    return any(words in line + b" " and b" lock " in line for line in text.splitlines())
