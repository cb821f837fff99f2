"""Statistics of small samples, exact as long as that is cheap; standard library only.

Nothing here assumes a shape of the noise. Measurements of a network are skewed (a bad run is always
slower) and have ties (a filled line), so ranks are used: Mann and Whitney, "On a test of whether
one of two random variables is stochastically larger than the other", Annals of Mathematical
Statistics 18 (1947).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import NamedTuple, TypeVar

Key = TypeVar("Key")

_ROUNDING = 1 + 1e-12
"""Tolerance for the last digits of a probability that is compared with a level."""

_MOST_PAIRS = 2500
"""Pairs of a value of one arm and one of the other up to which tests are exact: 50 against 50. That
takes 0.05 s and 5 MB; 200 against 200 would take minutes and almost 1 GB."""

_LEAST_TAIL = 1e-300


class Interval(NamedTuple):
    """An interval, closed at both ends."""

    low: float
    high: float


def median(values: Sequence[float]) -> float:
    """The middle one, or the middle of the middle two."""
    ordered, half = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[half]
    return middle(ordered[half - 1], ordered[half])


def middle(low: float, high: float) -> float:
    """The mean of both numbers, without overflow."""
    return low if low == high else low / 2 + high / 2


def median_interval(values: Sequence[float]) -> Interval | None:
    """The interval that misses the median with a probability of at most 0.05, from order
    statistics (an inverted sign test); None if there are too few values for one."""
    n, tail, rank = len(values), 0, 0
    while rank <= n and 2 * (tail + math.comb(n, rank)) <= 0.05 * 2**n * _ROUNDING:
        tail += math.comb(n, rank)
        rank += 1
    ordered = sorted(values)
    return Interval(ordered[rank - 1], ordered[n - rank]) if rank else None


def variation(values: Sequence[float]) -> float | None:
    """Standard deviation / mean; None if it is meaningless: one value, or a mean of 0."""
    largest = max((abs(value) for value in values), default=0.0)
    if len(values) < 2 or not largest:
        return None
    parts = [value / largest for value in values]
    mean = math.fsum(parts) / len(parts)
    if mean <= 0:
        return None
    squares = math.fsum((part - mean) ** 2 for part in parts)
    return math.sqrt(squares / (len(parts) - 1)) / mean


def is_exact(n: int, m: int) -> bool:
    """True if a test of ``n`` values against ``m`` is exact, and not by the normal distribution."""
    return n * m <= _MOST_PAIRS


def mann_whitney(before: Sequence[float], after: Sequence[float]) -> float:
    """Two-sided p: how often chance alone, assigning these values to the arms, gives rank sums at
    least as uneven as these. Tied values have the mean of their ranks; if the test is ``exact``,
    the distribution is that of the tied ranks, so it is exact for them too. 1 if an arm is
    empty."""
    if not before or not after:
        return 1.0
    few, many = sorted((before, after), key=len)
    ranks = doubled_ranks([*few, *many])
    if is_exact(len(few), len(many)):
        return _by_counting(ranks, len(few))
    return _by_normal(ranks, len(few))


def _by_counting(ranks: Sequence[int], n: int) -> float:
    """p of the first ``n`` of these doubled ranks against the others."""
    seen = sum(ranks[:n])
    at_most = rank_sums(tuple(sorted(ranks)), n)
    below = at_most[seen]
    above = at_most[-1] - (at_most[seen - 1] if seen else 0)
    return min(1.0, 2 * min(below, above) / at_most[-1])


def _by_normal(ranks: Sequence[int], n: int) -> float:
    """Return the p-value by the normal distribution, corrected for ties and for continuity:
    Lehmann, "Nonparametrics: Statistical Methods Based on Ranks" (1975), sections 1.3 and 1.4."""
    m = len(ranks) - n
    distance = abs(sum(ranks[:n]) - n * (len(ranks) - 1)) / 2
    spread = _spread(n, m, Counter(ranks).values())
    if not spread:
        return 1.0
    return min(1.0, math.erfc((distance - 0.5) / spread / math.sqrt(2)))


def _spread(n: int, m: int, ties: Iterable[int] = ()) -> float:
    """Standard deviation of U if the arms do not differ. ``ties``: how many values share each
    value."""
    total = n + m
    lost = sum(tie**3 - tie for tie in ties) / (total * (total - 1))
    return math.sqrt(n * m / 12 * (total + 1 - lost))


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each, from 0; equal values share the mean of their ranks, so doubling makes
    it whole."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, begin = [0] * len(values), 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for place in order[begin:end]:
            ranks[place] = begin + end - 1
        begin = end
    return ranks


@lru_cache(maxsize=8)
def rank_sums(ranks: tuple[int, ...], n: int) -> tuple[int, ...]:
    """For i from 0, the number of choices of ``n`` of these ranks with a sum of at most i.

    The counting recursion of Mann and Whitney, over ranks instead of places, so that ranks may be
    equal. All counts of one recursion step are stored side by side in one whole number. Only used
    if the test is ``exact``, since the time rises with the fifth power of the number of ranks.
    """
    width = (math.comb(len(ranks), n).bit_length() + 7) // 8
    packed = [1] + [0] * n
    for taken, rank in enumerate(ranks, start=1):
        for size in range(min(n, taken), 0, -1):
            packed[size] += packed[size - 1] << (8 * width * rank)
    length = sum(sorted(ranks)[len(ranks) - n :]) + 1
    text = packed[n].to_bytes(length * width, "little")
    counts = (int.from_bytes(text[at : at + width], "little") for at in range(0, len(text), width))
    return tuple(accumulate(counts))


def smallest_p(n: int, m: int) -> float:
    """The smallest p that is possible with that many values per arm: 0.1 for 3 and 3, 0.0079 for 5
    and 5."""
    return min(1.0, 2 / math.comb(n + m, n))


@lru_cache(maxsize=256)
def critical_rank(n: int, m: int, level: float) -> int:
    """One plus the number of ordered differences between the arms to leave out at each end, for an
    interval that misses the shift with a probability of at most ``level``; 0: there is none."""
    if not is_exact(n, m):
        tail = NormalDist().inv_cdf(max(level / 2, _LEAST_TAIL)) * _spread(n, m)
        return max(0, math.floor(n * m / 2 + 0.5 + tail))
    at_most = rank_sums(tuple(range(n + m)), min(n, m))
    least, total = min(n, m) * (min(n, m) - 1) // 2, at_most[-1]
    rank = 0
    while rank < n * m and 2 * at_most[least + rank] <= level * total * _ROUNDING:
        rank += 1
    return rank


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """p adjusted for their number: Holm, "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6 (1979)."""
    adjusted, least = {}, 0.0
    for place, (key, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, (len(p_values) - place) * p))
        adjusted[key] = least
    return {key: adjusted[key] for key in p_values}


def simes(p_values: Sequence[float]) -> float:
    """p of no difference in any of these comparisons, which may depend on one another as metrics of
    the same runs do: Simes, Biometrika 73 (1986); 1 if there is none."""
    ordered = sorted(p_values)
    return min((len(ordered) * p / place for place, p in enumerate(ordered, 1)), default=1.0)
