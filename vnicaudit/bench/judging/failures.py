"""Failed runs: arms without any result, and the words for missing measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.bench.judging.silence import PING, WITNESSES, WitnessKind, telling_witnesses
from vnicaudit.model.measurement import Sample, Witness, Workload

DEAD = 6
"""After that many runs in a row without any result, no traffic gets through, or no longer does."""
_FEWEST = 3
"""Minimum number of them in each arm, if every arm is dead."""


class DeadArms(NamedTuple):
    """``names``: arms whose last runs all failed. ``hopeless``: there is no other arm, and every
    further run would only time out."""

    names: tuple[str, ...]
    hopeless: bool


def came_to_nothing(sample: Sample) -> bool:
    """True for a failed run, but not for one that was measured and does not count: that has
    values."""
    return not sample.valid and not sample.values


def dead_arms(samples: Sequence[Sample], arms: Sequence[str]) -> DeadArms:
    """Arms in which nothing gets through any more. Each is counted by itself: which one came first
    in a block is chance."""
    streaks = {arm: _streak(samples, arm) for arm in arms}
    every = min(streaks.values()) >= _FEWEST and sum(streaks.values()) >= DEAD
    return DeadArms(tuple(arm for arm in arms if streaks[arm] >= DEAD), every)


def _streak(samples: Sequence[Sample], arm: str) -> int:
    """Failed runs of an arm since the last one that did not fail."""
    count = 0
    for sample in reversed(samples):
        if sample.arm == arm:
            if not came_to_nothing(sample):
                break
            count += 1
    return count


def failure_words(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> dict[str, str]:
    """Workload -> why it was not measured, for those with failed runs: the failure, how many of how
    many runs in each arm, and what the witness observed."""
    found = {}
    telling = telling_witnesses(samples, before_arm)
    for workload in workloads if before_arm != after_arm else ():
        mine = [each for each in samples if each.workload == workload.id]
        failed = [
            each for each in mine if each.arm in (before_arm, after_arm) and came_to_nothing(each)
        ]
        if failed:
            why = Counter(each.reason for each in failed).most_common(1)[0][0]
            counts = f"{_share(mine, after_arm)}; {_share(mine, before_arm)}"
            seen = "; ".join(_witness_notes(failed, telling))
            found[workload.id] = f"{workload.id}: not measured: {why} ({counts}); {seen}"
    return found


def _share(samples: Sequence[Sample], arm: str) -> str:
    runs = [each for each in samples if each.arm == arm]
    failed = sum(came_to_nothing(each) for each in runs)
    return f"{arm}: {failed} of {len(runs)} runs failed"


def _witness_notes(failed: Sequence[Sample], telling: Sequence[WitnessKind]) -> Iterator[str]:
    """Observations of the witnesses of these failed runs, and their meaning. ``telling``: witnesses
    that observed traffic before the change."""
    silent = any(each.failure == "silent" for each in failed)
    if not silent:
        yield "that says nothing about the network"
    asked = [each.witness for each in failed if each.witness is not None]
    observed = list(_observed(asked, telling, WITNESSES if silent else [PING]))
    if asked and not any(each.answered is not None for each in asked):
        none = "ping shows nothing" if observed else "there is no second observation"
        observed.insert(0, f"{none}: {asked[-1].detail}")
    yield from observed or ["there is no second observation"]


def _observed(
    asked: Sequence[Witness], telling: Sequence[WitnessKind], kinds: Sequence[WitnessKind]
) -> Iterator[str]:
    """The observations, up to the first positive one."""
    for kind in kinds:
        answers = {kind.ask(each) for each in asked}
        if True in answers:
            yield kind.something
            return
        if False in answers:
            before = "" if kind in telling else " (nor before, as far as known)"
            yield kind.nothing + before
