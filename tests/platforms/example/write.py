"""A change of a NIC -> the edit of the inventory it stands in."""

from __future__ import annotations

import re

from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change
from vnicaudit.model.location import Location
from vnicaudit.text.edits import Edit

ENTAILED: dict[str, tuple[str, ...]] = {}
SHARED: frozenset[str] = frozenset()
OWNER_REWRITES = True

_NIC = re.compile(rb"nic\d+ *= *(?P<model>\S+) +(?P<mac>\S+) ")


def edits_for(data: bytes, place: Location, change: Change) -> list[Edit]:
    """Another model in the line of the NIC."""
    if change.field != "model" or change.new is None:
        raise RefusedError(f"an inventory does not say {change.field}")
    lines = data.splitlines(keepends=True)
    number = (place.line or 0) - 1
    found = _NIC.match(lines[number]) if 0 <= number < len(lines) else None
    if found is None:
        raise RefusedError("there is no NIC in that line")
    start = sum(map(len, lines[:number])) + found.start("model")
    return [Edit(start, start + len(found["model"]), change.new.encode())]


def text_of(data: bytes) -> str:
    """The inventory's text."""
    return data.decode("utf-8", "surrogateescape")


def models_in(data: bytes) -> dict[str, str]:
    """MAC -> model."""
    found = map(_NIC.match, data.splitlines())
    return {one["mac"].decode(): one["model"].decode() for one in found if one is not None}
