"""Hosts of a fleet, and what one audit read of each: the records between the inventory, what reads
hosts, the history, and reports.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.report import Audited, TargetResult

HostStatus = Literal["ok", "partial", "failed"]
"""As of a target: ``partial``: some of its domains could not be read; ``failed``: nothing was."""

FailureKind = Literal["unreachable", "refused", "authentication", "deadline", "broken", "internal"]
"""Why a host, or a part of it, was not read. ``unreachable``: no connection came about (name,
route, port, timeout); ``refused``: its libvirt or SSH said no (no rights, no such driver);
``authentication``: keys, certificates or SASL; ``deadline``: it stopped answering; ``broken``: the
connection was lost in the middle, or answers made no sense; ``internal``: this program failed. Only
``unreachable``, ``deadline`` and ``broken`` are worth another try."""

WORTH_A_RETRY: frozenset[FailureKind] = frozenset({"unreachable", "deadline", "broken"})


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

    ``audited`` are its domains and itself, in the order of a report, each with the rows of its
    NICs (:attr:`vnicaudit.model.report.Audited.rows`). ``digest`` is that of all that is judged
    of it, without times: equal digests mean that nothing changed. ``nics_seen``: what its NICs are
    compared with those of other hosts by (encoded records, by MAC address).
    """

    host: InventoryHost
    status: HostStatus
    started: str
    """UTC, RFC 3339, as ``finished``."""
    finished: str
    tries: int = 1
    failure: FailureKind | None = None
    """Of the first thing that went wrong; None: nothing did."""
    result: TargetResult
    audited: tuple[Audited, ...] = ()
    digest: str = ""
    nics_seen: tuple[tuple[str, bytes], ...] = ()


class Coverage(msgspec.Struct, frozen=True):
    """The part of a fleet that an audit looked at: what it did not look at stays as it was known.

    ``rules``: ids of the rules that were asked; ``limit``: the pattern that chose hosts (empty:
    all); ``host_share`` and ``nic_share``: parts of a sample (1.0: all of them) drawn with
    ``seed``.
    """

    rules: tuple[str, ...]
    limit: str = ""
    host_share: float = 1.0
    nic_share: float = 1.0
    seed: int | None = None

    @property
    def is_whole(self) -> bool:
        """True where every host and NIC of the inventory was to be looked at."""
        return not self.limit and self.host_share == self.nic_share == 1.0


class FleetAudit(msgspec.Struct, frozen=True, kw_only=True):
    """One audit of a fleet, without what it read: its ``id`` is its time
    (:func:`vnicaudit.base.identifiers.time_id`)."""

    id: str
    started: str
    finished: str | None = None
    version: str
    """Of this program."""
    coverage: Coverage
    hosts: tuple[InventoryHost, ...] = ()
    """The inventory as it was, in its order, those that were not chosen included."""
    chosen: tuple[str, ...] = ()
    """Names of the hosts that were to be read."""
