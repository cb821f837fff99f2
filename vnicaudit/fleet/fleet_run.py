"""One audit of a fleet, from the hosts to read to the stream from which reports are written. The
order is that of the inventory, whatever was read first.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.accepting.baseline import NO_FILTER, FindingFilter
from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.hosts import SeenHost
from vnicaudit.audit.judging.macs import EncodedNic, MacTable
from vnicaudit.audit.settings.keys import SetOnce
from vnicaudit.audit.tally import TargetCounts, Totals
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.files import check_own, make_private, open_lock, own_lock
from vnicaudit.errors import JournalError, RefusedError, UsageError
from vnicaudit.fleet.host_reading import (
    HostItems,
    HostQueue,
    HostReaders,
    ReadingEngine,
)
from vnicaudit.fleet.plan_history import EVERYTHING, AuditSample
from vnicaudit.fleet.spool import AuditSpool, HostSummary, SpooledHost
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Confidence, Severity
from vnicaudit.model.fleet import (
    FailureKind,
    FleetAudit,
    HostReading,
    HostTraffic,
    InventoryHost,
    KeptReading,
    LiveDomain,
)
from vnicaudit.model.host import NO_HOST, HostConfig
from vnicaudit.model.report import Audited, LostRead, ReadError, Summary, TargetResult

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem

# Items read from one host -> the reading of that host: judged, counted, ready for the spool.
#
# One thread judges all hosts, because the judge caches verdicts and is not thread-safe.


_ENCODER = msgspec.msgpack.Encoder()


class ReadingJudge:
    """Judges the items of one host after the other."""

    def __init__(self, work: AuditWork, sample: AuditSample = EVERYTHING) -> None:
        self._work = work
        self._sample = sample

    def reading(self, read: HostItems[HostItem]) -> HostReading:
        """The reading made from a host's items."""
        judged = _JudgedHost(self._work, self._sample, read.host)
        audited = tuple(judged.audited(read.items))
        result = judged.tally.result(read.host.uri)
        return HostReading(
            host=read.host,
            status=result.status,
            started=read.started,
            finished=read.finished,
            tries=read.tries,
            failure=_failure(read.items),
            result=result,
            audited=audited,
            digest=blake2b(_ENCODER.encode(audited), digest_size=16).hexdigest(),
            nics_seen=tuple(judged.nics_seen),
            traffic=tuple(
                nic for item in read.items if isinstance(item, HostTraffic) for nic in item.nics
            ),
        )


class _JudgedHost:
    """One host being judged."""

    def __init__(self, work: AuditWork, sample: AuditSample, host: InventoryHost) -> None:
        self.tally = TargetCounts()
        self.nics_seen: list[EncodedNic] = []
        self._work = work
        self._sample = sample
        self._target = host.uri
        self._workload = host.options.workload

    def audited(self, items: Iterable[HostItem]) -> Iterator[Audited]:
        """The results for its domains, in the order read, and for the host itself."""
        seen = SeenHost()
        for item in map(seen.take, items):
            if isinstance(item, ReadError):
                self.tally.error(item)
            elif isinstance(item, LiveDomain):
                seen.runs(item.domain, item.host)
                yield from self._domain(item.domain, item.host, seen.name)
            elif isinstance(item, Domain):
                seen.runs(item, NO_HOST)
                yield from self._domain(item, NO_HOST, "")
        if (subject := seen.subject()) is not None:
            told = msgspec.structs.replace(subject, workload=self._workload)
            yield self._work.host(seen.name, told, self._target)

    def _domain(self, domain: Domain, host: HostConfig, machine: str) -> Iterator[Audited]:
        if not self._sample.has_domain(domain):
            return
        self.tally.domain(domain)
        self.nics_seen += self._work.nics_to_compare(domain, self._target, machine)
        yield self._work.domain(domain, host, self._target)


def _failure(items: Iterable[HostItem]) -> FailureKind | None:
    """The kind of the first failure; None: none. An error in a domain's definition counts as
    "broken"."""
    for item in items:
        if isinstance(item, LostRead):
            return item.failure
    return "broken" if any(isinstance(item, ReadError) for item in items) else None


OnHost = Callable[[HostSummary], None]
"""Called for each host whose reading is stored."""


