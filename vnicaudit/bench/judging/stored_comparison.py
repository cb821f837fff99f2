"""Compare two stored measurements, or two arms of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from vnicaudit.bench.judging.catastrophe import Question, catastrophe, unproven_falls
from vnicaudit.bench.judging.comparable import incomparable_reasons
from vnicaudit.bench.judging.comparing import compare, compare_all
from vnicaudit.bench.judging.failures import failure_words
from vnicaudit.bench.judging.silence import silence
from vnicaudit.bench.judging.terms import Terms, checked_terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, BenchRun, GuardRail, Path, Sample, Setup

BEFORE, AFTER = "before", "after"

_MOST_RUNS = 1000
"""Maximum runs of a workload in an arm: each is compared with each of the other arm. The program
makes 100."""

Arms = tuple[str, str]


def compare_results(a: BenchResult, b: BenchResult, arms: Arms | None = None) -> BenchResult:
    """One result of both. With two runs, all of ``a`` came first and all of ``b`` after it, so
    drift in between is part of every effect; two arms of one run are judged as that run was.
    ``arms``: the arm of each; None: each has only one. Raises UsageError, with all reasons, if they
    must not be compared, or cannot be judged."""
    if reasons := incomparable_reasons(a, b, arms):
        raise UsageError(f"these cannot be compared: {'; '.join(reasons)}")
    first, second = chosen_arms(a, b, arms)
    names = names_of(a, b, arms)
    terms = _terms(a.run, b.run)
    samples = (
        *renamed_samples(a.samples, first, names[0]),
        *renamed_samples(b.samples, second, names[1]),
    )
    _bounded(samples)
    rails = (*_rails(a.guard_rails, first, names[0]), *_rails(b.guard_rails, second, names[1]))
    paths = (*_paths(a, first, names[0]), *_paths(b, second, names[1]))
    workloads = tuple(one for one in a.workloads if one.id in {each.id for each in b.workloads})
    made = sorted(samples, key=lambda each: each.order) if _one_run(a.run, b.run) else samples
    results = compare(made, workloads, *names, terms, paths)
    fell: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()
    if terms.design != "paths":
        question = Question(workloads, *names, terms.design)
        fell = catastrophe(made, question) + silence(made, workloads, *names)
        unproven = unproven_falls(made, question)
    failures = failure_words(samples, workloads, *names)
    return BenchResult(
        run=_run(a.run, b.run, terms),
        arms=names,
        paths=paths,
        environment=_environment(a, b),
        workloads=workloads,
        samples=samples,
        guard_rails=rails,
        results=results,
        decision=decide(
            results,
            terms,
            guard_rails=rails,
            catastrophe=fell,
            failures=failures,
            unproven=unproven,
        ),
    )


def judged_so_far(result: BenchResult) -> BenchResult:
    """A measurement that was stopped, with the comparisons of the runs that it made: its head was
    written before them; without a decision, since its terms were not met. One that was finished is
    returned as it is. Raises UsageError for unusable terms."""
    if result.run.finished:
        return result
    terms = _terms(result.run, result.run)
    compared = compare_all(result.samples, result.workloads, result.arms, terms, result.paths)
    return replace(result, results=compared)


def chosen_arms(a: BenchResult, b: BenchResult, arms: Arms | None) -> Arms:
    """The arms that are compared, by their names in the runs."""
    return arms or (a.arms[0], b.arms[0])


def names_of(a: BenchResult, b: BenchResult, arms: Arms | None) -> Arms:
    """Names of the two arms: their own if they are of one run, else *before* and *after*."""
    return chosen_arms(a, b, arms) if _one_run(a.run, b.run) else (BEFORE, AFTER)


def renamed_samples(samples: Iterable[Sample], arm: str, name: str) -> Iterator[Sample]:
    """The samples of an arm, under another name."""
    return (replace(one, arm=name) for one in samples if one.arm == arm)


def _one_run(a: BenchRun, b: BenchRun) -> bool:
    return a.id == b.id


def _terms(a: BenchRun, b: BenchRun) -> Terms:
    """The terms of the comparison, without an action: no change was made here that could be undone.
    A file may contain anything: raises UsageError for unusable terms."""
    terms = Terms(looks=a.looks, alphas=a.alphas, design=a.design, margins=a.margins,
                  runs_per_turn=a.runs_per_turn, acts=False)  # fmt: skip
    if not _one_run(a, b):
        terms = replace(terms, looks=(1,), alphas=(0.05,), design="single-flip",
                        runs_per_turn=1)  # fmt: skip
    try:
        return checked_terms(terms)
    except UsageError as error:
        raise UsageError(f"run {a.id} cannot be judged by its own terms: {error}") from error


def _bounded(samples: Sequence[Sample]) -> None:
    for (arm, workload), runs in Counter((one.arm, one.workload) for one in samples).items():
        if runs > _MOST_RUNS:
            raise UsageError(
                f"{runs} runs of {workload} in {arm}: more than {_MOST_RUNS} are not compared"
            )


def _run(a: BenchRun, b: BenchRun, terms: Terms) -> BenchRun:
    if _one_run(a, b):
        return a
    return replace(
        b,
        id=f"{a.id}..{b.id}",
        started=a.started,
        design=terms.design,
        looks=terms.looks,
        alphas=terms.alphas,
        margins=terms.margins,
        runs_per_turn=terms.runs_per_turn,
        labels={key: value for key, value in a.labels.items() if b.labels.get(key) == value},
    )


def _paths(result: BenchResult, arm: str, name: str) -> Iterator[Path]:
    for path in result.paths:
        if path.name == arm or len(result.paths) == 1:
            yield replace(path, name=name)


def _rails(rails: Iterable[GuardRail], arm: str, name: str) -> Iterator[GuardRail]:
    return (replace(one, arm=name) for one in rails if one.arm == arm)


def _environment(a: BenchResult, b: BenchResult) -> tuple[Setup, ...]:
    return a.environment if _one_run(a.run, b.run) else (*a.environment, *b.environment)
