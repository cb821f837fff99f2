"""Readings and measurements -> the changes to make first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import chain

from vnicaudit.base.wording import count
from vnicaudit.fleet.ranking.candidates import Candidate, Candidates, ChangeIdentity
from vnicaudit.fleet.ranking.estimates import Estimates
from vnicaudit.fleet.ranking.order import order_of
from vnicaudit.fleet.ranking.reasons import reason
from vnicaudit.knowledge.fixes.libvirt import by_plan
from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.ranking import MeasuredGain, MeasuredTraffic, RankedChange, Ranking

PLAN = (
    "`vnicaudit fleet plan -i INVENTORY -o plan.json` plans these changes of libvirt's guests, and "
    "`vnicaudit fleet apply plan.json -i INVENTORY` makes them"
)
_STAND_OUT = 3
"""Places of one change that are named beside it."""
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
    same change in several places is one, and beside it only the guests that lose most packets."""
    candidates = Candidates(per_place=per_place)
    hosts = 0
    for reading in readings:
        hosts += reading.status != "failed"
        candidates.add(reading)
    estimates = Estimates(gains)
    outstanding = list(_outstanding(candidates))
    best = nsmallest(most, chain(candidates, outstanding), key=order_of)
    return Ranking(
        audit=audit.id,
        started=audit.started,
        finished=audit.finished,
        hosts=hosts,
        of_hosts=len(audit.chosen_hosts),
        findings=candidates.findings,
        candidates=len(candidates) + len(outstanding),
        notes=(*_notes(candidates, hosts, len(audit.chosen_hosts)), *_next_steps(best)),
        changes=tuple(
            _ranked(number, one, candidates, estimates) for number, one in enumerate(best, 1)
        ),
    )


def _outstanding(candidates: Candidates) -> Iterator[Candidate]:
    """Of each change, the guests that lose most packets."""
    by_change: dict[ChangeIdentity, list[Candidate]] = {}
    for one in candidates.losing_packets():
        by_change.setdefault(one.key.change, []).append(one)
    for some in by_change.values():
        yield from nsmallest(_STAND_OUT, some, key=lambda one: (-one.packets_lost, one.key))


def _next_steps(best: Iterable[Candidate]) -> tuple[str, ...]:
    changes = (one.key.change for one in best)
    return (PLAN,) if any(one.field and one.owner == "libvirt" for one in changes) else ()


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
        shut_off=one.off,
        nics=one.nics,
        findings=one.findings,
        traffic=_traffic(one),
        estimate=estimate,
        fix=by_plan(one.first, "vnicaudit fleet plan"),
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
