"""Failed runs: arms without any result, and the words for missing measurements.

Workloads of which nothing gets through any more after a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from vnicaudit.bench.judging.catastrophe import KNOWN
from vnicaudit.model.measurement import Sample, Witness, Workload


class WitnessKind(NamedTuple):
    """``ask``: True if it observed traffic, False if it observed none, None if it cannot tell;
    ``something``, ``nothing``: the words for that."""

    ask: Callable[[Witness], bool | None]
    something: str
    nothing: str


PING = WitnessKind(lambda each: each.answered, "ping was answered", "ping was not answered")
WITNESSES = (
    WitnessKind(
        lambda each: each.connected,
        "a TCP connection of vnicaudit's own carried data",
        "a TCP connection of vnicaudit's own carried nothing",
    ),
    WitnessKind(
        lambda each: each.echoed,
        "UDP datagrams of vnicaudit's own came back",
        "no UDP datagram of vnicaudit's own came back",
    ),
    PING,
    WitnessKind(lambda each: each.arp, "ARP was answered", "ARP was not answered"),
    WitnessKind(
        lambda each: each.counted,
        "the target's NIC counted bytes in and out",
        "the target's NIC counted nothing",
    ),
)
"""The most informative one first: a change that breaks checksums or segmentation leaves ping alone.
The first is asked only of runs over TCP, the second of those over UDP."""


def silent_workloads(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Primary workloads of which nothing got through in two consecutive runs after the change, each
    confirmed by a second witness; at least two runs before the change were measured, none of them
    was silent, and the same witness observed traffic then.

    A run that did not start, or was lost, is not silent: it says nothing about the network.
    """
    return tuple(name for name, _seen in _silent(samples, workloads, before_arm, after_arm))


def silence(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> tuple[str, ...]:
    """Reasons, one for each of the :func:`silent_workloads`."""
    return tuple(
        f"{name}: nothing got through in {after_arm} twice in a row, and {seen} either; in "
        f"{before_arm} both worked"
        for name, seen in _silent(samples, workloads, before_arm, after_arm)
    )


def telling_witnesses(samples: Sequence[Sample], arm: str) -> tuple[WitnessKind, ...]:
    """The witnesses that observed traffic in that arm: if they observe none later, that is new."""
    seen = [each.witness for each in samples if each.arm == arm and each.witness is not None]
    return tuple(kind for kind in WITNESSES if any(map(kind.ask, seen)))


def _silent(
    samples: Sequence[Sample], workloads: Sequence[Workload], before_arm: str, after_arm: str
) -> Iterator[tuple[str, str]]:
    """Workload, and the words of its witnesses."""
    telling = telling_witnesses(samples, before_arm)
    if before_arm == after_arm or not telling:
        return
    runs: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        runs[sample.workload, sample.arm].append(sample)
    for workload in workloads:
        if workload.primary and _was_measured(runs[workload.id, before_arm]):
            confirmed = [_confirmed(each, telling) for each in runs[workload.id, after_arm]]
            twice = next(filter(all, pairwise(confirmed)), ())
            if twice:
                yield workload.id, " and ".join(dict.fromkeys(twice))


def _was_measured(before: Sequence[Sample]) -> bool:
    """True if there are enough valid runs, and none was silent."""
    silent = any(sample.failure == "silent" for sample in before)
    return sum(sample.valid for sample in before) >= KNOWN and not silent


def _confirmed(sample: Sample, telling: Sequence[WitnessKind]) -> str:
    """The words of the first witness that can tell, if nothing got through and it observed none
    either; empty: the run was not silent."""
    if sample.failure != "silent" or sample.witness is None:
        return ""
    for kind in WITNESSES:
        seen = kind.ask(sample.witness)
        if seen:
            return ""
        if seen is False and kind in telling:
            return kind.nothing
    return ""


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
