"""What ``ethtool`` prints about a NIC, as text.

The text and not ``--json``: 5.9 takes that option and prints text, 6.1 refuses it for rings,
channels and coalescing, 6.14 still does for channels and for the driver (tests/bench/facts/data).
The text is the same in all of them, and in those before.

Only whole lines count; what is ``n/a`` is left out: the driver does not have it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ADAPTIVE = re.compile(r"^Adaptive RX: (\S+)  TX: (\S+)[ \t]*\n", re.MULTILINE)
_NOW = "Current hardware settings"
_NOT = ("n/a", "")


class Sized(NamedTuple):
    """A number that can be set; ``most``: the highest the NIC takes."""

    now: str
    most: str | None

    def __str__(self) -> str:
        return self.now if self.most is None else f"{self.now} of {self.most}"


def driver(text: str) -> dict[str, str]:
    """``ethtool -i``: driver, version, firmware-version, bus-info, as far as there are any."""
    return _pairs(text)


def features(text: str) -> dict[str, str]:
    """``ethtool -k``: name -> ``on``, ``off``, with ``[fixed]`` or ``[requested on]`` behind it
    where that is so."""
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
    """``name: value`` lines that say something."""
    halves = (line.partition(":") for line in text.split("\n")[:-1])
    pairs = ((name.strip(), value.strip()) for name, _colon, value in halves)
    return {name: value for name, value in pairs if name and value not in _NOT}
