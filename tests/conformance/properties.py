"""Make ``vnicaudit/knowledge/qemu_properties.json`` of what several QEMU say of their NICs.

    python -m tests.conformance.properties [FOLDER …] > vnicaudit/knowledge/qemu_properties.json

The QEMU of this machine, then that of each folder, from the oldest to the newest, are asked for
``-device NAME,help``, each program for the devices that it has.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from vnicaudit.model.host import Version

DEVICES = (
    "e1000", "e1000-82544gc", "e1000-82545em", "e1000e", "igb", "rtl8139", "ne2k_pci", "ne2k_isa",
    "pcnet", "vmxnet3", "tulip", "i82550", "i82551", "i82557a", "i82557b", "i82557c", "i82558a",
    "i82558b", "i82559a", "i82559b", "i82559c", "i82559er", "i82562", "i82801", "usb-net",
    "sungem", "spapr-vlan", "virtio-net-pci", "virtio-net-pci-transitional",
    "virtio-net-pci-non-transitional", "virtio-net-ccw", "virtio-net-device",
)  # fmt: skip
_PROGRAMS = ("x86_64", "s390x", "ppc64", "riscv64", "aarch64")
_LINE = re.compile(r"^  (?P<name>[\w-]+)=<(?P<type>[^>]*)>", re.MULTILINE)
_READ_ONLY = ("busnr",)
"""Types that QEMU lists although it lets nobody set them (``Property … is not writable``)."""
_ORIGIN = "-device NAME,help of each of these releases; by tests/conformance/properties.py"

Properties = dict[str, str]


def asked(program: str, device: str) -> Properties:
    """The properties of a device that can be set, each with its type; none if this QEMU lacks
    it."""
    command = [program, "-M", "none", "-device", f"{device},help"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found = {match["name"]: match["type"] for match in _LINE.finditer(result.stdout)}
    return {name: kind for name, kind in found.items() if kind not in _READ_ONLY}


def _version(program: str) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    known = Version.parse(said.stdout.partition("version ")[2])
    return f"{known.major}.{known.minor}"


def release(folder: Path | None) -> tuple[str, dict[str, Properties]]:
    """One release, as ``7.2``, and the properties of each device that one of its programs has."""
    found: dict[str, Properties] = {}
    version = ""
    for arch in _PROGRAMS:
        program = f"qemu-system-{arch}" if folder is None else str(folder / f"qemu-system-{arch}")
        try:
            version = _version(program)
        except FileNotFoundError:
            continue
        for device in DEVICES:
            found.setdefault(device, {}).update(asked(program, device))
    return version, {device: known for device, known in found.items() if known}


def table(releases: dict[str, dict[str, Properties]]) -> dict[str, object]:
    """The content of the file: what most devices have in common is written once."""
    merged = {device: dict(_merged(device, releases)) for device in DEVICES}
    common = _shared(merged, "rtl8139", "tulip", "virtio-net-pci", "e1000")
    virtio = _shared(merged, "virtio-net-pci", "virtio-net-ccw", "virtio-net-device")
    groups = {"pci": common, "virtio": {k: v for k, v in virtio.items() if k not in common}}
    devices: dict[str, dict[str, str]] = {}
    for device, properties in merged.items():
        rest = dict(properties)
        own = {}
        for group, members in groups.items():
            if members.items() <= properties.items():
                own[f"+{group}"] = ""
                rest = {key: value for key, value in rest.items() if key not in members}
        devices[device] = own | rest
    return {"origin": _ORIGIN, "releases": list(releases), "groups": groups, "devices": devices}


def _merged(device: str, releases: dict[str, dict[str, Properties]]) -> Iterator[tuple[str, str]]:
    """Each property with its type, the newest that there is, and, if some releases that have the
    device lack it, the first and the last that have it: ``bool 10.0-11.1``."""
    having = [name for name, found in releases.items() if device in found]
    names = {name for one in having for name in releases[one][device]}
    for name in sorted(names):
        there = [one for one in having if name in releases[one][device]]
        kind = releases[there[-1]][device][name]
        yield name, kind if there == having else f"{kind} {there[0]}-{there[-1]}"


def _shared(merged: dict[str, dict[str, str]], *devices: str) -> dict[str, str]:
    first, *rest = (merged[device].items() for device in devices)
    return dict(sorted(set(first).intersection(*rest)))


def main(folders: list[str]) -> int:
    """The command."""
    releases = dict(release(folder) for folder in (None, *map(Path, folders)))
    print(json.dumps(table(releases), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
