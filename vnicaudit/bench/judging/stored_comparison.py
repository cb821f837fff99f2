"""Compare two stored measurements, or two arms of one.

Reasons why two measurements must not be compared.

Any other difference besides the change could be the reason for an effect. So everything that makes
the numbers (the work, the tools, the way through the network) must be the same. Differences that
may be the change itself (driver, kernel, settings) or usually do not matter are reported, and not
refused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import asdict, replace

from vnicaudit.bench.judging.catastrophe import (
    Question,
    certain_harm,
    failure_words,
    unproven_falls,
)
from vnicaudit.bench.judging.comparing import compare, compare_all
from vnicaudit.bench.judging.steps import JudgedStep, judged_steps
from vnicaudit.bench.judging.terms import MOST_RUNS, Terms, checked_terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import OWN_TOOL, BenchResult, BenchRun, Path, Sample, Workload

Arms = tuple[str, str]
K = TypeVar("K")

_JUDGING = ("primary", "decides")
"""Fields of a workload that decide how it is judged, not what is run."""
_SAME_PATH = ("target", "peer", "address", "hypervisor", "domain", "mtu", "encapsulation",
              "same_host")  # fmt: skip
_TOOLS = ("iperf3", "dnsperf")
_SHOWN = 60


def incomparable_reasons(
    a: BenchResult, b: BenchResult, arms: Arms | None = None
) -> tuple[str, ...]:
    """Why the numbers of one measurement say nothing about the other; empty: they may be compared.
    ``arms``: the arm of each to compare; None: each must have only one. Arms of the same run were
    measured side by side, so their paths may differ: they are what is compared."""
    if reasons := list(_arm_problems(a, b, arms)):
        return tuple(reasons)
    first, second = chosen_arms(a, b, arms)
    if _one_run(a.run, b.run):
        both = f"both are {first} of the same run: there is nothing to compare"
        return (both,) if first == second else ()
    ours = {workload.id: asdict(workload) for workload in a.workloads}
    theirs = {workload.id: asdict(workload) for workload in b.workloads}
    if not (shared := [name for name in theirs if name in ours]):
        reasons.append("they have no workload in common")
    if not _both_ours(a, b):  # nothing is judged, so what differs is only told
        return tuple(reasons)
    reasons += (
        f"{name} was run with a different {key}: {both}"
        for name in shared
        for key, both in _differences(ours[name], theirs[name])
        if key not in _JUDGING
    )
    paths = _path(a, first), _path(b, second)
    if None in paths:
        reasons.append("the path they were measured on is unknown")
    else:
        one, other = ({key: getattr(path, key) for key in _SAME_PATH} for path in paths)
        for key, both in _differences(one, other):
            reasons.append(f"different {key.replace('_', ' ')}: {both}")
    versions = _tool_versions(a.samples, first), _tool_versions(b.samples, second)
    for (workload, name), both in _differences(*versions):
        reasons.append(f"{workload} was run with a different {name}: {both}")
    return tuple(dict.fromkeys([*reasons, *_different_facts(a, b, tools=True)]))


def warnings(a: BenchResult, b: BenchResult) -> tuple[str, ...]:
    """Other differences between two measurements that could be the reason for an effect."""
    if _one_run(a.run, b.run):
        return ()
    found = ["measured at different times: any drift in between is part of every difference"]
    if not _both_ours(a, b):
        tools = " and ".join(dict.fromkeys((a.run.tool, b.run.tool)))
        found.append(
            f"measured by {tools}: generators, ends and the way between them may differ, which is "
            "part of every difference"
        )
        found += dict.fromkeys((*a.notes, *b.notes))
    both = (("the first", a, b), ("the second", b, a))
    found += [f"{name} ended early" for name, each, _ in both if each.run.finished is None]
    for word, one, other in (
        ("profiles", a.run.profile, b.run.profile),
        (f"versions of {a.run.tool}", a.run.version, b.run.version),
    ):
        if one != other:
            found.append(f"different {word}: {_versus(one, other)}")
    for name, each, other_one in both:
        own, others = ({one.id for one in result.workloads} for result in (each, other_one))
        found += [f"only {name} has {one}; it is left out" for one in sorted(own - others)]
    for key in sorted({*a.run.labels, *b.run.labels}):
        values = a.run.labels.get(key), b.run.labels.get(key)
        if values[0] != values[1]:
            found.append(f"different labels, {key}: {_versus(*values)}")
    return (*found, *_different_facts(a, b, tools=False))


def _differences(one: Mapping[K, object], other: Mapping[K, object]) -> Iterator[tuple[K, str]]:
    """Keys of both whose values differ, with the two values."""
    for key, value in one.items():
        if key in other and value != other[key]:
            yield key, _versus(value, other[key])


def _versus(one: object, other: object) -> str:
    """Both values, shortened to be readable."""
    texts = ("none" if value in (None, "") else str(value)[:_SHOWN] for value in (one, other))
    return " and ".join(texts)


def _arm_problems(a: BenchResult, b: BenchResult, arms: Arms | None) -> Iterator[str]:
    first, second = arms or ("", "")
    for name, result, arm in (("the first", a, first), ("the second", b, second)):
        listed = ", ".join(result.arms)
        if not arm and len(result.arms) != 1:
            yield f"{name} has {len(result.arms)} arms ({listed}): choose one with --arms"
        elif arm and arm not in result.arms:
            yield f"{name} has no arm {arm}; it has {listed}"
        elif not any(each.valid and each.arm == (arm or result.arms[0]) for each in result.samples):
            yield f"{name} has no valid run in {arm or result.arms[0]}"


def _path(result: BenchResult, arm: str) -> Path | None:
    """The path of an arm: its own, or the first."""
    named = [path for path in result.paths if path.name == arm]
    return next(iter(named or result.paths), None)


def _tool_versions(samples: Sequence[Sample], arm: str) -> dict[tuple[str, str], str]:
    """Workload and name -> versions of the generators, from the runs themselves (iperf3 changes the
    meaning of its numbers and its number of threads between versions)."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for sample in samples:
        for name, value in sample.details.items() if sample.valid and sample.arm == arm else ():
            if value is not None and (name == "version" or name.endswith("_version")):
                found[sample.workload, name].add(str(value))
    return {key: ", ".join(sorted(versions)) for key, versions in found.items()}


