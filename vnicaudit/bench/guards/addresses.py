"""The target keeps its addresses and its default routes."""

from __future__ import annotations

import msgspec

from vnicaudit.bench.contract import Ends
from vnicaudit.bench.guards import _interfaces
from vnicaudit.bench.guards._programs import why_not
from vnicaudit.errors import MeasureError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import GuardRail, Path


class _State(msgspec.Struct, frozen=True):
    """``gateways``: those of the default routes, "on-link" for one without. Interfaces' names are
    left out: a NIC of another model may well have another name."""

    addresses: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()


def before(ends: Ends, path: Path) -> str:  # noqa: ARG001  (a Guard)
    """Addresses and gateways as they are; empty where ip cannot tell."""
    try:
        return msgspec.json.encode(_state(ends)).decode()
    except MeasureError:
        return ""


def after(ends: Ends, path: Path, before: str) -> GuardRail:
    """Broken where one is gone. New ones are fine."""
    try:
        now = _state(ends)
    except MeasureError as error:
        return GuardRail("addresses", path.name, "unknown", str(error))
    if not before:
        detail = "not known how it was before"
        return GuardRail("addresses", path.name, "unknown", detail)
    was = json_as(before, _State)
    gone = [*_gone("address", was.addresses, now.addresses)]
    gone += _gone("default route via", was.gateways, now.gateways)
    if gone:
        return GuardRail("addresses", path.name, "failed", "; ".join(gone))
    kept = ", ".join((*was.addresses, *(f"default via {way}" for way in was.gateways)))
    return GuardRail("addresses", path.name, "ok", f"still there: {kept or 'none'}")


def _gone(what: str, was: tuple[str, ...], now: tuple[str, ...]) -> list[str]:
    return [f"{what} {name} is gone" for name in was if name not in now]


def _state(ends: Ends) -> _State:
    """Raises MeasureError where there is no ip, or one that knows no JSON (busybox)."""
    found = _interfaces.interfaces(_ip(ends, _interfaces.ADDRESSES))
    ways = [
        route.gateway or "on-link"
        for argv in _interfaces.ROUTES
        for route in _interfaces.routes(_ip(ends, argv))
    ]
    return _State(tuple(sorted(set(_interfaces.lasting(found)))), tuple(sorted(set(ways))))


def _ip(ends: Ends, argv: tuple[str, ...]) -> str:
    ran = ends.target.run(argv)
    if ran.code != 0:
        raise MeasureError(why_not(ran))
    return ran.stdout
