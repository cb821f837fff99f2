"""Hosts of a fleet, the results of reading them, and their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import Severity
from vnicaudit.model.host import NO_HOST, HostConfig, Workload
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import WORTH_A_RETRY as WORTH_A_RETRY
from vnicaudit.model.report import Audited, ReadError, TargetResult
from vnicaudit.model.report import Coverage as Coverage
from vnicaudit.model.report import FailureKind as FailureKind

# Records that reading live hosts and clouds yields.


# Traffic of NICs, as counted by their host.


class NicTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """The increase of a running NIC's counters between two readings, ``seconds`` apart, in the
    directions of the guest. None: unknown (the driver does not count it, or it was reset in
    between)."""

    uuid: str
    """The UUID of its domain."""
    device: str
    """The device on the host (``vnet3``)."""
    seconds: float
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_packets: int | None = None
    tx_packets: int | None = None
    rx_drops: int | None = None
    tx_drops: int | None = None
    rx_errors: int | None = None
    tx_errors: int | None = None

    @property
    def bytes_per_second(self) -> float | None:
        """The sum of both directions; None if one is unknown."""
        return self._rate(self.rx_bytes, self.tx_bytes)

    @property
    def drops_per_second(self) -> float | None:
        """Packets that the host dropped on their way to or from the guest."""
        return self._rate(self.rx_drops, self.tx_drops)

    @property
    def errors_per_second(self) -> float | None:
        """Packets with errors."""
        return self._rate(self.rx_errors, self.tx_errors)

    def _rate(self, one: int | None, other: int | None) -> float | None:
        if one is None or other is None or self.seconds <= 0:
            return None
        return (one + other) / self.seconds


class HostTraffic(msgspec.Struct, frozen=True):
    """The traffic of all NICs of one host whose counters are known."""

    nics: tuple[NicTraffic, ...] = ()


# Options for reading live hosts and clouds.

DEADLINE = 30.0
"""Default timeout of a live host, in seconds."""


CLOUD_SECONDS = 3600.0
"""Default time for reading a whole cloud."""


class LiveOptions(msgspec.Struct, frozen=True):
    """How to read live hosts. ``deadline``: seconds per call; ``agent``: whether to query guest
    agents; ``root``, ``proc`` and ``logs``: paths of this host's devices, processes and QEMU logs;
    ``cloud``: seconds for reading a whole cloud; ``calls``: maximum number of
    concurrent calls to one host (None: few on a local socket, many over a network)."""

    deadline: float = DEADLINE
    agent: bool = False
    root: str = "/"
    proc: str = "/proc"
    logs: str = "/var/log/libvirt/qemu"
    cloud: float = CLOUD_SECONDS
    calls: int | None = None
    traffic: float | None = None
    """Seconds between two readings of the NICs' counters; None: counters are not read."""
    window: float = 0.0
    """Seconds between two readings of a host's counters; 0: they are read once."""
    host_facts: bool = False
    """A libvirt's host itself is visited as well, for its facts."""
    launchers: str | None = None
    """The guest of a cluster, by name or UID, whose launcher is asked for its domain; empty: all
    that run; None: none."""
    pods: bool = False
    """All pods of a cluster are read."""
    record: str = ""
    """The file that gets the recording of a visit; empty: none."""


CloudRecord = Server | Image | Flavor
"""A record of a cloud that is judged."""

CloudItem = CloudRecord | ReadError
"""An item that reading a cloud yields."""


class LiveDomain(NamedTuple):
    """A domain and the facts of its host, including the device files that the domain names."""

    domain: Domain
    host: HostConfig


class LiveDefinition(NamedTuple):
    """A domain in its present state, and its persistent definition: parsed, and as text without
    passwords (empty: it is transient, and has none). ``local``: its host is this machine."""

    running: Domain
    domain: Domain
    text: bytes
    host: HostConfig = NO_HOST
    local: bool = False
    way_back: str = ""
    """How libvirt would alter the definition if it is restored after a change; empty: not at
    all."""


# Hosts of a fleet, and the results of reading each in one audit: the records that the inventory,
# readers, the history and reports exchange.


HostStatus = Literal["ok", "partial", "failed"]
"""As for a target. ``partial``: some of its domains could not be read; ``failed``: nothing
could."""


class HostOptions(msgspec.Struct, frozen=True):
    """Options for reading one host that differ from the rest (None: as on the command line).
    ``deadline``: seconds per call; ``agent``: whether guest agents are queried; ``host_facts``:
    whether the host itself is visited as well; ``workload``: what its network is used for."""

    deadline: float | None = None
    agent: bool | None = None
    host_facts: bool | None = None
    workload: Workload | None = None

    def or_else(self, others: HostOptions) -> HostOptions:
        """These options; where one is None, that of the others."""
        own = msgspec.structs.asdict(self)
        return msgspec.structs.replace(
            others, **{name: value for name, value in own.items() if value is not None}
        )


DEFAULT_URI = "qemu+ssh://{host}/system"
"""URI of a host of an inventory that has none of its own."""


