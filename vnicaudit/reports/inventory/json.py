"""``vnicaudit.inventory/1``: one host per line, in the order of the inventory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from vnicaudit.fleet.inventory.checking import HostCheck
from vnicaudit.model.fleet import HostOptions
from vnicaudit.reports.encode import encode, encode_items

INVENTORY_SCHEMA: Literal["vnicaudit.inventory/1"] = "vnicaudit.inventory/1"


class InventoryRow(msgspec.Struct, frozen=True):
    """One host. ``uri_source``: where its URI comes from. ``check``: null if no connection was
    tried."""

    name: str
    uri: str
    site: str
    groups: tuple[str, ...]
    options: HostOptions
    source: str
    uri_source: str
    check: HostCheck | None = None


class InventoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.inventory/1``: the hosts of an inventory. ``notes``: duplicates, patterns of
    ``--limit`` that match nothing, and sources that could not be read."""

    schema: Literal["vnicaudit.inventory/1"] = INVENTORY_SCHEMA
    hosts: tuple[InventoryRow, ...]
    notes: tuple[str, ...] = ()


def to_json(rows: Sequence[InventoryRow], notes: Iterable[str]) -> str:
    """The JSON document."""
    items = f"\n{encode_items(rows)}" if rows else ""
    return (
        f'{{"schema":"{INVENTORY_SCHEMA}",\n"hosts":[{items}],\n"notes":{encode(tuple(notes))}}}\n'
    )
