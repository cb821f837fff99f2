"""An inventory for people: each host, its URI, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.fleet.own_format import HostCheck
from vnicaudit.model.fleet import HostOptions
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.safe import encode, encode_items, safe
from vnicaudit.reports.writers import Options

# ``vnicaudit.inventory/1``: one host per line, in the order of the inventory.


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


def to_text(rows: Iterable[InventoryRow], options: Options) -> Iterator[str]:
    """Each host as it arrives, then the totals."""
    pen = Pen(options)
    hosts = failed = 0
    sites: dict[str, None] = {}
    for row in rows:
        hosts += 1
        sites[row.site] = None
        yield f"{pen.paint('name', safe(row.name))}  {safe(row.uri)}\n"
        yield from (pen.say(line, 2) for line in _about(row))
        if row.check is not None:
            failed += bool(row.check.error)
            style = "bad" if row.check.error else "good"
            failure = f" ({row.check.failure})" if row.check.failure else ""
            text = (
                f"failed: {row.check.error}{failure}"
                if row.check.error
                else (f"answers: {row.check.answer}")
            )
            first, *rest = pen.say(text, 2).splitlines()
            yield "\n".join((pen.paint(style, first), *rest)) + "\n"
    if not options.quiet:
        yield f"\n{_totals(hosts, failed, sites)}\n"


def _about(row: InventoryRow) -> Iterator[str]:
    parts = []
    if row.site:
        parts.append(f"site {row.site}")
    if row.groups:
        parts.append(f"groups {', '.join(row.groups)}")
    if row.options.deadline is not None:
        parts.append(f"deadline {row.options.deadline:g} s")
    if row.options.agent is not None:
        parts.append("asks guest agents" if row.options.agent else "asks no guest agents")
    if row.options.host_facts is not None:
        parts.append("facts of the host" if row.options.host_facts else "no facts of the host")
    if row.options.workload is not None:
        parts.append(f"workload {row.options.workload}")
    if parts:
        yield "; ".join(parts)
    yield f"{row.source}; URI: {row.uri_source}" if row.uri_source else row.source


def _totals(hosts: int, failed: int, sites: Iterable[str]) -> str:
    text = count(hosts, "host")
    named = [site for site in sites if site]
    if named:
        text += f" in {count(len(named), 'site')}"
    return f"{text}; {failed:,} cannot be reached" if failed else text
