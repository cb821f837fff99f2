"""Turns: the target is switched to an arm, has some runs, and is switched to the other arm.

An arm that looks broken is left at once: only the other one, measured right then, can show if the
change is to blame, and the guest must not stay in the broken one meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from vnicaudit.bench.judging.order import Slot, turns
from vnicaudit.bench.judging.stopping import NextRun
from vnicaudit.bench.running.measuring import MeasurementTerms, Measuring

Visit = tuple[str, list[Slot]]
"""An arm, and its runs between two changes."""


def visits_of(task: MeasurementTerms) -> list[Visit]:
    """All visits of a measurement, in order."""
    terms, names = task.terms, [workload.id for workload in task.profile.workloads]
    slots = turns(task.arms, names, terms.looks[-1], task.seed, terms.runs_per_turn)
    groups = groupby(slots, key=lambda slot: (slot.arm, slot.block // terms.runs_per_turn))
    return [(arm, list(group)) for (arm, _turn), group in groups]


def take_turns(
    measuring: Measuring, visits: Sequence[Visit], visit: Callable[[str, list[Slot]], NextRun]
) -> None:
    """Make all visits, or as many as are needed. ``visit``: makes one."""
    left = list(visits)
    while left:
        (arm, slots), *left = left
        step = visit(arm, slots)
        if step.action == "stop":
            return
        if step.action == "away":
            last = measuring.samples[-1]
            at = [(slot.block, slot.workload) for slot in slots].index((last.block, last.workload))
            left = others_first(arm, slots[at + 1 :], left)


def others_first(arm: str, rest: list[Slot], visits: Sequence[Visit]) -> list[Visit]:
    """The remaining visits after one of ``arm`` was cut short: the next one of the other arm first,
    then the ``rest`` of this one. Without another arm, all as they were."""
    mine = [(arm, rest)] if rest else []
    at = next((place for place, (other, _slots) in enumerate(visits) if other != arm), None)
    if at is None:
        return [*mine, *visits]
    return [visits[at], *mine, *visits[:at], *visits[at + 1 :]]
