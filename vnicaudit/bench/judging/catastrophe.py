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

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.effect import TURNS, is_share, is_usable
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.judging.verdict import amount
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.model.measurement import Design, Sample, Workload

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