class FleetRun:
    """Reads hosts into a spool, and provides reports with ``items`` from there, like
    :class:`vnicaudit.audit.run.AuditRun`."""

    def __init__(
        self,
        work: AuditWork,
        spool: AuditSpool,
        audit: FleetAudit,
        finding_filter: FindingFilter = NO_FILTER,
    ) -> None:
        """``finding_filter``: the findings that are reported; all are stored."""
        self._work = work
        self._filter = finding_filter
        self._spool = spool
        self.audit = audit
        self._totals = Totals()
        self._results: list[TargetResult] = []
        self._macs = MacTable()
        self._shared: dict[str, list[Audited]] = {}
        self._missing: list[tuple[int, InventoryHost]] = []
        self.baselined: set[str] = set()
        self.resumed = False
        """True if some hosts were read by an earlier process."""

    def read(
        self,
        engine: ReadingEngine[HostItem],
        limits: SetOnce,
        sample: AuditSample = EVERYTHING,
        on_host: OnHost | None = None,
    ) -> None:
        """Read every host found by :meth:`find_missing`. If interrupted (Ctrl-C), everything read
        so far stays stored. Raises JournalError if nothing can be stored, TargetError if the engine
        is lost."""
        judge = ReadingJudge(self._work, sample)
        tasks = HostQueue(self._missing, limits.per_site, engine.slots)
        results = HostReaders(tasks, engine, limits).results()
        try:
            for items in results:
                summary = self._spool.add(items.place, judge.reading(items))
                if on_host is not None:
                    on_host(summary)
        finally:
            results.close()

    def host_count(self) -> int:
        """Number of hosts whose readings are stored, also of one that nobody was told of yet."""
        return self._spool.host_count()

    def find_missing(self, on_host: OnHost | None = None) -> None:
        """Find the hosts that are not in the spool yet; ``on_host`` is called for the others."""
        self._missing = list(self._not_kept(on_host))
        self.resumed = len(self._missing) < len(self.audit.chosen_hosts)

    def _not_kept(self, on_host: OnHost | None) -> Iterator[tuple[int, InventoryHost]]:
        hosts = {host.name: host for host in self.audit.hosts}
        for place, name in enumerate(self.audit.chosen_hosts):
            kept = self._spool.host(place)
            if kept is None or kept.host != name:
                self._spool.drop_host(place)
                yield place, hosts[name]
            elif on_host is not None:
                on_host(kept.summary)

    def readings(self) -> Iterator[SpooledHost]:
        """The spooled reading of each host, in the order of the inventory. Raises JournalError if
        one is missing."""
        for place, name in enumerate(self.audit.chosen_hosts):
            kept = self._spool.host(place)
            if kept is None:
                raise JournalError(
                    f"{self._spool.folder}: the stored reading of {name} is gone; run again with "
                    "--resume"
                )
            yield kept

    def items(self) -> Iterator[Audited]:
        """All results in the order of the inventory, followed by those on what hosts have in
        common."""
        for kept in self.readings():
            reading = kept.reading()
            self._results.append(msgspec.structs.replace(reading.result, name=kept.host))
            self._macs.take(reading.nics_seen)
            yield from map(self._counted, reading.audited)
        for audited in self._work.shared_macs(self._macs):
            self._shared.setdefault(audited.target, []).append(audited)
            yield self._counted(audited)
        if self._results:
            last = self._results[-1]
            notes = (*last.notes, *self._macs.notes())
            self._results[-1] = msgspec.structs.replace(last, notes=notes)

    @property
    def are_compared(self) -> bool:
        """True after ``items`` has ended, if every NIC of the inventory was compared with all
        others."""
        whole = all(result.status == "ok" for result in self._results)
        return whole and self.audit.coverage.is_whole and not self._macs.left_out

    def compared_readings(self) -> Iterator[KeptReading]:
        """The readings, with results on what hosts have in common; valid after ``items`` has
        ended."""
        targets = {host.name: host.uri for host in self.audit.hosts}
        for kept in self.readings():
            yield kept.compared(tuple(self._shared.get(targets[kept.host], ())))

    def _counted(self, audited: Audited) -> Audited:
        audited = self._filter.apply(audited)
        self._totals.add(audited)
        self.baselined |= self._work.in_baseline(audited)
        return audited

    def count_extra(self, audited: Audited) -> None:
        """Add findings that come from no host (expired suppressions) to the totals."""
        self._totals.add(audited)

    @property
    def suppressor(self) -> Suppressor:
        """The suppressor with the suppressions from the settings."""
        return self._work.suppressor

    @property
    def usage(self) -> Usage:
        """The uses of suppressions by this process."""
        return self._work.usage()

    @property
    def results(self) -> tuple[TargetResult, ...]:
        """Result of reading each host."""
        return tuple(self._results)

    @property
    def summary(self) -> Summary:
        """The totals so far."""
        return self._totals.summary(
            domains=sum(result.domains for result in self._results),
            nics=sum(result.nics for result in self._results),
        )

    @property
    def graded(self) -> dict[tuple[Severity, Confidence], int]:
        """Number of findings so far, by severity and confidence."""
        return dict(self._totals.graded)

    @property
    def undecided(self) -> dict[str, int]:
        """Rule -> the subjects for which it could not be judged so far, although it needs no live
        host."""
        return dict(self._totals.undecided)


# One audit of a fleet at a time: two at once would read every host twice, and each would store one
# half.


class FleetHeldError(RefusedError):
    """Another audit of the fleet is in progress."""


@contextmanager
def fleet_lock(state: Path) -> Iterator[None]:
    """Lock the fleet of a state directory inside this context. Raises FleetHeldError if another
    process holds the lock (the kernel releases it when that process ends), UsageError if the
    directory cannot be written."""
    folder = state / "fleet"
    for place in (state, folder):
        check_own(place, link=place == state)
    try:
        make_private(folder)
        descriptor = open_lock(folder / "lock")
    except OSError as error:
        raise UsageError(
            f"{folder}: {error.strerror}; choose another state folder with --state"
        ) from None
    holder = f"process {os.getpid()} on {socket.gethostname()}, since {timestamp('seconds')}"
    with own_lock(descriptor, holder, _held):
        yield


def _held(holder: str) -> FleetHeldError:
    return FleetHeldError(
        f"another audit of this fleet is running ({holder}): wait for it to end, or give another "
        "fleet its own --state"
    )
