#!/usr/bin/env python3
"""Write options.json and names.json of vnicaudit/knowledge/nova_conf from Nova's own releases.

    for v in 15.1.5 … 34.0.0; do pip download "nova==$v" --no-deps -d whl; done
    for w in whl/*.whl; do unzip -q "$w" 'nova/conf/*' -d "src/$(basename "$w" | cut -d- -f2)"; done
    python scripts/generate_nova_options.py src lib

``src`` contains one folder per release, named by its version. Take the last point release of a
series, so that backports count. Each release's ``nova/conf/*.py`` registers its options with a
recorder; other imports of those modules are replaced by empty modules. Needs only oslo.config.
``lib`` contains wheels of the libraries that read nova.conf too (oslo.log, oslo.messaging, oslo.db,
keystoneauth1, os-vif…), in several versions since 2016, so that no name read by one of them counts
as unknown. Releases before Ocata (15.0) were never packaged; the only facts about them are those
cited in :data:`GONE_BEFORE`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
import types
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

OUTPUT = Path(__file__).parents[1] / "vnicaudit/knowledge/nova_conf"

RELEASES = (
    (10, "Juno", "2014.2"), (11, "Kilo", "2015.1"), (12, "Liberty", "12.0"), (13, "Mitaka", "13.0"),
    (14, "Newton", "14.0"), (15, "Ocata", "15.0"), (16, "Pike", "16.0"), (17, "Queens", "17.0"),
    (18, "Rocky", "18.0"), (19, "Stein", "19.0"), (20, "Train", "20.0"), (21, "Ussuri", "21.0"),
    (22, "Victoria", "22.0"), (23, "Wallaby", "23.0"), (24, "Xena", "24.0"), (25, "Yoga", "25.0"),
    (26, "Zed", "26.0"), (27, "Antelope", "27.0", "2023.1"), (28, "Bobcat", "28.0", "2023.2"),
    (29, "Caracal", "29.0", "2024.1"), (30, "Dalmatian", "30.0", "2024.2"),
    (31, "Epoxy", "31.0", "2025.1"), (32, "Flamingo", "32.0", "2025.2"),
    (33, "Gazpacho", "33.0", "2026.1"), (34, "Hibiscus", "34.0", "2026.2"),
)  # fmt: skip
"""Number, name, Nova's version, and the coordinated release's version if different
(releases.openstack.org). Numbers of Juno and Kilo are only for sorting."""

NETWORK = "nova-network is gone, and Neutron does this"
XEN = "the XenAPI driver is gone"
HYPERV = "the Hyper-V driver is gone"

NIC_OPTIONS: dict[str, dict[str, str]] = {
    "libvirt": dict.fromkeys((
        "use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "virt_type",
        "hw_machine_type", "num_pcie_ports", "file_backed_memory",
    ), ""),
    "pci": dict.fromkeys((
        "device_spec", "passthrough_whitelist", "alias", "report_in_placement",
    ), ""),
    "neutron": dict.fromkeys(("ovs_bridge", "physnets"), ""),
    "compute": {"live_migration_wait_for_vif_plug": ""},
    "workarounds": {"wait_for_vif_plugged_event_during_hard_reboot": ""},
    "filter_scheduler": {"pci_in_placement": ""},
    "vmware": {"integration_bridge": "", "vlan_interface": NETWORK},
    "hyperv": {"vswitch_name": HYPERV},
    "xenserver": {"ovs_integration_bridge": XEN, "vif_driver": "it was Open vSwitch anyway"},
    "DEFAULT": {
        **dict.fromkeys((
            "reserved_huge_pages", "vif_plugging_is_fatal", "vif_plugging_timeout",
            "network_allocate_retries",
        ), ""),
        **dict.fromkeys((
            "firewall_driver", "linuxnet_interface_driver", "linuxnet_ovs_integration_bridge",
            "use_neutron", "network_manager", "flat_interface", "flat_network_bridge",
            "vlan_interface", "public_interface", "multi_host", "fake_network",
        ), NETWORK),
    },
}  # fmt: skip
"""Section -> options that affect guests' NICs; for removed ones, what replaced them."""

