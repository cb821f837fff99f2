"""Suppressions in a manifest: annotations of the virtual machine.

``suppress.vnicaudit/VNIC071: the vendor supports e1000 only; until=2027-01-31``
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.platforms.kubevirt.objects import Object

PREFIX = "suppress.vnicaudit/"
_SETTINGS = ("until", "owner", "mac")


def suppressions_of(found: Object) -> tuple[str, ...]:
    """Raw JSON of each, as :attr:`vnicaudit.model.domain.Domain.suppressions` has it."""
    return tuple(msgspec.json.encode(entry).decode() for entry in _entries(found))


def _entries(found: Object) -> Iterator[dict[str, str]]:
    annotations = found.place.at("metadata", "annotations")
    if annotations is None:
        return
    for key in annotations.names():
        if key.startswith(PREFIX):
            value = annotations.child(key)
            text = "" if value is None else value.text or ""
            yield {"rule": key.removeprefix(PREFIX), **_parts(text)}


def _parts(text: str) -> dict[str, str]:
    """The reason, and behind it settings like ``; until=2027-01-31``."""
    pieces = text.split(";")
    settings: dict[str, str] = {}
    while len(pieces) > 1:
        name, equals, value = pieces[-1].strip().partition("=")
        if not equals or name not in _SETTINGS:
            break
        settings[name] = value.strip()
        pieces.pop()
    return {"reason": ";".join(pieces).strip(), **settings}
