"""The address by which the peer reaches the target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint, Interfaces
from vnicaudit.bench.endpoints.ip_output import (
    ADDRESSES,
    HeldAddress,
    RouteKind,
    held_addresses,
    held_addresses_of,
    next_hops,
)
from vnicaudit.errors import EndpointError, UsageError

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?=[A-Za-z0-9_-]*[A-Za-z]){_LABEL}\.?")
"""A host name. Its last label has a letter; otherwise it is a mistyped address."""
_SECONDS = 30.0
_MOST = 8
_NAME_ADVICE = "append the address to the URL: ?address=IP"


def is_host_name(text: str) -> bool:
    """True for a name that a resolver can be asked for."""
    return len(text) <= 253 and _NAME.fullmatch(text) is not None


def resolved_at(endpoint: Endpoint, name: str) -> str:
    """The address of a name at that endpoint, IPv4 before IPv6. Raises EndpointError if it has
    none, UsageError if it has several, or a loopback address: another machine resolves such a name
    to something else."""
    ran = endpoint.run(("getent", "ahosts", name), seconds=_SECONDS)
    lines = ran.stdout.splitlines() if ran.code == 0 else []
    found = list(dict.fromkeys(filter(None, map(_address, lines))))
    if not found:
        said = one_line(ran.stderr)
        why = f" ({said})" if said else ""
        raise EndpointError(f"{endpoint.url} cannot resolve {name!r}{why}: {_NAME_ADVICE}")
    best = [one for one in found if (":" in one) == all(":" in each for each in found)]
    if len(best) > 1:
        shown = ", ".join(best[:_MOST]) + (", …" if len(best) > _MOST else "")
        raise UsageError(
            f"{name!r} has several addresses at {endpoint.url} ({shown}): {_NAME_ADVICE}"
        )
    if ip_address(best[0]).is_loopback:
        raise UsageError(
            f"at {endpoint.url}, {name!r} is {best[0]}, which is that end itself: {_NAME_ADVICE}"
        )
    return best[0]


def _address(line: str) -> str | None:
    """The address in a line of ``getent ahosts``; None if another machine cannot send to it."""
    try:
        return str(ip_address(line.split()[0]))
    except (IndexError, ValueError):
        return None


_GIVE = "append it to the URL: ?address=IP"
_ROUTES_SCRIPT = (
    "ip -j route show >/dev/null 2>&1 || exit 3; for to; do "
    """way=$(ip -j route get "$to" 2>/dev/null) || way='[]'; printf '%s\\n' "$way"; done"""
)
"""One line for each address; exit code 3: there is no ``ip``, or it cannot print JSON."""
_MACHINE = "cat /proc/sys/kernel/random/boot_id && readlink /proc/self/ns/net"
_ASKED_MAX = 32
_SHOWN_MAX = 8


def address_of(target: Endpoint, peer: Endpoint, wanted: str | None, mac: str | None) -> str:
    """The target's address: ``wanted``, or the best one found. A wanted name is resolved at the
    peer. The search prefers IPv4 to IPv6, and a link of the peer to a network behind a router; with
    ``mac``, only addresses of that interface count.

    Raises UsageError if several addresses are equally good, or ``wanted`` is invalid; EndpointError
    if none is found.
    """
    if wanted is not None:
        return resolved_at(peer, wanted) if is_host_name(wanted) else _ip_address(wanted)
    found = [one for one in _of_target(target) if mac is None or one.mac == mac.lower()]
    if not found:
        which = "interface" if mac is None else f"interface with {mac}"
        raise EndpointError(
            f"{target.url} has no {which} that is up with a lasting address: {_GIVE}"
        )
    return _only(_reached(found, target, peer), target, peer)


def _ip_address(wanted: str) -> str:
    try:
        return str(ip_address(wanted))
    except ValueError:
        raise UsageError(f"not an IP address: {wanted!r}") from None


def _of_target(target: Endpoint) -> list[HeldAddress]:
    """The lasting addresses of the target. Raises EndpointError if it cannot list them."""
    ran = target.run(ADDRESSES)
    if ran.code == 0 and (found := held_addresses(ran.stdout)) is not None:
        return found
    listed = target.interfaces() if isinstance(target, Interfaces) else None
    if listed is not None:
        return held_addresses_of(listed)
    raise EndpointError(
        f"{target.url} cannot list its addresses (that needs `{' '.join(ADDRESSES)}` of iproute2 "
        f"4.17 or later): install iproute2, or {_GIVE}"
    )


def _reached(found: Sequence[HeldAddress], target: Endpoint, peer: Endpoint) -> list[str]:
    """The best of these addresses, by the peer's routes; all of them if the peer cannot tell."""
    asked = sorted({one.address for one in found}, key=_order)[:_ASKED_MAX]
    known = _next_hops(peer, asked)
    if known is None:
        return _first_family(asked)
    here = RouteKind.LOCAL in known.values() and place_of(target) == place_of(peer)
    for wanted in (
        ((RouteKind.LINK, RouteKind.LOCAL) if here else (RouteKind.LINK,)),
        (RouteKind.ROUTER,),
    ):
        best = _first_family([one for one in asked if known.get(one) in wanted])
        if best:
            return best
    return []