GONE_BEFORE: tuple[tuple[str, str, int, str], ...] = (
    # "Remove deprecated config options" of Juno; the alias was made by d0a02fa390 (Icehouse)
    ("DEFAULT", "libvirt_use_virtio_for_bridges", 10, "[libvirt] use_virtio_for_bridges is read"),
    # in no nova/conf/*.py from 15.0 on; nova/virt/libvirt/driver.py of 15.0 names the class itself
    ("DEFAULT", "libvirt_vif_driver", 15, "Nova goes by the port's VIF type"),
    ("libvirt", "vif_driver", 15, "Nova goes by the port's VIF type"),
    ("DEFAULT", "libvirt_type", 15, "[libvirt] virt_type is read"),
    # releasenotes/notes/libvirt-uses-os-vif-plugins-31a0617de0c248b9.yaml (Newton)
    ("DEFAULT", "network_device_mtu", 15, "the MTU is the Neutron network's"),
)
"""Options removed before the first packaged release: section, name, the first release known to lack
it, and what replaced it."""

KINDS = {
    "Boolean": "bool", "Dict": "map", "Integer": "int", "Float": "float", "String": "str",
}  # fmt: skip
"""Types whose values can be judged; for others only the name is known."""

SUBSTITUTABLE = ("String", "HostAddress", "HostDomain")


