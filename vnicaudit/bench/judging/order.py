"""The order of the runs: randomised blocks.

A network drifts: neighbours wake up, CPUs get warm. With all runs before the change first and all
after it last, a drift of 5 % looks like a regression in a third of all comparisons. In a block
every arm runs once, in random order, so that drift affects all of them alike. In every second block
it is the reverse of the order before: a neighbour that comes with every second run then slows both
arms alike. Without that it makes a difference between them in a fifth of all measurements of eleven
workloads.

If a change is expensive (a boot, a hot swap), an arm has its turn, with some runs in it, and then
the other arm has. Two blocks are a pair, the second in the reverse order of the first: before,
after, after, before. So drift affects both arms alike, and so does anything that recurs with every
second turn. The very first turn is the first arm's, since the usual value must be known before
anything is changed; in every later pair chance decides which arm begins. If an arm has two turns in
a row, the caller has to change away and back in between, or two boots would be one and the same.

The order comes from a seed that is stored with the result. Python promises the same sequence of
``random()`` for a seed in every version (library reference, "Notes on Reproducibility"), but not of
``shuffle``, so only ``random()`` is used.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Slot(NamedTuple):
    """One run to be made. ``block``, ``order``: from 0."""

    block: int
    order: int
    arm: str
    workload: str


def blocks(
    arms: Sequence[str],
    workloads: Sequence[str],
    n: int,
    seed: int,
) -> tuple[Slot, ...]:
    """``n`` blocks; in each, every workload in every arm once, the arms of a workload one after the
    other. Fewer blocks of the same seed are the beginning of more."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    slots: list[Slot] = []
    orders: dict[str, list[str]] = {}
    for block in range(n):
        for workload in shuffled(workloads, source):
            order = orders[workload][::-1] if block % 2 else shuffled(arms, source)
            orders[workload] = order
            slots += [Slot(block, len(slots) + at, arm, workload) for at, arm in enumerate(order)]
    return tuple(slots)


def turns(
    arms: Sequence[str], workloads: Sequence[str], n: int, seed: int, runs: int = 1
) -> tuple[Slot, ...]:
    """``n`` turns of each arm, balanced; in each, every workload ``runs`` times, which are that
    many blocks: block // ``runs`` is the turn. Fewer turns of the same seed are the beginning of
    more."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    slots: list[Slot] = []
    order = list(arms)
    for turn in range(n):
        if turn:
            order = order[::-1] if turn % 2 else shuffled(arms, source)
        for arm in order:
            for block in range(turn * runs, (turn + 1) * runs):
                for workload in shuffled(workloads, source):
                    slots.append(Slot(block, len(slots), arm, workload))
    return tuple(slots)


def one_by_one(
    arms: Sequence[str], workloads: Sequence[str], n: int, seed: int
) -> tuple[Slot, ...]:
    """All runs of the first arm, then all of the next: a single flip. The workloads of each round
    are still in random order."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    rounds = [(arm, block) for arm in arms for block in range(n)]
    runs = [(arm, block, each) for arm, block in rounds for each in shuffled(workloads, source)]
    return tuple(Slot(block, order, arm, each) for order, (arm, block, each) in enumerate(runs))


def shuffled(items: Sequence[T], source: random.Random) -> list[T]:
    """The items in random order, every order equally likely (Fisher and Yates)."""
    left = list(items)
    for last in range(len(left) - 1, 0, -1):
        chosen = int(source.random() * (last + 1))
        left[last], left[chosen] = left[chosen], left[last]
    return left
