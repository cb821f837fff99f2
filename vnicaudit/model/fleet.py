"""Hosts of a fleet, and the results of reading each in one audit: the records that the inventory,
readers, the history and reports exchange."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from vnicaudit.model.coverage import Coverage as Coverage
from vnicaudit.model.failure import WORTH_A_RETRY as WORTH_A_RETRY
from vnicaudit.model.failure import FailureKind as FailureKind
from vnicaudit.model.report import Audited, TargetResult
from vnicaudit.model.traffic import NicTraffic

HostStatus = Literal["ok", "partial", "failed"]
"""As of a target: ``partial``: some of its domains could not be read; ``failed``: nothing was."""


class HostOptions(msgspec.Struct, frozen=True):
    """How one host is read, where that differs from the rest (None: as the command line says).
    ``deadline``: seconds per call; ``agent``: whether guest agents are asked."""

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

    ``audited`` are its domains and itself, in the order of a report, each with the rows of its NICs
    (:attr:`vnicaudit.model.report.Audited.rows`). ``digest`` covers everything that is judged,
    without times: equal digests mean that nothing changed. ``nics_seen``: encoded records, by MAC
    address, for comparing its NICs with those of other hosts.
    """

    host: InventoryHost
    status: HostStatus
    started: str
    """UTC, RFC 3339, as ``finished``."""
    finished: str
    tries: int = 1
    failure: FailureKind | None = None
    """The kind of the first failure; None: there was none."""
    result: TargetResult
    audited: tuple[Audited, ...] = ()
    digest: str = ""
    nics_seen: tuple[tuple[str, bytes], ...] = ()
    traffic: tuple[NicTraffic, ...] = ()
    """The traffic of its running NICs, where counters were requested and are known. Not part of
    ``digest``, since traffic always differs."""


class FleetAudit(msgspec.Struct, frozen=True, kw_only=True):
    """One audit of a fleet, without its readings: its ``id`` is its time
    (:func:`vnicaudit.base.identifiers.time_id`)."""

    id: str
    started: str
    finished: str | None = None
    version: str
    """Of this program."""
    coverage: Coverage
    hosts: tuple[InventoryHost, ...] = ()
    """The inventory as it was, in its order, those that were not chosen included."""
    chosen_hosts: tuple[str, ...] = msgspec.field(name="chosen", default=())
    """Names of the hosts that were to be read, in the order of the inventory."""
    compared: bool = False
    """All hosts of the inventory were read, whole, and compared with one another: what two of them
    had in common and is not told any more is no longer so."""
    request: str = ""
    """Digest of everything besides the hosts that decides its findings: an interrupted audit is
    resumed only with the same request."""


class KeptReading(Protocol):
    """One host's reading as handed over. All but ``reading`` is known without unpacking it."""

    @property
    def host(self) -> str:
        """Name of the host in the inventory."""

    @property
    def status(self) -> HostStatus:
        """As of the reading."""

    @property
    def digest(self) -> str:
        """Of all that was judged of it; equal digests mean that nothing changed; empty: not
        known."""

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

    def reading(self) -> HostReading:
        """The reading itself."""
        return self.host_reading
