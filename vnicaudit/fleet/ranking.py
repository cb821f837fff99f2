"""Combines findings of a fleet into changes, ranked by what it costs not to make them. Nothing is
read here: readings and measurements are passed in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import chain
from math import floor, log10
from statistics import median

from vnicaudit.base.wording import count
from vnicaudit.fleet.ranking_candidates import Candidate, CandidateKey, Candidates, ChangeIdentity
from vnicaudit.knowledge.fixes.hypervisors import by_plan
from vnicaudit.model.finding import Confidence
from vnicaudit.model.fleet import FleetAudit, HostReading
from vnicaudit.model.ranking import (
    GainEstimate,
    MeasuredGain,
    MeasuredTraffic,
    RankedChange,
    Ranking,
)

# Expected gains, from measurements of the same change if there are any.


_MODEL = "model"


class Estimates:
    """Measured gains by NIC model before and after. Changes of other fields have none: a
    measurement records the NIC's description, but not which of its settings made the difference."""

    def __init__(self, gains: Iterable[MeasuredGain]) -> None:
        self._gains: dict[tuple[str, str], list[MeasuredGain]] = defaultdict(list)
        for gain in gains:
            self._gains[_model(gain.before_nic), _model(gain.after_nic)].append(gain)

    def of(self, candidate: Candidate) -> GainEstimate | None:
        """The gain of a candidate whose NICs all have the same model before; None: not measured."""
        change = candidate.key.change
        if change.field != _MODEL or change.removes or len(candidate.before) != 1:
            return None
        return self.between(candidate.before[0] or "", change.value)

    def between(self, before: str, after: str) -> GainEstimate | None:
        """The gain when a NIC of one model becomes one of another; None: not measured."""
        gains = self._gains.get((before, after), [])
        return _estimate(gains) if before and gains else None


def _model(nic: str) -> str:
    """The model: ``virtio`` from ``virtio, 4 queues``."""
    return nic.partition(",")[0].strip()


def _estimate(gains: list[MeasuredGain]) -> GainEstimate:
    """The estimate from the workload and metric with most measurements; ties are resolved by
    name."""
    by_metric: dict[tuple[str, str], list[MeasuredGain]] = defaultdict(list)
    for gain in gains:
        by_metric[gain.workload, gain.metric].append(gain)
    (workload, metric), chosen = min(by_metric.items(), key=lambda one: (-len(one[1]), one[0]))
    percents = [gain.percent for gain in chosen]
    is_single = len(chosen) == 1
    return GainEstimate(
        workload=workload,
        metric=metric,
        measurements=len(chosen),
        percent=median(percents),
        low=chosen[0].low95 if is_single else min(percents),
        high=chosen[0].high95 if is_single else max(percents),
    )


# The order of candidates.
#
# It is lexicographic, not a weighted sum: the first criterion that differs decides, and each can be
# read in the line that explains the rank. 1. packets lost per second (drops and errors), 2. whether
# a guest is running, 3. severity, 4. confidence, 5. bytes per second, 6. share of the host's bytes,
# 7. safety, 8. whether the owner can be reached, 9. NICs fixed, 10. findings fixed; then names.
# Criteria 1, 5 and 6 are compared in steps, so that small differences leave the decision to later
# criteria; unknown traffic counts as none.


_QUIET = 125_000.0
"""Bytes per second (1 Mbit/s) below which the rate is ignored."""
_SHARES = (0.01, 0.1, 0.25, 0.5)
_SAFETY = {"safe": 2, "unsafe": 1, "none": 0}

Order = tuple[tuple[int, ...], CandidateKey]


def order_of(candidate: Candidate) -> Order:
    """Sort key: what to do first comes first."""
    rate = _rate_step(candidate.rate)
    criteria = (
        _loss_step(candidate.packets_lost),
        not candidate.is_off,
        *candidate.grade,
        rate,
        _share_step(candidate.share) if rate else 0,
        _SAFETY[candidate.key.change.safety],
        int(candidate.reachable),
        candidate.nics,
        candidate.findings,
    )
    return tuple(-one for one in criteria), candidate.key


def _loss_step(rate: float) -> int:
    """0: less than one packet per second; then one step for each power of ten."""
    return 0 if rate < 1 else 1 + floor(log10(rate))


def _rate_step(rate: float | None) -> int:
    """0: below 1 Mbit/s, or not known; 1: below 10 Mbit/s; then one step for each power of ten."""
    if rate is None or rate < _QUIET:
        return 0
    return 1 + floor(log10(rate / _QUIET))


