"""Which step between measured paths loses speed.

A step leads from one path, or from several, to a path with one thing more in it. With several, it
loses only what none of them explains: pods across nodes are slower than pods on one node also
because of the line, which the nodes' own path shows; so both must be faster.

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
from vnicaudit.bench.judging.verdict import HARMLESS, fewest_runs
from vnicaudit.model.measurement import Comparison, Path, Sample, Workload

_ABOVE: Mapping[str, Mapping[str, str]] = {
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
    },
    "nad": {"pod-cross": "default network → attached network"},
}
"""Path of a cluster -> the paths that it is compared with, if they are measured, and the name of
the step. Those of attached networks begin with ``nad``."""

Outcome = Literal["loses", "holds", "undecided", "not-measured"]


class Step(NamedTuple):
    """``uppers``: the paths with one thing less, the nearest first."""

    uppers: tuple[str, ...]
    lower: str


class JudgedStep(NamedTuple):
    """``rows``: each deciding metric, against the path above that explains most of its loss; those
    that count as lost first, the greatest loss first. ``p``: adjusted for the number of steps.
    ``title``: of the step from the nearest path above that was measured; empty if nothing is known
    of it."""

    step: Step
    outcome: Outcome
    rows: tuple[Comparison, ...]
    p: float = 1.0
    title: str = ""

    @property
    def lost_rows(self) -> tuple[Comparison, ...]:
        """The rows that lose, if the step does."""
        lost = tuple(row for row in self.rows if row.verdict == "regressed")
        return lost if self.outcome == "loses" else ()


def steps_of(arms: Sequence[str]) -> Iterator[Step]:
    """The steps between these paths; one whose name says nothing is compared with the one named
    before it."""
    for at, arm in enumerate(arms):
        above = _above(arm)
        uppers = tuple(upper for upper in above if upper in arms)
        if uppers:
            yield Step(uppers, arm)
        elif at and arm not in _above(arms[at - 1]):
            yield Step((arms[at - 1],), arm)


def _above(arm: str) -> Mapping[str, str]:
    return _ABOVE.get("nad" if arm.startswith("nad") else arm, {})


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
        step: simes([_p_of_loss(_least_loss(each)) for each in of_it])
        for step, of_it in compared.items()
    }
    adjusted = holm(joint)
    return tuple(_judged_step(step, compared[step], adjusted[step], terms) for step in steps)


_Candidates = list[Comparison]
"""One deciding metric, compared with each of the paths above, the nearest first."""


def _candidates(compared: Sequence[Sequence[Comparison]]) -> list[_Candidates]:
    """``compared``: with each of the paths above. What was not measured there explains nothing."""
    found: dict[tuple[str, str], _Candidates] = {}
    for row in (row for each in compared for row in each if row.primary):
        found.setdefault((row.workload, row.metric), []).append(row)
    return [[row for row in each if row.before is not None] or each[:1] for each in found.values()]


def _judged_step(step: Step, compared: Sequence[_Candidates], p: float, terms: Terms) -> JudgedStep:
    found = sorted(compared, key=lambda each: _by_loss(_least_loss(each)))
    rows = tuple(map(_least_loss, found))
    title = _above(step.lower).get(found[0][0].before_arm, "") if found else ""
    return JudgedStep(step, _outcome(rows, p, terms), rows, p, title)


def _least_loss(rows: Sequence[Comparison]) -> Comparison:
    """The comparison with the path above that explains most."""
    return max(rows, key=lambda row: (row.verdict != "regressed", _p_of_loss(row), _size(row)))


def _by_loss(row: Comparison) -> tuple[bool, bool, float]:
    """Lost ones first; of these throughput before latency, whose per cent have no limit."""
    return row.verdict != "regressed", row.better != "higher", _size(row)


def _size(row: Comparison) -> float:
    return 0.0 if row.effect is None else row.effect.percent


def _p_of_loss(row: Comparison) -> float:
    return 1.0 if row.effect is None or row.effect.percent >= 0 else row.effect.p


def _outcome(rows: Sequence[Comparison], p: float, terms: Terms) -> Outcome:
    if all(row.before is None or row.after is None for row in rows):
        return "not-measured"
    if rows[0].verdict == "regressed":
        return "loses" if p <= terms.alpha(fewest_runs(rows[0])) else "undecided"
    return "holds" if all(row.verdict in HARMLESS for row in rows) else "undecided"
