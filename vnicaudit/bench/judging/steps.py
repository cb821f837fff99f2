"""Which step between measured paths loses speed.

A step leads from one path, or from several, to a path with one thing more in it. With several, it
loses only what none of them explains: pods across nodes are slower than pods on one node also
because of the line, which the nodes' own path shows; so both must be faster. If one of them was to
be measured and was not, nothing is known of what it explains, and the step is undecided.

The rows of a step are judged as any comparison of two arms (margin, exact ranks, Holm among the
rows). With several steps, some row of some step differs by chance more often than that: so a step
counts only if its rows together are beyond chance among the steps. Their joint p is that of Simes,
"An improved Bonferroni procedure for multiple tests of significance", Biometrika 73 (1986); that
of the steps is adjusted by Holm's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.statistics import holm, simes
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.terms import fewest_runs as fewest_to_decide
from vnicaudit.bench.judging.verdict import HARMLESS, fewest_runs
from vnicaudit.model.measurement import ArmSummary, Comparison, Path, Sample, Workload

_ABOVE: Mapping[str, Mapping[str, str]] = {
    "host": {},
    "hostnetwork": {"host": "node → pod with hostNetwork"},
    "pod-same": {
        "host": "node → pod on the same node",
        "hostnetwork": "hostNetwork → pod on the same node",
    },
    "pod-cross": {
        "pod-same": "same node → across nodes",
        "hostnetwork": "hostNetwork → pod, across nodes",
        "host": "node → pod, across nodes",
    },
    "vm-same": {"pod-same": "pod → VM, on the same node"},
    "vm-cross": {
        "pod-cross": "pod → VM, across nodes",
        "vm-same": "VM on the same node → across nodes",
        "host": "node → VM, across nodes",
    },
    "nad-": {
        "pod-cross": "default network → attached network",
        "host": "node → attached network, across nodes",
    },
}
"""Path of a cluster -> the paths that it is compared with, if they are among those that are to be
measured, the nearest first, and the name of the step. Those of attached networks begin with
``nad-``."""

_NETWORK = "nad-"

Outcome = Literal["loses", "holds", "undecided", "not-measured"]


class Step(NamedTuple):
    """``uppers``: the paths with one thing less, the nearest first."""

    uppers: tuple[str, ...]
    lower: str


class JudgedStep(NamedTuple):
    """``rows``: each deciding metric, against the path above that explains most of its loss; those
    that count as lost first, the greatest loss first. ``p``: adjusted for the number of steps.
    ``title``: of the step in the first row; empty if nothing is known of it. ``short``: paths of
    the step with too few valid runs of one of its rows, which decides nothing then."""

    step: Step
    outcome: Outcome
    rows: tuple[Comparison, ...]
    p: float = 1.0
    title: str = ""
    short: tuple[str, ...] = ()

    @property
    def lost_rows(self) -> tuple[Comparison, ...]:
        """The rows that lose, if the step does."""
        lost = tuple(row for row in self.rows if row.verdict == "regressed")
        return lost if self.outcome == "loses" else ()


def steps_of(arms: Sequence[str]) -> Iterator[Step]:
    """The steps between these paths. The name of a path of a cluster says what it is compared with,
    in whatever order they are; another one is compared with the path before it."""
    for at, arm in enumerate(arms):
        above = _above(arm)
        before = arms[at - 1 : at] if at else ()
        uppers = before if above is None else [upper for upper in above if upper in arms]
        if uppers:
            yield Step(tuple(uppers), arm)


def runs_needed(arms: Sequence[str], rows: int, alpha: float) -> int:
    """Valid runs of each path from which the loss of one row alone, in one step, can be told from
    chance."""
    return fewest_to_decide(alpha, rows * len(list(steps_of(arms))))


def lone_paths(arms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Paths of a cluster without a step to or from another one -> what they would be compared
    with."""
    within = {arm for step in steps_of(arms) for arm in (*step.uppers, step.lower)}
    return {arm: tuple(above) for arm in arms if arm not in within and (above := _above(arm))}


def _above(arm: str) -> Mapping[str, str] | None:
    """None: not a path of a cluster."""
    return _ABOVE.get(_NETWORK if arm.startswith(_NETWORK) else arm)


def judged_steps(
    samples: Sequence[Sample], workloads: Sequence[Workload], arms: Sequence[str], terms: Terms,
    paths: Sequence[Path] = (),
) -> tuple[JudgedStep, ...]:  # fmt: skip
    """Each step, judged by the runs that count."""
    deciding = [workload for workload in workloads if workload.primary]
    steps = list(steps_of(arms))
    compared = {
        step: _candidates(
            [compare(samples, deciding, upper, step.lower, terms, paths) for upper in step.uppers]
        )
        for step in steps
    }
    joint = {
        step: simes([_p_of_loss(_least_loss(each, terms)) for each in of_it])
        for step, of_it in compared.items()
    }
    adjusted = holm(joint)
    return tuple(_judged_step(step, compared[step], adjusted[step], terms) for step in steps)


_Candidates = list[Comparison]
"""One deciding metric, compared with each of the paths above, the nearest first."""


def _candidates(compared: Sequence[Sequence[Comparison]]) -> list[_Candidates]:
    """``compared``: with each of the paths above."""
    found: dict[tuple[str, str], _Candidates] = {}
    for row in (row for each in compared for row in each if row.primary):
        found.setdefault((row.workload, row.metric), []).append(row)
    return list(found.values())


def _judged_step(step: Step, compared: Sequence[_Candidates], p: float, terms: Terms) -> JudgedStep:
    rows = tuple(sorted((_least_loss(each, terms) for each in compared), key=_by_loss))
    title = (_above(step.lower) or {}).get(rows[0].before_arm, "") if rows else ""
    sides = [
        side
        for row in (row for each in compared for row in each)
        for side in ((row.before_arm, row.before), (row.after_arm, row.after))
    ]
    short = dict.fromkeys(arm for arm, side in sides if _is_short(side, terms))
    return JudgedStep(step, _outcome(compared, rows, p, terms), rows, p, title, tuple(short))


def _is_short(side: ArmSummary | None, terms: Terms) -> bool:
    """True if nothing could be decided with so few valid runs."""
    return side is None or terms.too_few(side.n, terms.looks[0])


def _least_loss(rows: Sequence[Comparison], terms: Terms) -> Comparison:
    """The comparison with the path above that explains most; one that was not measured may explain
    everything."""
    return max(
        rows,
        key=lambda row: (
            _is_short(row.before, terms),
            row.verdict != "regressed",
            _p_of_loss(row),
            _size(row),
        ),
    )


def _by_loss(row: Comparison) -> tuple[bool, bool, float]:
    """Lost ones first; of these throughput before latency, whose per cent have no limit."""
    return row.verdict != "regressed", row.better != "higher", _size(row)


def _size(row: Comparison) -> float:
    return 0.0 if row.effect is None else row.effect.percent


def _p_of_loss(row: Comparison) -> float:
    return 1.0 if row.effect is None or row.effect.percent >= 0 else row.effect.p


def _outcome(
    compared: Sequence[_Candidates], rows: Sequence[Comparison], p: float, terms: Terms
) -> Outcome:
    """``rows``: the one that explains most, of each that was ``compared``."""
    if all(row.before is None or row.after is None for each in compared for row in each):
        return "not-measured"
    if rows[0].verdict == "regressed":
        return "loses" if p <= terms.alpha(fewest_runs(rows[0])) else "undecided"
    return "holds" if all(row.verdict in HARMLESS for row in rows) else "undecided"
