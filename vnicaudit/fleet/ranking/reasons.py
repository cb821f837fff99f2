"""The line that explains a change's rank: the criteria in their order, as values."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.fleet.ranking.candidates import Candidate
from vnicaudit.model.ranking import GainEstimate

_SAFETY = {"safe": "safe", "unsafe": "needs review", "none": "no change to propose"}


def reason(candidate: Candidate, elsewhere: int, estimate: GainEstimate | None) -> str:
    """``1,204 drops/s; high severity, high confidence; carries 38 % of this host's bytes; safe;
    cures 3 NICs``, without names of guests."""
    return "; ".join(_parts(candidate, elsewhere, estimate))


def _parts(candidate: Candidate, elsewhere: int, estimate: GainEstimate | None) -> Iterator[str]:
    if candidate.drops:
        yield f"{_number(candidate.drops)} drops/s"
    if candidate.errors:
        yield f"{_number(candidate.errors)} errors/s"
    if candidate.off:
        yield _shut_off(candidate)
    yield f"{candidate.severity} severity, {candidate.confidence} confidence"
    yield from _traffic(candidate)
    yield _SAFETY[candidate.key.change.safety]
    if not candidate.reachable:
        yield f"it is unknown how {candidate.key.change.owner} makes changes"
    yield _cured(candidate)
    if elsewhere:
        yield f"the same change in {count(elsewhere, 'more place')}"
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
        return f"clears {count(candidate.findings, 'problem')}"
    guests = f" in {count(candidate.guests, 'guest')}" if candidate.guests > 1 else ""
    return f"cures {count(candidate.nics, 'NIC')}{guests}"


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