def _next_hops(peer: Endpoint, asked: Sequence[str]) -> dict[str, RouteKind] | None:
    ran = peer.run(["sh", "-c", _ROUTES_SCRIPT, "sh", *asked])
    return next_hops(ran.stdout, asked) if ran.code == 0 else None


def place_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Identity of the endpoint's machine and network namespace, equal for two endpoints that share
    both; its URL if that cannot be read."""
    ran = endpoint.run(["sh", "-c", _MACHINE])
    return tuple(ran.stdout.split()) if ran.code == 0 else (endpoint.url,)


def _order(text: str) -> tuple[int, int]:
    address = ip_address(text)
    return address.version, int(address)


def _first_family(addresses: Sequence[str]) -> list[str]:
    return [one for one in addresses if (":" in one) == (":" in addresses[0])]


def _only(best: Sequence[str], target: Endpoint, peer: Endpoint) -> str:
    if len(best) == 1:
        return best[0]
    if not best:
        raise EndpointError(f"{peer.url} cannot reach any known address of {target.url}: {_GIVE}")
    shown = ", ".join(best[:_SHOWN_MAX]) + (", …" if len(best) > _SHOWN_MAX else "")
    raise UsageError(f"{target.url} has several addresses ({shown}): {_GIVE}")


_NAMESPACE = ("readlink", "/proc/self/ns/net")


def refuse_local_route(target: Endpoint, peer: Endpoint, address: str, *, one_kernel: bool) -> None:
    """Raises UsageError if the peer would reach the address without any NIC: both ends are in one
    network namespace, or the address is the peer's own. A loopback address (``127.0.0.1``, ``::1``)
    is accepted: it can only be meant on purpose. ``one_kernel``: both ends run on the same
    kernel."""
    if ip_address(address).is_loopback:
        return
    if one_kernel and _printed(target, *_NAMESPACE) == _printed(peer, *_NAMESPACE) != "":
        raise UsageError(
            f"{target.url} and {peer.url} are in the same network namespace: traffic between them "
            "uses loopback, not a NIC. Send the load from another machine or namespace, or "
            "append ?address=127.0.0.1 to the target's URL to measure loopback"
        )
    if _printed(peer, "ip", "-o", "route", "get", address).startswith("local "):
        raise UsageError(
            f"{peer.url}: {address} is an address of this end itself (its route is local), so the "
            f"load would never leave it: append the address of {target.url} to its URL: "
            "?address=IP"
        )


def _printed(endpoint: Endpoint, *argv: str) -> str:
    """The output of a program at the endpoint; empty if the program is missing."""
    try:
        ran = endpoint.run(argv)
    except EndpointError:
        return ""
    return ran.stdout.strip() if ran.code == 0 else ""
