"""Readings and measurements -> the changes to make first."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from vnicaudit.base.wording import count
from vnicaudit.fleet.ranking.candidates import Candidate, Candidates
from vnicaudit.fleet.ranking.estimates import Estimates
from vnicaudit.fleet.ranking.order import order_of
from vnicaudit.fleet.ranking.reasons import reason
from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.ranking import MeasuredGain, MeasuredTraffic, RankedChange, Ranking

NO_TRAFFIC = "traffic is unknown; `vnicaudit fleet audit --traffic` measures it on QEMU hosts"


def rank(
    audit: FleetAudit,
    readings: Iterable[HostReading],
    gains: Iterable[MeasuredGain] = (),
    *,
    most: int = 50,
    per_place: bool = True,
) -> Ranking:
    """The first ``most`` changes, independent of the order of readings. ``per_place`` False: the
    same change in several places is one."""
    candidates = Candidates(per_place=per_place)
    hosts = 0
    for reading in readings:
        hosts += reading.status != "failed"
        candidates.add(reading)
    estimates = Estimates(gains)
    best = nsmallest(most, candidates, key=order_of)
    return Ranking(
        audit=audit.id,
        started=audit.started,
        finished=audit.finished,
        hosts=hosts,
        of_hosts=len(audit.chosen_hosts),
        findings=candidates.findings,
        candidates=len(candidates),
        notes=_notes(candidates, hosts, len(audit.chosen_hosts)),
        changes=tuple(
            _ranked(number, one, candidates, estimates) for number, one in enumerate(best, 1)
        ),
    )


def _notes(candidates: Candidates, hosts: int, chosen: int) -> tuple[str, ...]:
    notes = []
    if hosts < chosen:
        notes.append(f"{chosen - hosts:,} of {count(chosen, 'host')} could not be read")
    if len(candidates) and not candidates.traffic_known:
        notes.append(NO_TRAFFIC)
    return tuple(notes)


def _ranked(
    number: int, one: Candidate, candidates: Candidates, estimates: Estimates
) -> RankedChange:
    change = one.key.change
    elsewhere = candidates.elsewhere(one)
    places = one.places or {one.place}
    estimate = estimates.of(one)
    rules = sorted(one.rules.items())
    return RankedChange(
        rank=number,
        rules=tuple(rule for rule, _name in rules),
        names=tuple(name for _rule, name in rules),
        owner=change.owner,
        field=change.field or None,
        value=None if change.removes or not change.field else change.value,
        safety=change.safety,
        reachable=one.reachable,
        place=next(iter(places)) if len(places) == 1 else one.place,
        places=len(places),
        elsewhere=elsewhere,
        severity=one.severity,
        confidence=one.confidence,
        hosts=one.hosts,
        guests=one.guests,
        nics=one.nics,
        findings=one.findings,
        traffic=_traffic(one),
        estimate=estimate,
        fix=one.first.fix,
        reason=reason(one, elsewhere, estimate),
    )


def _traffic(one: Candidate) -> MeasuredTraffic | None:
    if not one.counted:
        return None
    return MeasuredTraffic(
        nics=one.counted,
        bytes_per_second=one.rate,
        share=one.share,
        drops_per_second=one.drops,
        errors_per_second=one.errors,
    )
