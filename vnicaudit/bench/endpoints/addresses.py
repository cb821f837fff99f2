"""Where the target is reached from the peer."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.endpoints.interfaces import Held, held, held_by
from vnicaudit.bench.endpoints.routes import Way, ways
from vnicaudit.bench.endpoints.transport import Interfaces
from vnicaudit.errors import EndpointError, UsageError

_GIVE = "say it behind its URL: ?address=IP"
_ASK = ("ip", "-j", "addr", "show")
_WAYS = (
    "ip -j route show >/dev/null 2>&1 || exit 3; for to; do "
    """way=$(ip -j route get "$to" 2>/dev/null) || way='[]'; printf '%s\\n' "$way"; done"""
)
"""One line for each address; 3: this ``ip``, or none, knows no JSON."""
_MACHINE = "cat /proc/sys/kernel/random/boot_id && readlink /proc/self/ns/net"
_ASKED_MAX = 32
_SHOWN_MAX = 8


def address_of(target: Endpoint, peer: Endpoint, wanted: str | None, mac: str | None) -> str:
    """The target's address: ``wanted``, or one that is found. It is one of those of the interface
    with that MAC address, where one is given; IPv4 before IPv6; on a link of the peer before one
    behind a router.

    Raises UsageError where several would do, or ``wanted`` is none; EndpointError where none is
    found.
    """
    if wanted is not None:
        return _given(wanted)
    found = [one for one in _of_target(target) if mac is None or one.mac == mac.lower()]
    if not found:
        which = "lasting address" if mac is None else f"interface with {mac} and a lasting address"
        raise EndpointError(f"{target.url} has no {which}: {_GIVE}")
    return _only(_reached(found, target, peer), target, peer)


def _given(wanted: str) -> str:
    try:
        return str(ip_address(wanted))
    except ValueError:
        raise UsageError(f"not an IP address: {wanted!r}") from None


def _of_target(target: Endpoint) -> list[Held]:
    """Its lasting addresses. Raises EndpointError where it cannot list them."""
    ran = target.run(_ASK)
    if ran.code == 0 and (found := held(ran.stdout)) is not None:
        return found
    listed = target.interfaces() if isinstance(target, Interfaces) else None
    if listed is not None:
        return held_by(listed)
    raise EndpointError(
        f"{target.url} cannot list its addresses (`{' '.join(_ASK)}` of iproute2 4.17 or later"
        f" does): install iproute2, or {_GIVE}"
    )


def _reached(found: Sequence[Held], target: Endpoint, peer: Endpoint) -> list[str]:
    """The best of them, by the peer's routes; all, where the peer cannot tell."""
    asked = sorted({one.address for one in found}, key=_order)[:_ASKED_MAX]
    known = _ways(peer, asked)
    if known is None:
        return _first_family(asked)
    here = Way.LOCAL in known.values() and _machine(target) == _machine(peer)
    for wanted in ((Way.LINK, Way.LOCAL) if here else (Way.LINK,)), (Way.ROUTER,):
        best = _first_family([one for one in asked if known.get(one) in wanted])
        if best:
            return best
    return []


def _ways(peer: Endpoint, asked: Sequence[str]) -> dict[str, Way] | None:
    ran = peer.run(["sh", "-c", _WAYS, "sh", *asked])
    return ways(ran.stdout, asked) if ran.code == 0 else None


def _machine(endpoint: Endpoint) -> tuple[str, ...]:
    """What two endpoints share that are one machine, and one network of it."""
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
        raise EndpointError(
            f"{peer.url} reaches no address of {target.url} that was found: {_GIVE}"
        )
    shown = ", ".join(best[:_SHOWN_MAX]) + (", …" if len(best) > _SHOWN_MAX else "")
    raise UsageError(f"{target.url} has several addresses ({shown}): {_GIVE}")
