"""Matches items that look alike between a state before and a state after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
U = TypeVar("U")


def grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Values by key, in their original order."""
    groups: dict[K, list[V]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return groups


def matched(
    old: Sequence[tuple[Hashable, T]], new: Sequence[tuple[Hashable, U]]
) -> Iterator[tuple[T | None, U | None]]:
    """Pair items, each given with its state: first those with equal states, then the others in
    order; None if one side has fewer. The work grows linearly with their number."""
    if not (old and new):
        yield from zip_longest((one for _state, one in old), (one for _state, one in new))
        return
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in reversed(range(len(old))):
        waiting[old[place][0]].append(place)
    others = []
    for state, after in new:
        if same := waiting.get(state):
            yield old[same.pop()][1], after
        else:
            others.append(after)
    left = sorted(place for some in waiting.values() for place in some)
    yield from zip_longest((old[place][1] for place in left), others)
