"""The NIC that Nova chooses for an ``os_distro``, from libosinfo's database on this machine.

Nova requests from libosinfo the devices of class ``net`` of a system and takes the first
(``nova/virt/osinfo.py``). libosinfo 1.10 collects them in this order: the system's own, then those
of the systems that it derives from, then of those that it clones, each kind in reverse order of the
file, recursively (``osinfo_product_foreach_related``); ``supported='false'`` has no effect, because
the filter by class is also applied to links, which have none (``osinfo_os_get_all_devices``). And
it returns them in the order of a hash table (``osinfo_list_get_elements``), so that the first is
not the first in the file but the last in GLib's table: :func:`_in_hash_order` does the same as GLib
since 2.60 (``g_str_hash``, ``g_hash_table_hash_to_index``). For all 1,640 names of osinfo-db
20221203 the answers are those of libosinfo 1.10 with GLib 2.74.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from vnicaudit.knowledge.readiness import Models, shipped
from vnicaudit.model.openstack import VIF_MODELS

_FOLDER = "/usr/share/osinfo"
_FOLDER_VARIABLE = "OSINFO_SYSTEM_DIR"
"""Variable that names another folder, also for libosinfo (``osinfo_loader.c``)."""
_WINDOWS = frozenset({"winnt", "win9x", "win16"})
"""Families whose list never has virtio."""

_MOST_FILES = 20_000
_MOST_BYTES = 1 << 20
"""Maximum size of one file; osinfo-db 20250619 has about 900, of 100 KiB at most."""
_DEEPEST = 64
"""Maximum depth of systems that derive from one another."""

_SLOTS, _PRIME = 8, 7
"""Size of a hash table of GLib before it grows, which it does with the eighth entry."""


class _Device(NamedTuple):
    name: str
    kind: str


class _System(NamedTuple):
    """One ``<os>``; ``parents`` in libosinfo's order."""

    names: list[str]
    family: list[str]
    devices: list[str]
    derives_from: list[str]
    clones: list[str]

    @property
    def parents(self) -> list[str]:
        return [*reversed(self.derives_from), *reversed(self.clones)]


class Systems:
    """The NIC model that Nova chooses for an ``os_distro``, by libosinfo's database on this
    machine, or by the shipped table if there is none. ``asked`` is the table, once it was
    needed."""

    def __init__(self) -> None:
        self.asked: Models | None = None

    def __call__(self, os_distro: str) -> str | None:
        """The answer of :meth:`Models.emulated_model`."""
        if self.asked is None:
            self.asked = installed() or shipped()
        return self.asked.emulated_model(os_distro)


def installed(folder: str | None = None) -> Models | None:
    """The models that the database in a folder (None: libosinfo's default) gives every system that
    it names; None if there is no database, or it cannot be read."""
    root = Path(folder or os.environ.get(_FOLDER_VARIABLE) or _FOLDER)
    try:
        version = (root / "VERSION").read_text("utf-8")[:40].strip()
        devices = _devices(root / "device")
        systems = _systems(root / "os")
    except (OSError, ValueError, etree.XMLSyntaxError):
        return None
    models = dict(_models(systems, devices))
    return Models(version, models, installed=True) if version and models else None


def _models(systems: dict[str, _System], devices: dict[str, _Device]) -> Iterator[tuple[str, str]]:
    for identity, system in systems.items():
        model = _emulated(identity, systems, devices)
        if model is not None and not _WINDOWS.intersection(system.family):
            yield from ((name, model) for name in (identity, *system.names))


def _emulated(
    identity: str, systems: dict[str, _System], devices: dict[str, _Device]
) -> str | None:
    """The first NIC, if Nova accepts it, it is emulated, and virtio is in the list too."""
    found: list[str] = []
    _collect(identity, systems, found, ())
    nics = [device for device in found if device in devices and devices[device].kind == "net"]
    names = [devices[device].name for device in _in_hash_order(nics)]
    if not any(name.startswith("virtio") for name in names):
        return None
    return names[0] if names[0] in VIF_MODELS - {"virtio"} else None


def _collect(
    identity: str, systems: dict[str, _System], found: list[str], way: tuple[str, ...]
) -> None:
    system = systems.get(identity)
    if system is None or identity in way or len(way) > _DEEPEST:
        return
    found += [device for device in system.devices if device not in found]
    for parent in system.parents:
        _collect(parent, systems, found, (*way, identity))


def _in_hash_order(keys: list[str]) -> list[str]:
    """The keys in the order of ``g_hash_table_get_values``; empty if the table would have grown."""
    if len(keys) >= _SLOTS:
        return []
    slots: list[str | None] = [None] * _SLOTS
    for key in keys:
        place, step = (_string_hash(key) * 11 & 0xFFFF_FFFF) % _PRIME, 0
        while slots[place] is not None:
            step += 1
            place = (place + step) % _SLOTS
        slots[place] = key
    return [key for key in reversed(slots) if key is not None]


def _string_hash(text: str) -> int:
    """``g_str_hash``, whose characters are signed; 0 and 1 mark empty slots there."""
    value = 5381
    for byte in text.encode():
        value = (value * 33 + (byte - 256 if byte > 127 else byte)) & 0xFFFF_FFFF
    return max(value, 2)


def _devices(folder: Path) -> dict[str, _Device]:
    return {
        element.get("id", ""): _Device(element.findtext("name", ""), element.findtext("class", ""))
        for element in _elements(folder, "device")
    }


def _systems(folder: Path) -> dict[str, _System]:
    """Systems by id. A system may be described in several files, each of which adds to it."""
    found: dict[str, _System] = {}
    for element in _elements(folder, "os"):
        system = found.setdefault(element.get("id", ""), _System([], [], [], [], []))
        system.names.extend(each.text or "" for each in element.iterchildren("short-id"))
        system.family.extend(each.text or "" for each in element.iterchildren("family"))
        system.devices.extend(each.get("id", "") for each in element.iterfind("devices/device"))
        system.derives_from.extend(
            each.get("id", "") for each in element.iterchildren("derives-from")
        )
        system.clones.extend(each.get("id", "") for each in element.iterchildren("clones"))
    return found


def _elements(folder: Path, tag: str) -> Iterator[etree._Element]:
    """Elements below the root of each file; a file that is too large is not part of a database."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    paths = sorted(folder.rglob("*.xml"))
    if len(paths) > _MOST_FILES:
        raise ValueError("too many files")
    for path in paths:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError("too large")
        yield from etree.fromstring(data, parser).iterchildren(tag)
