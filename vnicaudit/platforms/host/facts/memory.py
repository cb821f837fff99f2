"""Memory of a host that is available.

Source: proc_meminfo(5): ``MemAvailable`` is the kernel's estimate of what programs can get without
swapping, in KiB.
"""

from __future__ import annotations

import re

from vnicaudit.platforms.host.readings import HostFact, HostReadings

_FILE = "/proc/meminfo"


def read(readings: HostReadings) -> dict[str, object]:
    """The available memory."""
    found = re.search(r"^MemAvailable: +(\d{1,15}) kB$", readings.text(_FILE) or "", re.M | re.A)
    return {} if found is None else {"memory_available": int(found[1])}


FACT = HostFact("memory", read, files=(_FILE,))
