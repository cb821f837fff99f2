"""Facts read from an end just before and just after a run, in one round trip."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.cpu import CPU_TIME, CpuReading, cpu_reading
from vnicaudit.bench.facts.nic_bytes import COUNTERS, NicReading, nic_reading
from vnicaudit.bench.facts.pressure import PRESSURE, waited_microseconds
from vnicaudit.bench.facts.sections import ask
from vnicaudit.model.measurement import End

_SCRIPT = CPU_TIME + PRESSURE + COUNTERS


class EndReading(NamedTuple):
    """An end at one moment. ``nics`` None: it has no readable counters. ``pressure``: microseconds
    in which threads queued for its CPUs, since the boot; None: unknown."""

    cpu: CpuReading
    nics: NicReading | None
    pressure: int | None


def read_end(endpoint: Endpoint, end: End, address: str) -> EndReading:
    """Read an end. ``address``: the target's. Raises EndpointError, MeasureError (no Linux, no
    ``/proc``)."""
    sections = ask(endpoint, _SCRIPT, end, address)
    return EndReading(cpu_reading(sections), nic_reading(sections), waited_microseconds(sections))
