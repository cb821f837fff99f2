"""IBM Z: what runs this system, and whether its CPUs are shared or capped.

Source: arch/s390/kernel/sysinfo.c of Linux (stsi_2_2_2, stsi_3_2_2): characteristics of the LPAR
are the words Dedicated, Shared and Limited, the last of which is a cap. VM00 is the innermost
level: a hypervisor puts itself before those that run it (handle_stsi_3_2_2, arch/s390/kvm/priv.c).
"""

from __future__ import annotations

import re

from vnicaudit.model.host_facts import ZFacts
from vnicaudit.platforms.host.readings import HostFact, HostReadings

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
