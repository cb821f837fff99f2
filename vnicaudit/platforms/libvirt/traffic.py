"""Traffic of running NICs: two readings of libvirt's counters for all guests of a host, each one
call (``virConnectGetAllDomainStats``).

A guest that is busy with a job (a migration) is not waited for. A driver that counts nothing, as
the test driver does, leaves traffic unknown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from vnicaudit.model.traffic import HostTraffic, NicTraffic
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.workers import Pulse, WorkerThreads

_NICS_MAX = 1024
"""Of one domain."""
_NAMES = (
    ("rx_bytes", "rx.bytes"), ("tx_bytes", "tx.bytes"), ("rx_packets", "rx.pkts"),
    ("tx_packets", "tx.pkts"), ("rx_drops", "rx.drop"), ("tx_drops", "tx.drop"),
    ("rx_errors", "rx.errs"), ("tx_errors", "tx.errs"),
)  # fmt: skip
"""Ours, and libvirt's behind ``net.N.``."""

Counters = Mapping[str, int]
"""By our names; what is not counted is missing."""


class CounterReading(msgspec.Struct, frozen=True):
    """All counters at a time (monotonic, in seconds), by the UUID of the domain and the host's end
    of the NIC."""

    time: float
    nics: Mapping[tuple[str, str], Counters]


class TrafficCount:
    """Two readings: the first is begun at once."""

    def __init__(
        self, connection: libvirt.virConnect, worker: WorkerThreads, pulse: Pulse, seconds: float
    ) -> None:
        self._worker = worker
        self._pulse = pulse
        self._seconds = seconds
        self._read = partial(read_counters, connection)
        self._first = worker.call(self._read)

    def result(self) -> HostTraffic | None:
        """The traffic, ``seconds`` after the first reading; None: the driver does not say."""
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
    """The host's end of each NIC of one domain, and its counters, of ``net.N.…``. What is no number
    is left out, and so is a NIC without a name."""
    number = stats.get("net.count")
    for index in range(min(number, _NICS_MAX) if isinstance(number, int) else 0):
        device = stats.get(f"net.{index}.name")
        values = {name: stats.get(f"net.{index}.{key}") for name, key in _NAMES}
        counters = {name: value for name, value in values.items() if isinstance(value, int)}
        if isinstance(device, str) and device and counters:
            yield device, counters


def traffic_between(first: CounterReading, last: CounterReading) -> Iterator[NicTraffic]:
    """The increase of each NIC that both readings have. A counter that went down began anew: it is
    not known."""
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
