"""Suppressions in a manifest: annotations of the virtual machine.

``suppress.vnicaudit/VNIC071: the vendor supports e1000 only; until=2027-01-31``
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.platforms.kubevirt.objects import Object
from vnicaudit.text.comment_walk import reason_and_settings

PREFIX = "suppress.vnicaudit/"


def suppressions_of(found: Object) -> tuple[str, ...]:
    """The raw JSON of each, as in :attr:`vnicaudit.model.domain.Domain.suppressions`."""
    return tuple(msgspec.json.encode(entry).decode() for entry in _entries(found))


def _entries(found: Object) -> Iterator[dict[str, str]]:
    annotations = found.place.at("metadata", "annotations")
    if annotations is None:
        return
    for key in annotations.names():
        if key.startswith(PREFIX):
            value = annotations.child(key)
            text = "" if value is None else value.text or ""
            yield {"rule": key.removeprefix(PREFIX), **reason_and_settings(text)}
