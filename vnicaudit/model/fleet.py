"""Hosts of a fleet, and the results of reading each in one audit: the records that the inventory,
readers, the history and reports exchange."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from vnicaudit.model.live import NicTraffic
from vnicaudit.model.report import WORTH_A_RETRY as WORTH_A_RETRY
from vnicaudit.model.report import Audited, TargetResult
from vnicaudit.model.report import Coverage as Coverage
from vnicaudit.model.report import FailureKind as FailureKind

HostStatus = Literal["ok", "partial", "failed"]
"""As for a target. ``partial``: some of its domains could not be read; ``failed``: nothing
could."""


class HostOptions(msgspec.Struct, frozen=True):
    """Options for reading one host that differ from the rest (None: as on the command line).
    ``deadline``: seconds per call; ``agent``: whether guest agents are queried."""

    deadline: float | None = None
    agent: bool | None = None


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
    (:func:`vnicaudit.base.identifiers.time_id`)."""

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


class KeptReading(Protocol):
    """One host's reading in packed form. All but ``reading`` is known without unpacking it."""

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""

    @property
    def status(self) -> HostStatus:
        """Status of the reading."""

    @property
    def digest(self) -> str:
        """Digest of all that was judged of the host; equal digests mean that nothing changed;
        empty: unknown."""

    @property
    def finished(self) -> str:
        """When the host was read."""

    def reading(self) -> HostReading:
        """The reading itself, unpacked again at each call."""


class Unpacked(msgspec.Struct, frozen=True):
    """A reading that is in memory."""

    host_reading: HostReading

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""
        return self.host_reading.host.name

    @property
    def status(self) -> HostStatus:
        """Status of the reading."""
        return self.host_reading.status

    @property
    def digest(self) -> str:
        """Digest of all that was judged of the host."""
        return self.host_reading.digest

    @property
    def finished(self) -> str:
        """When the host was read."""
        return self.host_reading.finished

    def reading(self) -> HostReading:
        """The reading itself."""
        return self.host_reading
