"""CPU numbers as the kernel writes them: lists (``0-3,8``) and masks (``ff``, ``3,ffffffff``).

Source: Documentation/admin-guide/cputopology.rst and lib/bitmap.c of Linux: a mask is in groups of
32 bits from the highest on, separated by commas, each of up to 8 hexadecimal digits; a list may
have steps (``0-31:2/4``: the first 2 of each 4). Open vSwitch's masks are one number of any width,
with or without ``0x`` (lib/ovs-numa.c, ovs_numa_dump_cores_with_cmask).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST = 8192
"""Number of CPUs of the largest kernel (NR_CPUS of x86)."""

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5})(?::(\d{1,5})/(\d{1,5}))?)?", re.ASCII)
_MASK = re.compile(r"(?:0[xX])?([0-9A-Fa-f]+(?:,[0-9A-Fa-f]{1,8})*)")


def from_list(text: str) -> tuple[int, ...] | None:
    """The CPUs of a list; empty for an empty one, None if it is none, or names more CPUs than a
    kernel can have."""
    found: set[int] = set()
    for part in re.split(r"[,\s]+", text.strip()):
        if not part:
            continue
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last, used, group = (int(each) if each else None for each in match.groups())
        if first is None or (last is not None and last < first) or max(first, last or 0) >= MOST:
            return None
        if used is not None and (group is None or not 0 < used <= group):
            return None
        span = range(first, (first if last is None else last) + 1)
        found.update(
            cpu for cpu in span if used is None or group is None or (cpu - first) % group < used
        )
    return tuple(sorted(found))


def from_mask(text: str) -> tuple[int, ...] | None:
    """The CPUs of a mask; None if it is none, or too wide."""
    match = _MASK.fullmatch(text.strip())
    if match is None or len(match[1]) > MOST // 3:
        return None
    first, *groups = match[1].split(",")
    value = int(first, 16)
    for group in groups:
        value = value << 32 | int(group, 16)
    if value.bit_length() > MOST:
        return None
    return tuple(cpu for cpu in range(value.bit_length()) if value >> cpu & 1)


def as_list(cpus: Iterable[int]) -> str:
    """The list of CPUs, with ranges: ``0-3,8``; empty for none."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)


def as_mask(cpus: Iterable[int]) -> str:
    """The mask of CPUs as sysfs takes it: ``4b``, ``1,00000000``; ``0`` for none."""
    value = 0
    for cpu in cpus:
        value |= 1 << cpu
    groups = []
    while value >> 32:
        groups.append(f"{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join([f"{value:x}", *reversed(groups)])
