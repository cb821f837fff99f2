"""The order of candidates.

It is lexicographic, not a weighted sum: the first criterion that differs decides, and each can be
read in the line that explains the rank. 1. packets lost per second (drops and errors), 2. whether a
guest is running, 3. severity, 4. confidence, 5. bytes per second, 6. share of the host's bytes, 7.
safety, 8. whether the owner can be reached, 9. NICs fixed, 10. findings fixed; then names. Criteria
1, 5 and 6 are compared in steps, so that small differences leave the decision to later criteria;
unknown traffic counts as none.
"""

from __future__ import annotations

from math import floor, log10

from vnicaudit.fleet.ranking.candidates import Candidate, CandidateKey

_QUIET = 125_000.0
"""Bytes per second (1 Mbit/s) below which the rate is ignored."""
_SHARES = (0.01, 0.1, 0.25, 0.5)
_SAFETY = {"safe": 2, "unsafe": 1, "none": 0}

Order = tuple[tuple[int, ...], CandidateKey]


def order_of(candidate: Candidate) -> Order:
    """Sort key: what to do first comes first."""
    lost, *traffic = _traffic_steps(candidate) if candidate.sums else _NO_TRAFFIC
    criteria = (
        lost,
        not candidate.is_off,
        *candidate.grade,
        *traffic,
        _SAFETY[candidate.key.change.safety],
        int(candidate.reachable),
        candidate.nics,
        candidate.findings,
    )
    return tuple(-one for one in criteria), candidate.key


_NO_TRAFFIC = (0, 0, 0)


def _traffic_steps(candidate: Candidate) -> tuple[int, int, int]:
    """Steps for packets lost, bytes, and the share of the host's bytes."""
    rate = _rate_step(candidate.rate)
    return _loss_step(candidate.packets_lost), rate, _share_step(candidate.share) if rate else 0


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
