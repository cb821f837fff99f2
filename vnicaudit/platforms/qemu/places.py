"""On which line of a text each NIC of a command line stands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vnicaudit.model.nic import RunningNic

_NIC_LINE = re.compile(r"(?<![\w-])-(?:device|nic|net)\b")


def nic_lines(text: str, first: int, nics: Iterable[RunningNic]) -> tuple[int, ...]:
    """The 1-based line of each NIC. ``text`` is the command line as it was written, which begins
    in line ``first`` of its file; a NIC that is not found in it gets that line."""
    lines = [
        (number, line.lower())
        for number, line in enumerate(text.split("\n"), first)
        if _NIC_LINE.search(line)
    ]
    return tuple(_line(nic, lines, first) for nic in nics)


def _line(nic: RunningNic, lines: list[tuple[int, str]], first: int) -> int:
    """By what is most its own: the MAC address, then the id, then the kind of device."""
    marks = (nic.mac or "", f'"id":"{nic.id}"', f"id={nic.id}", nic.driver)
    for mark in marks:
        for place, (number, line) in enumerate(lines):
            if mark and mark.lower() in line:
                if line.count(nic.driver.lower()) < 2:
                    del lines[place]  # a line of its own: not another NIC's
                return number
    return first