def _different_facts(a: BenchResult, b: BenchResult, *, tools: bool) -> Iterator[str]:
    """Facts of the same endpoint that are known in both and differ."""
    theirs = {setup.endpoint: setup.facts for setup in b.environment}
    for setup in a.environment:
        for name, both in sorted(_differences(setup.facts, theirs.get(setup.endpoint, {}))):
            if any(tool in name for tool in _TOOLS) == tools:
                yield f"{setup.endpoint} had a different {name}: {both}"


BEFORE, AFTER = "before", "after"

_MOST_RUNS = 1000
"""Maximum runs of a workload in an arm: each is compared with each of the other arm. The program
makes 100."""


_MOST_PATHS = 50
_MOST_OF_PATHS = 3 * MOST_RUNS
"""Maximum runs of a workload on a path, with those that were repeated, as all steps are judged."""


def compare_results(a: BenchResult, b: BenchResult, arms: Arms | None = None) -> BenchResult:
    """One result of both. With two runs, all of ``a`` came first and all of ``b`` after it, so
    drift in between is part of every effect; two arms of one run are judged as that run was.
    ``arms``: the arm of each; None: each has only one. Raises UsageError, with all reasons, if they
    must not be compared, or cannot be judged."""
    if reasons := incomparable_reasons(a, b, arms):
        raise UsageError(f"these cannot be compared: {'; '.join(reasons)}")
    first, second = chosen_arms(a, b, arms)
    names = (first, second) if _one_run(a.run, b.run) else (BEFORE, AFTER)
    terms = _terms(a.run, b.run)
    samples = (
        *renamed_samples(a.samples, first, names[0]),
        *renamed_samples(b.samples, second, names[1]),
    )
    _bounded(samples)
    both = (a, first, names[0]), (b, second, names[1])
    rails = tuple(
        replace(rail, arm=name)
        for result, arm, name in both
        for rail in result.guard_rails
        if rail.arm == arm
    )
    paths = tuple(
        replace(path, name=name)
        for result, arm, name in both
        for path in result.paths
        if path.name == arm or len(result.paths) == 1
    )
    one_run = _one_run(a.run, b.run)
    workloads = tuple(one for one in a.workloads if one.id in {each.id for each in b.workloads})
    if not _both_ours(a, b):  # arms of another program need not have run the same work
        workloads = _measured_in_both(workloads, samples, names)
    made = sorted(samples, key=lambda each: each.order) if one_run else samples
    results = compare(made, workloads, *names, terms, paths)
    question = Question(workloads, *names, terms.design)
    if not _both_ours(a, b):  # not even a fall below half says anything
        results = tuple(
            replace(one, verdict="not-judged") if one.verdict == "regressed" else one
            for one in results
        )
    in_time = terms.design != "paths" and _both_ours(a, b)
    return BenchResult(
        run=_run(a.run, b.run, terms),
        arms=names,
        paths=paths,
        environment=a.environment if one_run else (*a.environment, *b.environment),
        workloads=workloads,
        samples=samples,
        guard_rails=rails,
        results=results,
        decision=decide(
            results,
            terms,
            guard_rails=rails,
            catastrophe=certain_harm(made, question) if in_time else (),
            failures=failure_words(samples, workloads, *names),
            unproven=unproven_falls(made, question) if in_time else (),
        ),
    )


