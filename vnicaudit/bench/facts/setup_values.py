"""The values in a section of a setup script, by name; those of ``ethtool`` in its text form.

The text is read, and not ``--json``: 5.9 accepts that option and prints text, 6.1 refuses it for
rings, channels and coalescing, 6.14 still does for channels and for the driver
(tests/bench/facts/data). The text is the same in all of these versions, and in older ones.

Only complete lines count; ``n/a`` is left out: the driver does not have that value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vnicaudit.bench.facts.sections import Section

_ADAPTIVE = re.compile(r"^Adaptive RX: (\S+)  TX: (\S+)[ \t]*\n", re.MULTILINE)
_NOW = "Current hardware settings"
_NOT = ("n/a", "")


class Sized(NamedTuple):
    """A number that can be set; ``most``: the highest that the NIC accepts."""

    now: str
    most: str | None

    def __str__(self) -> str:
        return self.now if self.most is None else f"{self.now} of {self.most}"


def driver(text: str) -> dict[str, str]:
    """``ethtool -i``: driver, version, firmware-version, bus-info, as far as they are set."""
    return _pairs(text)


def features(text: str) -> dict[str, str]:
    """``ethtool -k``: name -> ``on``, ``off``, followed by ``[fixed]`` or ``[requested on]`` if
    that applies."""
    return {
        name: value for name, value in _pairs(text).items() if value.split()[0] in ("on", "off")
    }


def sizes(text: str) -> dict[str, Sized]:
    """``ethtool -l`` (channels) and ``-g`` (rings): ``RX``, ``TX``, ``Combined``… -> numbers."""
    highest, _heading, now = text.partition(f"{_NOW}:\n")
    most = _pairs(highest)
    return {
        name: Sized(value, most.get(name))
        for name, value in _pairs(now).items()
        if value.isdecimal()
    }


def coalescing(text: str) -> dict[str, str]:
    """``ethtool -c``: ``rx-usecs`` -> number, ``adaptive-rx`` -> ``on`` or ``off``."""
    found = {name: value for name, value in _pairs(text).items() if value.isdecimal()}
    adaptive = _ADAPTIVE.search(text)
    if adaptive is not None:
        both = zip(("adaptive-rx", "adaptive-tx"), adaptive.groups(), strict=True)
        found |= {name: value for name, value in both if value not in _NOT}
    return found


def _pairs(text: str) -> dict[str, str]:
    """``name: value`` lines with a value."""
    halves = (line.partition(":") for line in text.split("\n")[:-1])
    pairs = ((name.strip(), value.strip()) for name, _colon, value in halves)
    return {name: value for name, value in pairs if name and value not in _NOT}


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
    """Values in a section, by name; empty if the command failed or printed nothing. A command that
    fails may still have printed them: ``systemd-detect-virt`` ends with 1 for ``none``."""
    if section.code != 0 and not (section.name == "virtualization" and section.code == 1):
        return {}
    read = _READERS.get(section.name) or _line(section.name)
    return {name: value[:_LONGEST] for name, value in read(section.text).items() if value}


def title_of(section: Section) -> str:
    """The name of the fact that is unknown if a section is empty."""
    return _TITLES.get(section.name, section.name)


def cpu_model(text: str) -> Values:
    """``/proc/cpuinfo``: x86 and POWER name the model, Z has a machine type, Arm has numbers."""
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
    """All of the output, as one line."""
    return lambda text: {name: " ".join(text.split())}


def _version(name: str, before: str) -> Callable[[str], Values]:
    pattern = re.compile(rf"^{before} (\S+)", re.MULTILINE)

    def version(text: str) -> Values:
        found = pattern.search(text)
        return {} if found is None else {name: found[1]}

    return version


def _driver(text: str) -> Values:
    found = driver(text)
    names = {"driver": "nic.driver", "version": "nic.driver_version"}
    names["firmware-version"] = "nic.firmware"
    return {ours: found[theirs] for theirs, ours in names.items() if theirs in found}


def _features(text: str) -> Values:
    found = features(text)
    return {f"nic.offload.{name}": found[name] for name in _FEATURES if name in found}


def _sizes(kind: str) -> Callable[[str], Values]:
    def sizes_of(text: str) -> Values:
        found = sizes(text)
        return {f"nic.{kind}.{name.lower()}": str(found[name]) for name in _SIZES if name in found}

    return sizes_of


def _coalescing(text: str) -> Values:
    found = coalescing(text)
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
