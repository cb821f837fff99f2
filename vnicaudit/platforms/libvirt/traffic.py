"""Traffic of running NICs: two readings of libvirt's counters for all guests of a host, each one
call (``virConnectGetAllDomainStats``).

The call does not wait for a guest that is busy with a job (a migration). If a driver counts
nothing, such as the test driver, traffic is unknown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from vnicaudit.model.live import HostTraffic, NicTraffic
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.workers import Pulse, WorkerThreads

_NICS_MAX = 1024
"""Maximum number of NICs of one domain."""
_NAMES = (
    ("rx_bytes", "rx.bytes"), ("tx_bytes", "tx.bytes"), ("rx_packets", "rx.pkts"),
    ("tx_packets", "tx.pkts"), ("rx_drops", "rx.drop"), ("tx_drops", "tx.drop"),
    ("rx_errors", "rx.errs"), ("tx_errors", "tx.errs"),
)  # fmt: skip
"""Our names, and libvirt's after ``net.N.``."""

Counters = Mapping[str, int]
"""Counters by our names; missing ones are not counted."""


class CounterReading(msgspec.Struct, frozen=True):
    """All counters at one time (monotonic, in seconds), by the UUID of the domain and the NIC's
    device on the host."""

    time: float
    nics: Mapping[tuple[str, str], Counters]


class TrafficCount:
    """Two readings; the first begins immediately."""

    def __init__(
        self, connection: libvirt.virConnect, worker: WorkerThreads, pulse: Pulse, seconds: float
    ) -> None:
        self._worker = worker
        self._pulse = pulse
        self._seconds = seconds
        self._read = partial(read_counters, connection)
        self._first = worker.call(self._read)

    def result(self) -> HostTraffic | None:
        """The traffic, ``seconds`` after the first reading; None if the driver does not count."""
        try:
            first = self._first.result()
            if not first.nics:
                return None
            self._pulse.pause(first.time + self._seconds - time.monotonic())
            if self._pulse.has_ended:
                return None
            return HostTraffic(
                tuple(traffic_between(first, self._worker.call(self._read).result()))
            )
        except libvirt.libvirtError:
            return None


def read_counters(connection: libvirt.virConnect) -> CounterReading:
    """The counters of all running domains now. Raises libvirtError."""
    flags = (
        libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE
        | libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
    )
    answers = connection.getAllDomainStats(libvirt.VIR_DOMAIN_STATS_INTERFACE, flags)
    now = time.monotonic()
    nics = {
        (handle.UUIDString(), device): counters
        for handle, stats in answers
        for device, counters in counters_of(stats)
    }
    return CounterReading(now, nics)


def counters_of(stats: Mapping[str, object]) -> Iterator[tuple[str, Counters]]:
    """The host device of each NIC of one domain, and its counters, from ``net.N.…``. Values that
    are not numbers, and NICs without a name, are left out."""
    number = stats.get("net.count")
    for index in range(min(number, _NICS_MAX) if isinstance(number, int) else 0):
        device = stats.get(f"net.{index}.name")
        values = {name: stats.get(f"net.{index}.{key}") for name, key in _NAMES}
        counters = {name: value for name, value in values.items() if isinstance(value, int)}
        if isinstance(device, str) and device and counters:
            yield device, counters


def traffic_between(first: CounterReading, last: CounterReading) -> Iterator[NicTraffic]:
    """The increase for each NIC that is in both readings. A counter that went down was reset: its
    increase is unknown."""
    for key in sorted(first.nics.keys() & last.nics.keys()):
        early, late = first.nics[key], last.nics[key]
        increase = {
            name: late[name] - early[name]
            for name in early.keys() & late.keys()
            if late[name] >= early[name]
        }
        uuid, device = key
        seconds = last.time - first.time
        yield NicTraffic(uuid=uuid, device=device, seconds=seconds, **increase)
