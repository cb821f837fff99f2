"""The target keeps its addresses and its default routes."""

from __future__ import annotations

import msgspec

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.ip_output import ADDRESSES, interfaces, routes
from vnicaudit.bench.guards._programs import kept_state, output_of
from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import GuardRail, Path

_DEFAULT_ROUTES = ("route", "show", "default")


class AddressState(msgspec.Struct, frozen=True):
    """``gateways``: those of the default routes, "on-link" for a route without one. Interface names
    are left out: a NIC of another model may have another name."""

    addresses: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()


def before(ends: Ends, path: Path) -> str:  # noqa: ARG001  (a Guard)
    """The present addresses and gateways; empty if ip cannot list them."""
    return kept_state(lambda: _state(ends))


def after(ends: Ends, path: Path, before: str) -> GuardRail:
    """Broken if one is gone. New ones are fine."""
    try:
        now = _state(ends)
    except MeasureError as error:
        return GuardRail("addresses", path.name, "unknown", str(error))
    if not before:
        detail = "its state before is unknown"
        return GuardRail("addresses", path.name, "unknown", detail)
    was = json_as(before, AddressState)
    gone = [*_missing("address", was.addresses, now.addresses)]
    gone += _missing("default route via", was.gateways, now.gateways)
    if gone:
        return GuardRail("addresses", path.name, "failed", "; ".join(gone))
    kept = ", ".join((*was.addresses, *(f"default via {way}" for way in was.gateways)))
    return GuardRail("addresses", path.name, "ok", f"still there: {kept or 'none'}")


def trouble(before: str) -> str:  # noqa: ARG001  (a Guard)
    """Always empty: the expected addresses and routes are unknown."""
    return ""


def _missing(what: str, was: tuple[str, ...], now: tuple[str, ...]) -> list[str]:
    return [f"{what} {name} is gone" for name in was if name not in now]


def _state(ends: Ends) -> AddressState:
    """The present state. Raises MeasureError if there is no ip, or one without JSON (busybox)."""
    lasting = {
        f"{address.local}/{address.prefixlen}"
        for interface in interfaces(output_of(ends.target, ADDRESSES))
        for address in interface.addr_info
        if address.lasts
    }
    gateways = {
        route.gateway or "on-link"
        for version in ("-4", "-6")
        for route in routes(output_of(ends.target, ("ip", "-j", version, *_DEFAULT_ROUTES)))
    }
    return AddressState(tuple(sorted(lasting)), tuple(sorted(gateways)))
