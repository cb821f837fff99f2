"""Properties of QEMU's NIC devices.

The table is in ``qemu_properties.json``, made by ``tests/conformance/properties.py`` from what
QEMU 7.2, 10.0 and 11.1 print for ``-device NAME,help``.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec

from vnicaudit.base.opening import read_beside
from vnicaudit.model.decoding import json_as
from vnicaudit.model.host import Version


class QemuProperty(NamedTuple):
    """``kind`` is QEMU's word for the type: bool, str, uint16, OnOffAuto… Releases up to
    ``not_yet`` lack the property, and those from ``no_more`` on; None: none is known to."""

    kind: str
    not_yet: Version | None = None
    no_more: Version | None = None


class _PropertyTable(msgspec.Struct, frozen=True):
    releases: list[str]
    groups: dict[str, dict[str, str]]
    devices: dict[str, dict[str, str]]


@cache
def properties_of(device: str) -> dict[str, QemuProperty]:
    """The properties of a device in any of the releases; empty for an unknown device."""
    table = _table()
    written = dict(table.devices.get(device, {}))
    for group, members in table.groups.items():
        if written.pop(f"+{group}", None) is not None:
            written |= members
    return {name: _property(text, table.releases) for name, text in written.items()}


@cache
def _table() -> _PropertyTable:
    return json_as(read_beside(__file__, "qemu_properties.json"), _PropertyTable)


def _property(text: str, releases: list[str]) -> QemuProperty:
    """A property from its text: ``bool``, or ``bool 10.0-11.1`` with the first and the last release
    that has it."""
    kind, _blank, span = text.partition(" ")
    if not span:
        return QemuProperty(kind)
    first, _dash, last = span.partition("-")
    before, after = releases.index(first) - 1, releases.index(last) + 1
    return QemuProperty(
        kind,
        Version.parse(releases[before]) if before >= 0 else None,
        Version.parse(releases[after]) if after < len(releases) else None,
    )