def _measured_in_both(
    workloads: Sequence[Workload], samples: Sequence[Sample], arms: Arms
) -> tuple[Workload, ...]:
    measured = {(sample.workload, sample.arm) for sample in samples if sample.valid}
    both = tuple(one for one in workloads if {(one.id, arm) for arm in arms} <= measured)
    if not both:
        raise UsageError("these cannot be compared: no workload was measured in both")
    return both


def judged_so_far(result: BenchResult) -> BenchResult:
    """A measurement that was stopped, with the comparisons of the runs that it made: its head was
    written before them; without a decision, since its terms were not met. One that was finished is
    returned as it is. Raises UsageError for unusable terms."""
    if result.run.finished:
        return result
    terms = _terms(result.run, result.run)
    compared = compare_all(result.samples, result.workloads, result.arms, terms, result.paths)
    return replace(result, results=compared)


def judged_steps_of(result: BenchResult) -> tuple[JudgedStep, ...]:
    """The steps between the paths of a measurement, judged by its own terms. Raises UsageError if
    it cannot be judged."""
    if len(result.arms) > _MOST_PATHS:
        raise UsageError(f"{len(result.arms)} paths: more than {_MOST_PATHS} are not compared")
    _bounded(result.samples, _MOST_OF_PATHS)
    terms = _terms(result.run, result.run)
    return judged_steps(result.samples, result.workloads, result.arms, terms, result.paths)


def chosen_arms(a: BenchResult, b: BenchResult, arms: Arms | None) -> Arms:
    """The arms that are compared, by their names in the runs."""
    return arms or (a.arms[0], b.arms[0])


def renamed_samples(samples: Iterable[Sample], arm: str, name: str) -> Iterator[Sample]:
    """The samples of an arm, under another name."""
    return (replace(one, arm=name) for one in samples if one.arm == arm)


def _one_run(a: BenchRun, b: BenchRun) -> bool:
    return a.id == b.id and a.tool == OWN_TOOL


def _both_ours(a: BenchResult, b: BenchResult) -> bool:
    return a.run.tool == b.run.tool == OWN_TOOL


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


def _bounded(samples: Sequence[Sample], most: int = _MOST_RUNS) -> None:
    for (arm, workload), runs in Counter((one.arm, one.workload) for one in samples).items():
        if runs > most:
            raise UsageError(
                f"{runs} runs of {workload} in {arm}: more than {most} are not compared"
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
