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

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.effect import TURNS, is_share, is_usable
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.judging.verdict import amount
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.model.measurement import Design, Sample, Witness, Workload

_SHARE = 0.5
"""Share of the median before."""

_VISITS = TURNS | {"single-flip"}
"""Designs in which a change lies between the runs of one arm and those of the other."""

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


class BadRow(NamedTuple):
    """Runs after the change that followed each other and were all bad. ``known``: runs before that
    give the usual value; ``among``, ``since``: runs before the change that were measured between
    the bad ones, and after the last of them; ``least``: the lowest value before, whenever it was
    measured."""

    workload: str
    metric: Metric
    known: tuple[Sample, ...]
    bad: tuple[Sample, ...]
    among: tuple[Sample, ...]
    since: tuple[Sample, ...]
    least: float
    open: bool

    @property
    def usual(self) -> float:
        """The median before."""
        return median(self.values(self.known))

    def values(self, runs: Sequence[Sample]) -> list[float]:
        """Values of this metric."""
        return [each.values[self.metric.name] for each in runs]

    @property
    def refuted(self) -> bool:
        """True if the state before, measured meanwhile, was hardly better: the change is not to
        blame."""
        worst = max(self.values(self.bad))
        bound = max(_SHARE * self.usual, worst / _SHARE)
        return any(value < bound for value in self.values((*self.among, *self.since)))

    def is_certain(self, design: Design) -> bool:
        """True if it is a catastrophe, and a witness shows that the change is to blame."""
        if len(self.bad) < _IN_A_ROW or max(self.values(self.bad)) >= self.least or self.refuted:
            return False
        return design == "single-flip" or bool(self.among)


def catastrophe(samples: Sequence[Sample], question: Question) -> tuple[str, ...]:
    """Reasons, one for each metric that certainly fell below half of its median before; empty:
    none."""
    return tuple(_certain_words(row, question.after) for row in _certain(samples, question))


def fallen_metrics(samples: Sequence[Sample], question: Question) -> frozenset[tuple[str, str]]:
    """Workload and metric of each :func:`catastrophe`."""
    return frozenset((row.workload, row.metric.name) for row in _certain(samples, question))


def unproven_falls(samples: Sequence[Sample], question: Question) -> tuple[str, ...]:
    """Why an apparent catastrophe does not count as one, a sentence for each metric."""
    certain = fallen_metrics(samples, question)
    found = {
        (row.workload, row.metric.name): _unproven_words(row, question)
        for row in _rows(samples, question)
        if len(row.bad) >= _IN_A_ROW or (row.refuted and len(row.bad) > 1)
    }
    return tuple(words for key, words in found.items() if key not in certain)


def check_wanted(samples: Sequence[Sample], question: Question) -> Check | None:
    """The run that is needed now for certainty, if the last run was bad or is a witness of a bad
    one."""
    last = samples[-1]
    if not last.valid:
        return None
    mine = [one for one in question.workloads if one.id == last.workload]
    for row in _rows(samples, question._replace(workloads=mine)):
        if row.open and not row.refuted and (check := _check(row, last, question.design)):
            return check
    return None


def _check(row: BadRow, last: Sample, design: Design) -> Check | None:
    if last is not row.bad[-1]:
        return "after" if design not in _VISITS and row.since and last is row.since[-1] else None
    if design not in _VISITS:
        return "before"
    if len(row.bad) < _IN_A_ROW:
        return "same"
    due = design in TURNS and len(row.bad) == _IN_A_ROW and not row.among
    return "away" if due else None


def _certain(samples: Sequence[Sample], question: Question) -> Iterator[BadRow]:
    """The first certain row of each metric."""
    known = set()
    for row in _rows(samples, question):
        key = row.workload, row.metric.name
        if key not in known and row.is_certain(question.design):
            known.add(key)
            yield row


def _rows(samples: Sequence[Sample], question: Question) -> Iterator[BadRow]:
    """All rows of bad runs, for primary metrics of which higher values are better."""
    arms = question.before, question.after
    runs: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.valid and sample.arm in arms:
            runs[sample.workload].append(sample)
    for workload in question.workloads:
        metrics = [METRICS[name] for name in workload.decides if name in METRICS]
        for metric in metrics if workload.primary else ():
            if metric.better == "higher" and not is_share(metric):
                measured = [each for each in runs[workload.id] if _has(each, metric.name)]
                yield from _rows_of(workload.id, metric, measured, question.before)


def _has(sample: Sample, metric: str) -> bool:
    value = sample.values.get(metric)
    return value is not None and is_usable(value)


def _rows_of(
    workload: str, metric: Metric, runs: Sequence[Sample], before_arm: str
) -> Iterator[BadRow]:
    """Rows in the order of measurement. A run is bad by what was known before its row began; the
    first two runs before the change are always known, whenever they were made."""
    name = metric.name
    before = [each for each in runs if each.arm == before_arm]
    if len(before) < KNOWN:
        return
    least = min(each.values[name] for each in before)
    seen, known = 0, 0
    bad: list[Sample] = []
    among: list[Sample] = []
    since: list[Sample] = []

    def row(*, open_: bool) -> BadRow:
        return BadRow(
            workload, metric, tuple(before[:known]), tuple(bad), tuple(among), tuple(since), least,
            open_,
        )  # fmt: skip

    for each in runs:
        if each.arm == before_arm:
            seen += 1
            if bad:
                since.append(each)
            continue
        if not bad:
            known = max(KNOWN, seen)
        if each.values[name] < _least([one.values[name] for one in before[:known]]):
            among += since
            since.clear()
            bad.append(each)
        elif bad:
            yield row(open_=False)
            bad, among, since = [], [], []
    if bad:
        yield row(open_=True)


def _least(values: Sequence[float]) -> float:
    """The value below which a run is bad."""
    return min(_SHARE * median(values), *values)


def _certain_words(row: BadRow, arm: str) -> str:
    unit = row.metric.unit
    *first, last = (amount(value, unit) for value in row.values(row.bad[:_IN_A_ROW]))
    words = (
        f"{row.workload}, {row.metric.name}: {arm} {', '.join(first)} and {last}, "
        f"three times in a row less than half of the {amount(row.usual, unit)} before, and "
        "less than any run before"
    )
    if not row.among:
        return words
    return f"{words}; before, measured again in between, had {_amounts(row, row.among)}"


def _unproven_words(row: BadRow, question: Question) -> str:
    unit = row.metric.unit
    words = (
        f"{row.workload}, {row.metric.name}: {question.after} {_amounts(row, row.bad)}, less than "
        f"half of the {amount(row.usual, unit)} before, but it is not certain that the change did "
        "it: "
    )
    if row.among or row.since:
        meanwhile = _amounts(row, (*row.among, *row.since))
        return (
            f"{words}{question.before}, measured again in between, had {meanwhile}. Measure again "
            "when both ends and their hosts are idle"
        )
    return f"{words}{question.before} was not measured again since. More turns would decide it"


def _amounts(row: BadRow, runs: Sequence[Sample]) -> str:
    values = [amount(value, row.metric.unit) for value in row.values(runs)]
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"


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