class InventoryHost(msgspec.Struct, frozen=True):
    """One host of an inventory. ``name`` is unique in it; ``uri`` is the target that is read;
    ``source``: the file and line, or the command, that names it."""

    name: str
    uri: str
    site: str = ""
    groups: tuple[str, ...] = ()
    options: HostOptions = HostOptions()
    source: str = ""


class HostReading(msgspec.Struct, frozen=True, kw_only=True):
    """The result of reading and judging one host, once.

    ``audited`` holds its domains and the host itself, in the order of a report, each with the rows
    of its NICs (:attr:`vnicaudit.model.report.Audited.rows`). ``digest`` covers everything that is
    judged, without times: equal digests mean that nothing changed. ``nics_seen``: encoded records,
    by MAC address, for comparing its NICs with those of other hosts.
    """

    host: InventoryHost
    status: HostStatus
    started: str
    """UTC, RFC 3339, like ``finished``."""
    finished: str
    tries: int = 1
    failure: FailureKind | None = None
    """The kind of the first failure; None: there was none."""
    result: TargetResult
    audited: tuple[Audited, ...] = ()
    digest: str = ""
    nics_seen: tuple[tuple[str, bytes], ...] = ()
    traffic: tuple[NicTraffic, ...] = ()
    """The traffic of its running NICs, if counters were requested and are known. Not part of
    ``digest``, since traffic always differs."""


class FleetAudit(msgspec.Struct, frozen=True, kw_only=True):
    """One audit of a fleet, without its readings: its ``id`` is its time
    (:func:`vnicaudit.base.wording.time_id`)."""

    id: str
    started: str
    finished: str | None = None
    version: str
    """The version of this program."""
    coverage: Coverage
    hosts: tuple[InventoryHost, ...] = ()
    """The inventory at that time, in its order, including hosts that were not chosen."""
    chosen_hosts: tuple[str, ...] = msgspec.field(name="chosen", default=())
    """Names of the hosts that were to be read, in the order of the inventory."""
    compared: bool = False
    """All hosts of the inventory were completely read and compared with one another, so that a
    problem shared by two of them that is no longer reported is gone."""
    request: str = ""
    """Digest of everything besides the hosts that decides the findings: an interrupted audit is
    resumed only with the same request."""


class KeptReading(msgspec.Struct, frozen=True):
    """One host's reading in packed form. ``digest``: of all that was judged of the host; equal
    digests mean that nothing changed; empty: unknown. ``reading``: the reading itself, unpacked
    again at each call; all else is known without unpacking it."""

    host: str
    status: HostStatus
    digest: str
    finished: str
    reading: Callable[[], HostReading]


AuditSink = Callable[[FleetAudit, Iterable[KeptReading]], None]
"""Stores a whole audit of a fleet, with one reading for each host that was to be read, in the order
of the inventory; ``audit.finished`` is set. After a crash it is called again: an audit with a known
id is not stored twice. Raises VnicauditError if it cannot be stored."""


def kept_reading(one: HostReading) -> KeptReading:
    """A reading that is in memory."""
    return KeptReading(one.host.name, one.status, one.digest, one.finished, lambda: one)


# Counts of a fleet after its newest audit, from which metrics are made.
#
# Only sums by labels with few values: a series for each NIC or MAC address could mean a million
# series.


class FindingCount(msgspec.Struct, frozen=True):
    """Findings of one rule, severity, site and owner: ``open`` ones that were checked, ``stale``
    ones that are open as far as is known but were not checked, ``suppressed`` ones."""

    rule: str
    severity: Severity
    site: str = ""
    owner: str = ""
    open: int = 0
    stale: int = 0
    suppressed: int = 0


class SiteCounts(msgspec.Struct, frozen=True):
    """Hosts of one site (empty: of none), by the newest audit that was to read them: ``fresh`` ones
    were read in full, ``partial`` ones in part. ``stale`` ones were not to be read by the newest
    audit; ``failed`` ones were, but could not be read. ``oldest_reading``: time of the least recent
    reading of a host (UTC, RFC 3339); None: none was ever read."""

    site: str = ""
    fresh: int = 0
    partial: int = 0
    stale: int = 0
    failed: int = 0
    domains: int = 0
    nics: int = 0
    oldest_reading: str | None = None

    @property
    def hosts(self) -> int:
        """All hosts of the site."""
        return self.fresh + self.partial + self.stale + self.failed


class FleetCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The newest counts. ``finished``: when the newest audit ended (UTC, RFC 3339); None: there was
    none yet. ``rules``: those it checked, with their own severity. ``host_share`` and
    ``nic_share``: as in :class:`vnicaudit.model.fleet.Coverage`. ``new``, ``reopened``, ``fixed``,
    ``gone``: changes by the newest audit."""

    finished: str | None = None
    rules: tuple[tuple[str, Severity], ...] = ()
    host_share: float = 1.0
    nic_share: float = 1.0
    findings: tuple[FindingCount, ...] = ()
    sites: tuple[SiteCounts, ...] = ()
    new: int = 0
    reopened: int = 0
    fixed: int = 0
    gone: int = 0
