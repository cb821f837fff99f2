"""Runs so bad that no statistics are needed.

A change that leaves a guest with a tenth of its network must not wait for its tenth run: one run
under half of the usual value is measured again at once, and if three in a row are as bad, that may
be enough. All three must also be worse than any run before: if other work halves a run now and
then, the change is not to blame. Two in a row would not do: if one run in twenty is that bad,
chance makes such a pair in a quarter of all measurements of nine workloads, and three in a row in
two of a hundred. Only throughput and rates count: a tail of latency doubles by chance.

Three bad runs show that something fell, but not why. A neighbour that wakes up between two runs
makes as many, and no guard need know of a run that was starved: limits may be set wide, and a
generator that uses all CPUs waits just as long without a neighbour. So there must be a witness from
the same minutes, if the arms are mixed or take turns: the state before, measured again among the
bad runs, as usual, and twice as good as each of them. With a single flip that state is gone: three
bad runs in a row are enough, since a change that is undone in vain harms nobody.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.effect import TURNS, is_usable
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS, Metric, quantity
from vnicaudit.model.measurement import Design, Sample, Witness, Workload

_SHARE = 0.5
"""Share of the median before."""
_IN_A_ROW = 3
"""Number of bad runs after the change that must follow each other."""
KNOWN = 2
"""Minimum number of runs before the change, to know the usual value."""

Check = Literal["same", "before", "after", "away"]
"""The run that would show if a change is to blame: once more in the same arm, in the arm before or
in the one after, at once; ``away``: in the arm before, which takes a change."""


class Question(NamedTuple):
    """The workloads and arms to compare."""

    workloads: Sequence[Workload]
    before: str
    after: str
    design: Design


class Fall(NamedTuple):
    """One metric of the last runs after the change, if they are ``bad``: less than half of the
    ``usual`` value, the median before, and less than any run before. ``among``, ``since``: runs
    before the change that were measured between the bad ones, and after the last of them."""

    workload: str
    metric: Metric
    usual: float
    bad: Sequence[Sample]
    among: Sequence[Sample]
    since: Sequence[Sample]

    def values(self, runs: Sequence[Sample]) -> list[float]:
        """Values of this metric."""
        return [each.values[self.metric.name] for each in runs]

    @property
    def refuted(self) -> bool:
        """True if the state before, measured meanwhile, was hardly better: the change is not to
        blame."""
        bound = max(_SHARE * self.usual, max(self.values(self.bad)) / _SHARE)
        return any(value < bound for value in self.values([*self.among, *self.since]))

    def is_certain(self, design: Design) -> bool:
        """True if it is a catastrophe, and a witness shows that the change is to blame."""
        witnessed = bool(self.among) or design == "single-flip"
        return len(self.bad) >= _IN_A_ROW and witnessed and not self.refuted


def _falls(samples: Sequence[Sample], question: Question) -> Iterator[Fall]:
    """The falls of primary metrics of which higher values are better."""
    arms = question.before, question.after
    runs: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.valid and sample.arm in arms:
            runs[sample.workload].append(sample)
    for workload in question.workloads:
        for name in workload.decides if workload.primary else ():
            if name in METRICS and METRICS[name].better == "higher":
                measured = [
                    each for each in runs[workload.id] if is_usable(each.values.get(name, math.nan))
                ]
                yield from _fall(workload.id, METRICS[name], measured, question.before)


def _fall(workload: str, metric: Metric, runs: Sequence[Sample], before: str) -> Iterator[Fall]:
    """The fall in these runs, in the order of measurement; none: the last one is not bad."""
    known = [each.values[metric.name] for each in runs if each.arm == before]
    if len(known) < KNOWN:
        return
    usual = median(known)
    bad: list[Sample] = []
    among: list[Sample] = []
    since: list[Sample] = []
    for each in runs:
        if each.arm == before:
            since += [each] if bad else []
        elif each.values[metric.name] < min(_SHARE * usual, *known):
            among, since = among + since, []
            bad.append(each)
        else:
            bad, among, since = [], [], []
    if bad:
        yield Fall(workload, metric, usual, bad, among, since)


def catastrophes(samples: Sequence[Sample], question: Question) -> dict[tuple[str, str], str]:
    """Workload and metric -> the reason, for each metric that certainly fell."""
    return {
        (fall.workload, fall.metric.name): _certain_words(fall, question.after)
        for fall in _falls(samples, question)
        if fall.is_certain(question.design)
    }


def certain_harm(samples: Sequence[Sample], question: Question) -> tuple[str, ...]:
    """The reasons of :func:`catastrophes` and of :func:`silence`."""
    found = (catastrophes(samples, question), silence(samples, question))
    return tuple(reason for reasons in found for reason in reasons.values())


def unproven_falls(samples: Sequence[Sample], question: Question) -> tuple[str, ...]:
    """Why an apparent catastrophe does not count as one, a sentence for each metric."""
    return tuple(
        _unproven_words(fall, question)
        for fall in _falls(samples, question)
        if not fall.is_certain(question.design)
        and (len(fall.bad) >= _IN_A_ROW or (fall.refuted and len(fall.bad) > 1))
    )


def check_wanted(samples: Sequence[Sample], question: Question) -> Check | None:
    """The run that is needed now for certainty, if the last run was bad or is a witness of a bad
    one."""
    last = samples[-1]
    mine = [one for one in question.workloads if one.id == last.workload]
    for fall in _falls(samples, question._replace(workloads=mine)):
        if not fall.refuted and (check := _check(fall, last, question.design)):
            return check
    return None


def _check(fall: Fall, last: Sample, design: Design) -> Check | None:
    in_visits = design in TURNS or design == "single-flip"  # a change lies between the arms
    if last is not fall.bad[-1]:
        is_witness = bool(fall.since) and last is fall.since[-1]
        return "after" if is_witness and not in_visits else None
    if not in_visits:
        return "before"
    if len(fall.bad) < _IN_A_ROW:
        return "same"
    due = design in TURNS and len(fall.bad) == _IN_A_ROW and not fall.among
    return "away" if due else None


def _certain_words(fall: Fall, arm: str) -> str:
    words = (
        f"{fall.workload}, {fall.metric.name}: {arm} {_amounts(fall, fall.bad[:_IN_A_ROW])}, "
        f"three times in a row less than half of the {quantity(fall.usual, fall.metric.name)} "
        "before, and less than any run before"
    )
    if not fall.among:
        return words
    return f"{words}; before, measured again in between, had {_amounts(fall, fall.among)}"


def _unproven_words(fall: Fall, question: Question) -> str:
    words = (
        f"{fall.workload}, {fall.metric.name}: {question.after} {_amounts(fall, fall.bad)}, less "
        f"than half of the {quantity(fall.usual, fall.metric.name)} before, but it is not certain "
        f"that the change did it: {question.before}"
    )
    meanwhile = [*fall.among, *fall.since]
    if not meanwhile:
        return f"{words} was not measured again since. More turns would decide it"
    return (
        f"{words}, measured again in between, had {_amounts(fall, meanwhile)}. Measure again when "
        "both ends and their hosts are idle"
    )


def _amounts(fall: Fall, runs: Sequence[Sample]) -> str:
    *first, last = (quantity(value, fall.metric.name) for value in fall.values(runs))
    return f"{', '.join(first)} and {last}" if first else last


# Failed runs: arms without any result, and the words for missing measurements.
#
# Workloads of which nothing gets through any more after a change.


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


def silence(samples: Sequence[Sample], question: Question) -> dict[str, str]:
    """Workload -> the reason, for each primary workload of which nothing got through in two
    consecutive runs after the change, each confirmed by a second witness; at least two runs before
    the change were measured, none of them was silent, and the same witness observed traffic then.

    A run that did not start, or was lost, is not silent: it says nothing about the network.
    """
    before_arm, after_arm = question.before, question.after
    telling = telling_witnesses(samples, before_arm)
    runs: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples if telling else ():
        runs[sample.workload, sample.arm].append(sample)
    found = {}
    for workload in question.workloads:
        before = runs[workload.id, before_arm]
        was_silent = any(sample.failure == "silent" for sample in before)
        was_measured = sum(sample.valid for sample in before) >= KNOWN and not was_silent
        if workload.primary and was_measured:
            confirmed = [_confirmed(each, telling) for each in runs[workload.id, after_arm]]
            if twice := next(filter(all, pairwise(confirmed)), ()):
                found[workload.id] = (
                    f"{workload.id}: nothing got through in {after_arm} twice in a row, and "
                    f"{' and '.join(dict.fromkeys(twice))} either; in {before_arm} both worked"
                )
    return found


def telling_witnesses(samples: Sequence[Sample], arm: str) -> tuple[WitnessKind, ...]:
    """The witnesses that observed traffic in that arm: if they observe none later, that is new."""
    seen = [each.witness for each in samples if each.arm == arm and each.witness is not None]
    return tuple(kind for kind in WITNESSES if any(map(kind.ask, seen)))


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