def _share_step(share: float | None) -> int:
    """Number of limits (1, 10, 25 and 50 %) that the share reaches."""
    return 0 if share is None else sum(share >= bound for bound in _SHARES)


# The line that explains a change's rank: its criteria as values.


_SAFETY_REASONS = {"safe": "safe", "unsafe": "needs review", "none": "no change to propose"}
_SURE: dict[Confidence, str] = {"high": "certain", "medium": "probable", "low": "uncertain"}


def reason(candidate: Candidate, elsewhere: int, estimate: GainEstimate | None) -> str:
    """``1,204 drops/s; carries 38 % of this host's bytes; certain, safe; 3 NICs``, without names
    of guests. The severity stands before it."""
    return "; ".join(_parts(candidate, elsewhere, estimate))


def _parts(candidate: Candidate, elsewhere: int, estimate: GainEstimate | None) -> Iterator[str]:
    if candidate.drops:
        yield f"{_number(candidate.drops)} drops/s"
    if candidate.errors:
        yield f"{_number(candidate.errors)} errors/s"
    if candidate.off:
        yield _shut_off(candidate)
    yield from _traffic(candidate)
    sure = _SURE[candidate.confidence]
    yield f"{sure}, {_SAFETY_REASONS[candidate.key.change.safety]}"
    if not candidate.reachable:
        yield f"it is unknown how {candidate.key.change.owner} makes changes"
    yield _cured(candidate)
    if elsewhere:
        need = "needs" if elsewhere == 1 else "need"
        yield f"{count(elsewhere, 'more place')} {need} the same"
    if estimate is not None:
        yield gain_words(estimate)


def _shut_off(candidate: Candidate) -> str:
    if not candidate.is_off:
        return f"{candidate.off:,} of {count(candidate.guests, 'guest')} shut off"
    return "shut off" if candidate.guests == 1 else "all guests shut off"


def _traffic(candidate: Candidate) -> Iterator[str]:
    if candidate.rate is not None:
        yield _carries(candidate)
    if 0 < candidate.counted < candidate.nics:
        yield f"counters known for {candidate.counted:,} of {count(candidate.nics, 'NIC')}"


def _carries(candidate: Candidate) -> str:
    if not candidate.rate:
        return "idle"
    rate = f"{_number(candidate.rate * 8 / 1e6)} Mbit/s"
    if candidate.share is None:
        return f"carries {rate}"
    hosts = "this host's" if candidate.hosts == 1 else f"its {candidate.hosts:,} hosts'"
    return f"carries {_percent(candidate.share)} of {hosts} bytes ({rate})"


def _cured(candidate: Candidate) -> str:
    if not candidate.nics:
        return count(candidate.findings, "problem")
    guests = f" in {count(candidate.guests, 'guest')}" if candidate.guests > 1 else ""
    return f"{count(candidate.nics, 'NIC')}{guests}"


def gain_words(estimate: GainEstimate) -> str:
    """``measured: +212 % bandwidth of bulk (median of 4 measurements, +180 to +250 %)``."""
    number, spread = estimate.measurements, "no spread known"
    if estimate.low is not None and estimate.high is not None:
        spread = f"{estimate.low:+,.0f} to {estimate.high:+,.0f} %"
        spread = f"95 % interval {spread}" if number == 1 else spread
    amount = f"{'median of ' if number > 1 else ''}{count(number, 'measurement')}"
    metric = f"{estimate.metric} of {estimate.workload}"
    return f"measured: {estimate.percent:+,.0f} % {metric} ({amount}, {spread})"


def _number(value: float) -> str:
    """Integers from 10 on, else one decimal; ``under 0.1`` below that."""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.1 else "under 0.1"


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{share * 100:.0f} %"


# Readings and measurements -> the changes to make first.


PLAN = (
    "`vnicaudit plan -i INVENTORY -o plan.json` plans these changes of libvirt's guests, and "
    "`vnicaudit apply plan.json` makes them"
)
_STAND_OUT = 3
"""Places of one change that are named beside it."""
NO_TRAFFIC = "traffic is unknown; `audit -i INVENTORY --traffic` measures it on QEMU hosts"


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
        traffic=_measured_traffic(one),
        estimate=estimate,
        fix=by_plan(one.first, "vnicaudit plan -i"),
        reason=reason(one, elsewhere, estimate),
    )


def _measured_traffic(one: Candidate) -> MeasuredTraffic | None:
    if not one.counted:
        return None
    return MeasuredTraffic(
        nics=one.counted,
        bytes_per_second=one.rate,
        share=one.share,
        drops_per_second=one.drops,
        errors_per_second=one.errors,
    )
