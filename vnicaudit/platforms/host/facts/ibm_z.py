"""IBM Z: what runs this system, whether its CPUs are shared or capped, and the devices of the qeth
driver: OSA adapters and HiperSockets.

Sources: arch/s390/kernel/sysinfo.c of Linux (stsi_2_2_2, stsi_3_2_2): characteristics of the LPAR
are the words Dedicated, Shared and Limited, the last of which is a cap. VM00 is the innermost
level: a hypervisor puts itself before those that run it (handle_stsi_3_2_2, arch/s390/kvm/priv.c).
Attributes as in zdev/src/qeth.c of s390-tools (c6649588, 2026-06-25) and
drivers/s390/net/qeth_core_sys.c of Linux: ``layer2`` is -1 until it is decided, ``bridge_state``
and ``vnicc/*`` are ``n/a (...)`` where the other is used, ``inbuf_size`` is ``64k``. No recording
of a real one was available: the trees of the tests are made by hand from these tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vnicaudit.model.host_facts import Qeth, ZFacts
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings, number_in

SYSINFO = "/proc/sysinfo"
_PROGRAM = re.compile(r"VM\d\d Control Program: +(\S.*)")


def z_of(readings: HostReadings) -> ZFacts | None:
    """None: no IBM Z, or unknown."""
    text = readings.text(SYSINFO)
    if not text:
        return None
    lines = text.split("\n")
    inner = [match[1].strip() for match in map(_PROGRAM.match, lines) if match]
    start = "LPAR Characteristics:"
    told = next((line[len(start) :].split() for line in lines if line.startswith(start)), None)
    return ZFacts(
        level=_level(inner, told is not None),
        shared=None if told is None else "Shared" in told,
        capped=None if told is None else "Limited" in told,
        hypervisors=tuple(reversed(inner)),
    )


def _level(inner: list[str], in_lpar: bool) -> str | None:
    """Levels from the innermost to the first that is no KVM, which says nothing of what runs it."""
    names: list[str] = []
    for program in inner:
        if not program.startswith("KVM/"):
            return " in ".join([*names, " ".join(program.split())])
        names.append("KVM")
    return " in ".join([*names, "LPAR"]) if in_lpar else " in ".join(names) or None


FACT = HostFact("z", lambda readings: {"z": z_of(readings)}, files=(SYSINFO,))


# Devices of qeth.


_FOLDER = "/sys/bus/ccwgroup/drivers/qeth/*"
_NAMES = (
    "card_type", "layer2", "buffer_count", "inbuf_size", "bridge_state", "if_name",
)  # fmt: skip
_SELF = re.compile(r"([0-9a-f]{2}):\S{14} dev (\S{1,32}) ")
"""Address and device of an entry of ``bridge fdb show``."""
ADDRESSES = HostCommand(
    "bridge fdb show", ("sos_commands/networking/bridge_-s_-s_-d_-t_fdb_show",), is_run=False
)
SCRIPT = """
[ ! -d /sys/bus/ccwgroup/drivers/qeth ] || fact 'bridge fdb show' limited bridge fdb show
"""
"""Elsewhere nobody needs it, and it is long."""
FILES = (*(f"{_FOLDER}/{name}" for name in _NAMES), f"{_FOLDER}/vnicc/*")


def qeth_in(readings: HostReadings) -> dict[str, Qeth]:
    """Link -> its device. One that is offline has no link."""
    devices: dict[str, dict[str, str]] = {}
    for pattern in FILES:
        for path, text in readings.texts(pattern).items():
            rest = path.partition("/qeth/")[2]
            device, _slash, name = rest.partition("/")
            devices.setdefault(device, {})[name] = text.strip()
    return {
        said["if_name"]: _qeth(device, said)
        for device, said in devices.items()
        if said.get("if_name")
    }


def static_macs(readings: HostReadings) -> dict[str, int] | None:
    """Link -> number of unicast addresses that were set for it; None: unknown."""
    text = readings.output(ADDRESSES.name)
    if text is None:
        return None
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = _SELF.match(line)
        if match is not None and "self" in line.split() and not int(match[1], 16) & 1:
            found[match[2]] = found.get(match[2], 0) + 1
    return found


def _qeth(device: str, said: Mapping[str, str]) -> Qeth:
    return Qeth(
        device=device,
        card_type=said.get("card_type") or None,
        layer2={"0": False, "1": True}.get(said.get("layer2", "")),
        buffers=number_in(said.get("buffer_count", "")),
        buffer_bytes=_bytes(said.get("inbuf_size", "")),
        bridge_state=said.get("bridge_state"),
        vnicc={
            name.removeprefix("vnicc/"): value
            for name, value in said.items()
            if name.startswith("vnicc/")
        },
    )


def _bytes(text: str) -> int | None:
    """``64k``, as the driver prints it."""
    number = number_in(text.removesuffix("k"))
    return None if number is None else number * (1024 if text.endswith("k") else 1)
