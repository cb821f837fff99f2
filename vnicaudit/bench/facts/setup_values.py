"""What a section of a setup script says: name -> value."""

from __future__ import annotations

import re
from collections.abc import Callable

from vnicaudit.bench.facts import ethtool
from vnicaudit.bench.facts.sections import Section

_FEATURES = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "tx-udp-segmentation",
    "rx-gro-hw",
    "rx-udp-gro-forwarding",
)
_COALESCING = ("adaptive-rx", "adaptive-tx", "rx-usecs", "rx-frames", "tx-usecs", "tx-frames")
_SIZES = ("RX", "TX", "Combined")
_MODEL = re.compile(r"^(?:model name|cpu)[ \t]*:[ \t]*(\S[^\n]*)\n", re.MULTILINE)
_Z = re.compile(r"^vendor_id[ \t]*: IBM/S390$", re.MULTILINE)
_Z_MACHINE = re.compile(r"machine = (\w+)\n")
_ARM = re.compile(r"^CPU (implementer|part)[ \t]*: (0x[0-9a-f]+)\n", re.MULTILINE)
_LONGEST = 500

Values = dict[str, str]


def values_of(section: Section) -> Values:
    """What it says; empty where the command failed, or says nothing. One that fails may still have
    said it: ``systemd-detect-virt`` ends with 1 for ``none``."""
    if section.code != 0 and not (section.name == "virtualization" and section.code == 1):
        return {}
    read = _READERS.get(section.name) or _line(section.name)
    return {name: value[:_LONGEST] for name, value in read(section.text).items() if value}


def title_of(section: Section) -> str:
    """What is not known where it says nothing."""
    return _TITLES.get(section.name, section.name)


def cpu_model(text: str) -> Values:
    """``/proc/cpuinfo``: x86 and POWER name it, Z has a machine type, Arm has numbers."""
    named = _MODEL.search(text)
    if named is not None:
        return {"cpu": named[1]}
    vendor = _Z.search(text)
    machine = None if vendor is None else _Z_MACHINE.search(text, vendor.end())
    if machine is not None:
        return {"cpu": f"IBM/S390 machine {machine[1]}"}
    numbers = dict(_ARM.findall(text))
    return {"cpu": " ".join(f"{name} {value}" for name, value in numbers.items())}


def _line(name: str) -> Callable[[str], Values]:
    """All that is printed, as one line."""
    return lambda text: {name: " ".join(text.split())}


def _version(name: str, before: str) -> Callable[[str], Values]:
    pattern = re.compile(rf"^{before} (\S+)", re.MULTILINE)

    def read(text: str) -> Values:
        found = pattern.search(text)
        return {} if found is None else {name: found[1]}

    return read


def _driver(text: str) -> Values:
    found = ethtool.driver(text)
    names = {"driver": "nic.driver", "version": "nic.driver_version"}
    names["firmware-version"] = "nic.firmware"
    return {ours: found[theirs] for theirs, ours in names.items() if theirs in found}


def _features(text: str) -> Values:
    found = ethtool.features(text)
    return {f"nic.offload.{name}": found[name] for name in _FEATURES if name in found}


def _sizes(kind: str) -> Callable[[str], Values]:
    def read(text: str) -> Values:
        found = ethtool.sizes(text)
        return {f"nic.{kind}.{name.lower()}": str(found[name]) for name in _SIZES if name in found}

    return read


def _coalescing(text: str) -> Values:
    found = ethtool.coalescing(text)
    return {f"nic.coalescing.{name}": found[name] for name in _COALESCING if name in found}


_READERS: dict[str, Callable[[str], Values]] = {
    "cpu": cpu_model,
    "iperf3": _version("iperf3", "iperf"),
    "dnsperf": _version("dnsperf", "Version"),
    "python3": _version("python3", "Python"),
    "qemu": _version("qemu", "QEMU emulator version"),
    "libvirt": lambda text: {"libvirt": text.strip().rpartition(" ")[2]},
    "nic.driver.of": lambda text: {"nic.driver": text.strip().rpartition("/")[2]},
    "ethtool i": _driver,
    "ethtool k": _features,
    "ethtool l": _sizes("channels"),
    "ethtool g": _sizes("rings"),
    "ethtool c": _coalescing,
}
_TITLES = {
    "nic.driver.of": "nic.driver",
    "ethtool i": "nic.driver",
    "ethtool k": "nic.offload",
    "ethtool l": "nic.channels",
    "ethtool g": "nic.rings",
    "ethtool c": "nic.coalescing",
}
