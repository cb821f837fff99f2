"""Items read from one host -> the reading of that host: judged, counted, ready for the spool.

One thread judges all hosts, because the judge caches verdicts and is not thread-safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.judging.macs import EncodedNic
from vnicaudit.audit.tally import TargetCounts
from vnicaudit.audit.work import AuditWork
from vnicaudit.fleet.running.host_reading import HostItems
from vnicaudit.fleet.sampling import EVERYTHING, AuditSample
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import FailureKind, HostReading
from vnicaudit.model.host import NO_HOST, Host, HostConfig
from vnicaudit.model.live import HostTraffic, LiveDomain, NicTraffic
from vnicaudit.model.report import Audited, LostRead, ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met

_ENCODER = msgspec.msgpack.Encoder()


class ReadingJudge:
    """Judges the items of one host after the other."""

    def __init__(self, work: AuditWork, sample: AuditSample = EVERYTHING) -> None:
        self._work = work
        self._sample = sample

    def reading(self, read: HostItems[Met]) -> HostReading:
        """The reading made from a host's items."""
        judged = _JudgedHost(self._work, self._sample, read.host.uri)
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
            digest=_digest(audited),
            nics_seen=tuple(judged.nics_seen),
            traffic=_traffic(read.items),
        )


class _JudgedHost:
    """One host being judged."""

    def __init__(self, work: AuditWork, sample: AuditSample, target: str) -> None:
        self.tally = TargetCounts()
        self.nics_seen: list[EncodedNic] = []
        self._work = work
        self._sample = sample
        self._target = target
        self._uses: set[str] = set()

    def audited(self, items: Iterable[Met]) -> Iterator[Audited]:
        """The results for its domains, in the order read, and for the host itself."""
        host: Host | None = None
        for item in items:
            if isinstance(item, Host):
                host = item
            elif isinstance(item, ReadError):
                self.tally.error(item)
            elif isinstance(item, LiveDomain):
                yield from self._domain(item.domain, item.host)
            elif isinstance(item, Domain):
                yield from self._domain(item, NO_HOST)
        if host is not None:
            yield self._work.host(host, frozenset(self._uses), self._target)

    def _domain(self, domain: Domain, host: HostConfig) -> Iterator[Audited]:
        from vnicaudit.audit.effective import uses_of  # loaded for the first live host

        self._uses |= uses_of(domain, host)
        if not self._sample.has_domain(domain):
            return
        self.tally.domain(domain)
        self.nics_seen += self._work.nics_to_compare(domain, self._target)
        yield self._work.domain(domain, host, self._target)


def _failure(items: Iterable[Met]) -> FailureKind | None:
    """The kind of the first failure; None: none. An error in a domain's definition counts as
    "broken"."""
    for item in items:
        if isinstance(item, LostRead):
            return item.failure
    return "broken" if any(isinstance(item, ReadError) for item in items) else None


def _traffic(items: Iterable[Met]) -> tuple[NicTraffic, ...]:
    return tuple(nic for item in items if isinstance(item, HostTraffic) for nic in item.nics)


def _digest(audited: tuple[Audited, ...]) -> str:
    return blake2b(_ENCODER.encode(audited), digest_size=16).hexdigest()
