#!/usr/bin/env python3
"""Write vnicaudit/knowledge/osinfo_models.json from an osinfo-db tree.

    python3 scripts/generate_osinfo_models.py [/usr/share/osinfo]

Queries libosinfo itself (gir1.2-libosinfo-1.0 and python3-gi must be installed) like Nova:
``nova/virt/osinfo.py`` looks for the operating system whose short id (or id, if the text starts
with ``http``) is ``os_distro``, and uses the name of its first device of class ``net``. The table
contains the names that give an emulated NIC although the system's list also has virtio-net. Windows
is left out, because its list never has virtio-net.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gi

gi.require_version("Libosinfo", "1.0")
from gi.repository import Libosinfo  # noqa: E402

OUTPUT = Path(__file__).parents[1] / "vnicaudit/knowledge/osinfo_models.json"
WINDOWS = ("winnt", "win9x", "win16")


def load(root: Path) -> Any:
    """All operating systems of an osinfo-db tree."""
    loader = Libosinfo.Loader()
    loader.process_path(str(root))
    return loader.get_db().get_os_list()


def names(systems: Any) -> Iterator[tuple[str, str]]:
    """Every text that can name a system to Nova, with the field in which Nova looks it up."""
    for number in range(systems.get_length()):
        system = systems.get_nth(number)
        yield system.get_id(), "id"
        for name in system.get_short_id_list() or ():
            yield name, "short-id"


def look_up(systems: Any, name: str, field: str) -> Any:
    """The system used by Nova: the first one with this name."""
    wanted = Libosinfo.Filter.new()
    wanted.add_constraint(field, name)
    return systems.new_filtered(wanted).get_nth(0)


def net_devices(system: Any) -> list[str]:
    """Names of the network devices of a system and of its parents, in Nova's order."""
    wanted = Libosinfo.Filter.new()
    wanted.add_constraint("class", "net")
    found = system.get_all_devices(wanted)
    return [found.get_nth(number).get_name() for number in range(found.get_length())]


def table(systems: Any) -> dict[str, str]:
    """Emulated model -> names of systems that get it, separated by spaces."""
    found: dict[str, set[str]] = {}
    for name, field in names(systems):
        system = look_up(systems, name, field)
        devices = net_devices(system)
        virtio = any(device.startswith("virtio") for device in devices)
        if virtio and not devices[0].startswith("virtio") and system.get_family() not in WINDOWS:
            found.setdefault(devices[0], set()).add(name)
    return {model: " ".join(sorted(found[model])) for model in sorted(found)}


def main(root: Path, output: Path) -> None:
    """Rewrite ``output`` from the tree at ``root``."""
    version = (root / "VERSION").read_text("utf-8").strip()
    models = table(load(root))
    text = json.dumps({"source": "osinfo-db", "version": version, "models": models}, indent=1)
    output.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/osinfo"), OUTPUT)
