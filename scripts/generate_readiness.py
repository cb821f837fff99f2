#!/usr/bin/env python3
"""Write vnicaudit/knowledge/readiness.json from an osinfo-db tree.

    python scripts/generate_readiness.py [/usr/share/osinfo]

The device list of an operating system is its own plus those of the systems that it ``derives-from``
or ``clones``, recursively, as in libosinfo's ``osinfo_os_get_all_device_links``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

OUTPUT = Path(__file__).parents[1] / "vnicaudit/knowledge/readiness.json"

TRANSITIONAL = "http://pcisig.com/pci/1af4/1000"
MODERN = "http://pcisig.com/pci/1af4/1041"
WINDOWS = ("winnt", "win9x", "win16")
FIRST_VIRTIO = "2008-04-17"
"""Release of Linux 2.6.25, the first that this project considers usable for virtio-net. A line of
releases whose support ended before that has no driver."""


FIRST_MODERN = "2015-05-01"
"""Linux 4.0, the first with a complete virtio 1.0 driver, was released on 12 April 2015;
distributions released in that month (Debian 8, Ubuntu 15.04) have an older kernel."""
SURELY_MODERN = "2016-01-01"
"""Distributions that began after this day have Linux 4.x; those of 2015 may have an older one."""


class Os(NamedTuple):
    """The facts of an ``<os>`` that decide its verdict."""

    family: str
    released: str | None
    end_of_life: str | None
    devices: frozenset[str]
    parents: tuple[str, ...]


def read_tree(root: Path) -> dict[str, Os]:
    """Every operating system of an osinfo-db tree by its id."""
    found: dict[str, Os] = {}
    for path in sorted((root / "os").rglob("*.xml")):
        for element in etree.parse(path, etree.XMLParser(resolve_entities=False)).iter("os"):
            found[element.get("id", "")] = _read_os(element)
    return found


def _read_os(element: etree._Element) -> Os:
    return Os(
        family=element.findtext("family", ""),
        released=element.findtext("release-date"),
        end_of_life=element.findtext("eol-date"),
        devices=frozenset(
            device.get("id", "")
            for device in element.iterfind("devices/device")
            if device.get("supported") != "false"
        ),
        parents=tuple(
            parent.get("id", "") for parent in element.iterchildren("derives-from", "clones")
        ),
    )


def verdicts(systems: dict[str, Os]) -> dict[str, str]:
    """Id -> ready, ready-transitional, needs-driver, not-supported or unknown."""
    lines, begins = _ends(systems), _begins(systems)
    return {name: _verdict(name, systems, lines, begins) for name in sorted(systems)}


def _listed_legacy_only(family: str, began: str | None) -> str:
    """A list with only 1af4:1000 proves a driver for virtio 0.9, but not that there is none for
    virtio 1.0: lists are often not kept up to date. A release older than the virtio 1.0 driver does
    not have it; a Linux clearly younger has it; about the rest nothing is claimed."""
    if began is not None and began < FIRST_MODERN:
        return "ready-transitional"
    return "ready" if family == "linux" and (began or "") >= SURELY_MODERN else "unknown"


def _verdict(
    name: str, systems: dict[str, Os], lines: dict[str, str | None], begins: dict[str, str]
) -> str:
    """The verdict of a system. Windows always needs a separate virtio driver, whatever its list
    says."""
    windows = systems[name].family in WINDOWS
    devices = frozenset(_devices(name, systems, set()))
    if MODERN in devices and not windows:
        return "ready"
    if TRANSITIONAL in devices and not windows:
        return _listed_legacy_only(systems[name].family, begins.get(_line(name)))
    end = lines[_line(name)]
    if end is not None and end < FIRST_VIRTIO:
        return "not-supported"
    return "needs-driver" if windows else "unknown"


def _devices(name: str, systems: dict[str, Os], seen: set[str]) -> Iterator[str]:
    if name in seen or name not in systems:
        return
    seen.add(name)
    yield from systems[name].devices
    for parent in systems[name].parents:
        yield from _devices(parent, systems, seen)


def _line(name: str) -> str:
    """The line of releases of an id: ``…/rhel/5.4`` -> ``…/rhel/5``. A guest may have been updated
    within it without a change of its metadata."""
    vendor, _, version = name.rpartition("/")
    return f"{vendor}/{version.partition('.')[0]}"


def _begins(systems: dict[str, Os]) -> dict[str, str]:
    """Line -> the day of its first release; lines without such a day are left out."""
    begins: dict[str, str] = {}
    for name, system in systems.items():
        if system.released is not None:
            line = _line(name)
            begins[line] = min(begins.get(line, system.released), system.released)
    return begins


def _ends(systems: dict[str, Os]) -> dict[str, str | None]:
    """Line -> the day when support of its last release ended; None: at least one release has no
    such day."""
    ends: dict[str, str | None] = {}
    for name, system in systems.items():
        line = _line(name)
        last = ends.get(line, "")
        end = system.end_of_life
        ends[line] = None if last is None or end is None else max(last, end)
    return ends


def table(found: dict[str, str], version: str) -> dict[str, object]:
    """The shipped form: verdict -> id up to the last slash -> last parts, separated by spaces."""
    grouped: dict[str, dict[str, list[str]]] = {}
    for name, verdict in found.items():
        vendor, slash, last = name.rpartition("/")
        grouped.setdefault(verdict, {}).setdefault(vendor + slash, []).append(last)
    return {
        "source": "osinfo-db",
        "version": version,
        "verdicts": {
            verdict: {vendor: " ".join(parts) for vendor, parts in sorted(vendors.items())}
            for verdict, vendors in sorted(grouped.items())
        },
    }


def main(root: Path, output: Path) -> None:
    """Rewrite ``output`` from the tree at ``root``."""
    version = (root / "VERSION").read_text().strip()
    text = json.dumps(table(verdicts(read_tree(root)), version), indent=1)
    output.write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/osinfo"), OUTPUT)
