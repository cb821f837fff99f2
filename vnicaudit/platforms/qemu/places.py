"""The line of a text on which each NIC of a command line is defined."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from vnicaudit.base.identifiers import MAC
from vnicaudit.model.nic import RunningNic

_NIC_LINE = re.compile(r"(?<![\w-])-(?:device|nic|net)\b")
_ID = re.compile(r"(?:\"id\":\s?\"|(?<![\w-])id=)([\w.-]+)")


def nic_lines(text: str, first: int, nics: Iterable[RunningNic]) -> tuple[int, ...]:
    """The 1-based line of each NIC. ``text`` is the command line as written, which begins in line
    ``first`` of its file; a NIC that is not found in it gets that line."""
    places = _Places(text, first)
    return tuple(places.line(nic) for nic in nics)


class _Places:
    """The lines with NICs, by the words that identify them; built in one pass over the text."""

    def __init__(self, text: str, first: int) -> None:
        self._first = first
        self._macs: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._lines: list[tuple[int, str]] = []
        self._by_driver: dict[str, deque[int]] = {}
        for number, line in enumerate(text.split("\n"), first):
            if _NIC_LINE.search(line):
                lower = line.lower()
                self._lines.append((number, lower))
                for mac in MAC.findall(lower):
                    self._macs.setdefault(mac, number)
                for name in _ID.findall(line):
                    self._ids.setdefault(name, number)

    def line(self, nic: RunningNic) -> int:
        """Find the line of a NIC by its most specific value: the MAC address, then the id, then the
        kind of device."""
        if nic.mac in self._macs:
            return self._macs[nic.mac]
        if nic.id in self._ids:
            return self._ids[nic.id]
        return self._next(nic.driver.lower())

    def _next(self, driver: str) -> int:
        """The next line with a device of this kind; a line counts as often as the device occurs on
        it."""
        if driver not in self._by_driver:
            self._by_driver[driver] = deque(
                number for number, line in self._lines for _ in range(line.count(driver))
            )
        left = self._by_driver[driver]
        return left.popleft() if left else self._first