class _Nothing(types.ModuleType):
    """A module in which every name is a mock."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules that are not installed, and returns empty ones."""

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Nothing(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


class _Recorder:
    """Replaces Nova's CONF, and records the options."""

    def __init__(self) -> None:
        self.options: list[tuple[str, Any]] = []

    def register_opt(self, option: Any, group: Any = None) -> None:
        self.options.append((getattr(group, "name", group) or "DEFAULT", option))

    def register_opts(self, options: Any, group: Any = None) -> None:
        for option in options:
            self.register_opt(option, group)

    register_cli_opt = register_opt
    register_cli_opts = register_opts

    def __getattr__(self, _name: str) -> Any:
        return MagicMock()


def extract(folder: Path) -> list[dict[str, Any]]:
    """All options registered by one release."""
    import oslo_config.cfg  # import it before the finder that finds everything

    del oslo_config
    for name, path in (("nova", []), ("nova.conf", [str(folder / "nova/conf")])):
        sys.modules[name] = package = types.ModuleType(name)
        package.__path__ = path
    sys.modules["nova"].conf = sys.modules["nova.conf"]  # type: ignore[attr-defined]
    sys.meta_path.append(_Finder())
    recorder = _Recorder()
    for file in sorted((folder / "nova/conf").glob("*.py")):
        if file.stem in ("__init__", "opts"):
            continue
        spec = importlib.util.spec_from_file_location(f"nova.conf.{file.stem}", file)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{file} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        if hasattr(module, "register_opts"):
            module.register_opts(recorder)
    return [
        _plain(group, option)
        for group, option in recorder.options
        if not isinstance(option, MagicMock)
    ]


def _plain(group: str, option: Any) -> dict[str, Any]:
    kind = option.type
    choices = getattr(kind, "choices", None)
    default = option.default
    return {
        "group": group,
        "name": option.dest,
        "type": type(kind).__name__,
        "multi": bool(option.multi),
        "choices": [str(choice) for choice in choices] if choices else None,
        "items": _items(kind),
        "ignore_case": bool(getattr(kind, "ignore_case", False)),
        "low": getattr(kind, "min", None),
        "high": getattr(kind, "max", None),
        "default": str(default) if isinstance(default, (bool, int, float, str)) else None,
        "deprecated": bool(option.deprecated_for_removal),
        "aliases": [
            [old.group or group, old.name or option.dest] for old in option.deprecated_opts
        ],
    }


def _items(kind: Any) -> list[str] | None:
    """Allowed values of the items of a list, if they are limited."""
    if type(kind).__name__ != "List" or not getattr(kind.item_type, "choices", None):
        return None
    return [str(choice) for choice in kind.item_type.choices]


def options_table(found: dict[int, list[dict[str, Any]]]) -> dict[str, Any]:
    """The options that matter, built from the options of each release (by number)."""
    options = [
        _history(section, name, note, found)
        for section, names in NIC_OPTIONS.items()
        for name, note in names.items()
    ]
    registered = {(o["group"], o["name"]) for release in found.values() for o in release}
    for section, name, gone, note in GONE_BEFORE:
        if (section, name) in registered:
            raise SystemExit(f"[{section}] {name} is in a release: it is not gone")
        options.append(
            {"section": section, "name": name, "since": 0, "removed": gone, "note": note}
        )
    plain = {
        section: sorted(
            {
                o["name"]
                for release in found.values()
                for o in release
                if o["group"] == section and o["type"] in SUBSTITUTABLE and not o["multi"]
            }
        )
        for section in ("DEFAULT", "libvirt")
    }
    return {"releases": RELEASES, "options": options, "strings": plain}


def names_table(found: dict[int, list[dict[str, Any]]]) -> dict[str, Any]:
    """The names of all options."""
    return {"names": _names(found), "library": _of_libraries()}


def _names(found: dict[int, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Section -> names of all options that any release reads there, including old names."""
    names: dict[str, set[str]] = {}
    for option in (option for release in found.values() for option in release):
        for section, name in ((option["group"], option["name"]), *option["aliases"]):
            names.setdefault(section, set()).add(name)
    return {section: sorted(names[section]) for section in sorted(names)}


def _of_libraries() -> list[str]:
    """Names of options that the libraries of Nova's releases read in nova.conf, in any section."""
    found: set[str] = set()
    for wheel in sorted(Path(sys.argv[2]).glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py") and "/tests/" not in name:
                    text = archive.read(name).decode("utf-8", "replace")
                    found.update(match.replace("-", "_") for match in _DECLARED.findall(text))
    return sorted(found)


_DECLARED = re.compile(r"(?:Opt|Opt\.\w+|opt)\(\s*(?:name=)?['\"]([a-z][a-z0-9_-]*)['\"]")
"""Sources are searched, not run: a name too many only means that fewer are unknown."""


def _history(
    section: str, name: str, note: str, found: dict[int, list[dict[str, Any]]]
) -> dict[str, Any]:
    """One option in all releases."""
    forms: list[dict[str, Any]] = []
    seen: list[int] = []
    deprecated: int | None = None
    for number, options in sorted(found.items()):
        for option in options:
            if (option["group"], option["name"]) == (section, name):
                seen.append(number)
                if option["deprecated"] and deprecated is None:
                    deprecated = number
                form = _form(option)
                if not forms or {**forms[-1], "since": number} != {**form, "since": number}:
                    forms.append({"since": number, **form})
    if not seen:
        raise SystemExit(f"[{section}] {name} is in no release")
    history = {"section": section, "name": name, "since": seen[0], "forms": forms}
    if seen[-1] != max(found):
        history["removed"] = seen[-1] + 1
    if deprecated is not None:
        history["deprecated"] = deprecated
    return {**history, **({"note": note} if note else {})}


def _form(option: dict[str, Any]) -> dict[str, Any]:
    form: dict[str, Any] = {"kind": KINDS.get(option["type"], "other")}
    if option["items"]:
        form.update(kind="list", choices=option["items"])
    if option["multi"]:
        form["multi"] = True
    for key in ("choices", "low", "high", "default"):
        if option[key] is not None:
            form[key] = option[key]
    if option["ignore_case"]:
        form["ignore_case"] = True
    if option["aliases"]:
        form["aliases"] = option["aliases"]
    return form


def main() -> None:
    """Extract each release in a process of its own, then write the tables."""
    if sys.argv[1] == "--extract":
        json.dump(extract(Path(sys.argv[2])), sys.stdout)
        return
    found = {}
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        number = int(folder.name.partition(".")[0])
        out = subprocess.run(
            [sys.executable, __file__, "--extract", str(folder)], capture_output=True, check=True
        )
        found[number] = json.loads(out.stdout)
    write("options.json", options_table(found))
    write("names.json", names_table(found))


def write(name: str, table: dict[str, Any]) -> None:
    """Write one table, with a line for each of its parts."""
    text = json.dumps(table, indent=None, separators=(",", ":"))
    for start in ('{"section"', '"releases"', '"options"', '"strings"', '"names"', '"library"'):
        text = text.replace(start, "\n" + start)
    (OUTPUT / name).write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
