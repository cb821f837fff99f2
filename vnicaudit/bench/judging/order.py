"""The order of the runs: randomised blocks.

A network drifts: neighbours wake up, CPUs get warm. With all runs before and then all after, a
drift of 5 % looks like a regression in a third of all comparisons. In a block every arm runs once,
in random order, so that what drifts hits all of them alike.

Where a change is dear (a boot, a hot swap), every turn from one run of work to the next has to be a
change, or two of them would be one and the same. So no block begins with the arm that the last one
ended with. With two arms that leaves strict alternation, and chance decides which comes first: a
drift hits them alike but for what it does in half of a block; what recurs with every second turn
would not be told from the change.

The order comes from a seed that is stored with the result. Python promises the same sequence of
``random()`` for a seed in every version (library reference, "Notes on Reproducibility"), and for
``shuffle`` it does not, so only ``random()`` is used.
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
    *,
    arm_by_arm: bool = False,
) -> tuple[Slot, ...]:
    """``n`` blocks; in each, every workload in every arm once. Fewer blocks of the same seed are
    the beginning of more.

    The arms of a workload follow one another at once; with ``arm_by_arm``, for changes that are
    dear (a boot), all workloads of an arm do, and then those of another arm.
    """
    source = random.Random(seed)  # noqa: S311, an order is no secret
    made = _turning if arm_by_arm else _mixed
    slots: list[Slot] = []
    for block in range(n):
        last = slots[-1].arm if slots else ""
        for arm, workload in made(arms, workloads, source, last):
            slots.append(Slot(block, len(slots), arm, workload))
    return tuple(slots)


def one_by_one(
    arms: Sequence[str], workloads: Sequence[str], n: int, seed: int
) -> tuple[Slot, ...]:
    """All runs of the first arm, then all of the next: a single flip. The workloads of each round
    are in random order all the same."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    rounds = [(arm, block) for arm in arms for block in range(n)]
    runs = [(arm, block, each) for arm, block in rounds for each in shuffled(workloads, source)]
    return tuple(Slot(block, order, arm, each) for order, (arm, block, each) in enumerate(runs))


def _mixed(
    arms: Sequence[str], workloads: Sequence[str], source: random.Random, _last: str
) -> list[tuple[str, str]]:
    return [
        (arm, workload)
        for workload in shuffled(workloads, source)
        for arm in shuffled(arms, source)
    ]


def _turning(
    arms: Sequence[str], workloads: Sequence[str], source: random.Random, last: str
) -> list[tuple[str, str]]:
    """Every arm a visit; the first is another than the last of the block before."""
    drawn = shuffled(arms, source)
    while len(arms) > 1 and drawn[0] == last:
        drawn = shuffled(arms, source)
    return [(arm, workload) for arm in drawn for workload in shuffled(workloads, source)]


def shuffled(items: Sequence[T], source: random.Random) -> list[T]:
    """In random order, every order alike (Fisher and Yates)."""
    left = list(items)
    for last in range(len(left) - 1, 0, -1):
        chosen = int(source.random() * (last + 1))
        left[last], left[chosen] = left[chosen], left[last]
    return left
