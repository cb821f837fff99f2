"""Compare two stored measurements, or two arms of one.

Reasons why two measurements must not be compared.

Any other difference besides the change could be the reason for an effect. So everything that makes
the numbers (the work, the tools, the way through the network) must be the same. Differences that
may be the change itself (driver, kernel, settings) or usually do not matter are reported, and not
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from msgspec.structs import asdict, replace

from vnicaudit.bench.judging.catastrophe import (
    Question,
    catastrophe,
    failure_words,
    silence,
    unproven_falls,
)
from vnicaudit.bench.judging.comparing import compare, compare_all
from vnicaudit.bench.judging.terms import Terms, checked_terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import (
    BenchResult,
    BenchRun,
    GuardRail,
    Path,
    Sample,
    Setup,
    Workload,
)

_JUDGING = ("primary", "decides")
"""Fields of a workload that decide how it is judged, not what is run."""

_SAME_PATH = ("target", "peer", "address", "hypervisor", "domain", "mtu", "encapsulation",
              "same_host")  # fmt: skip
_TOOLS = ("iperf3", "dnsperf")
_SHOWN = 60


def incomparable_reasons(
    a: BenchResult, b: BenchResult, arms: tuple[str, str] | None = None
) -> tuple[str, ...]:
    """Why the numbers of one measurement say nothing about the other; empty: they may be compared.
    ``arms``: the arm of each to compare; None: each must have only one. Arms of the same run were
    measured side by side, so their paths may differ: they are what is compared."""
    reasons = list(_arms(a, b, arms))
    if reasons:
        return tuple(reasons)
    arm_a, arm_b = arms or (a.arms[0], b.arms[0])
    if _same_run(a, b):
        both = f"both are {arm_a} of the same run: there is nothing to compare"
        return (both,) if arm_a == arm_b else ()
    reasons += _works(a, b)
    reasons += _path_differences(_path(a, arm_a), _path(b, arm_b))
    reasons += _versions(a, arm_a, b, arm_b)
    reasons += _facts(a, b, tools=True)
    return tuple(dict.fromkeys(reasons))


def warnings(a: BenchResult, b: BenchResult) -> tuple[str, ...]:
    """Other differences between two measurements that could be the reason for an effect."""
    if _same_run(a, b):
        return ()
    found = ["measured at different times: any drift in between is part of every difference"]
    found += [f"{name} ended early" for name, each in _labelled(a, b) if _unfinished(each)]
    if a.run.profile != b.run.profile:
        found.append(f"different profiles: {_versus(a.run.profile, b.run.profile)}")
    if a.run.version != b.run.version:
        found.append(f"different versions of {a.run.tool}: {_versus(a.run.version, b.run.version)}")
    found += _only_in_one(a, b)
    for key in sorted({*a.run.labels, *b.run.labels}):
        one, other = a.run.labels.get(key), b.run.labels.get(key)
        if one != other:
            found.append(f"different labels, {key}: {_versus(one, other)}")
    return (*found, *_facts(a, b, tools=False))


def _same_run(a: BenchResult, b: BenchResult) -> bool:
    return a.run.id == b.run.id


def _labelled(a: BenchResult, b: BenchResult) -> list[tuple[str, BenchResult]]:
    return [("the first", a), ("the second", b)]


def _unfinished(result: BenchResult) -> bool:
    return result.run.finished is None


def _versus(one: object, other: object) -> str:
    """Both values, shortened to be readable."""
    texts = ("none" if value in (None, "") else str(value)[:_SHOWN] for value in (one, other))
    return " and ".join(texts)


def _arms(a: BenchResult, b: BenchResult, arms: tuple[str, str] | None) -> Iterator[str]:
    for (name, result), arm in zip_longest(_labelled(a, b), arms or ()):
        listed = ", ".join(result.arms)
        if arm is None and len(result.arms) != 1:
            yield f"{name} has {len(result.arms)} arms ({listed}): choose one with --arms"
        elif arm is not None and arm not in result.arms:
            yield f"{name} has no arm {arm}; it has {listed}"
        elif not any(each.valid and each.arm == (arm or result.arms[0]) for each in result.samples):
            yield f"{name} has no valid run in {arm or result.arms[0]}"


def _works(a: BenchResult, b: BenchResult) -> Iterator[str]:
    ours = {workload.id: workload for workload in a.workloads}
    shared = [(ours[each.id], each) for each in b.workloads if each.id in ours]
    if not shared:
        yield "they have no workload in common"
    for one, other in shared:
        yield from _different_work(one, other)


def _different_work(one: Workload, other: Workload) -> Iterator[str]:
    theirs = asdict(other)
    for key, value in asdict(one).items():
        if key not in _JUDGING and value != theirs[key]:
            yield f"{one.id} was run with a different {key}: {_versus(value, theirs[key])}"


def _only_in_one(a: BenchResult, b: BenchResult) -> Iterator[str]:
    ids = [{workload.id for workload in result.workloads} for result in (a, b)]
    for (name, _), own, other in zip(_labelled(a, b), ids, reversed(ids), strict=True):
        for workload in sorted(own - other):
            yield f"only {name} has {workload}; it is left out"


def _path(result: BenchResult, arm: str) -> Path | None:
    """The path of an arm: its own, or the first."""
    named = [path for path in result.paths if path.name == arm]
    return next(iter(named or result.paths), None)


def _path_differences(one: Path | None, other: Path | None) -> Iterator[str]:
    if one is None or other is None:
        yield "the path they were measured on is unknown"
        return
    theirs = asdict(other)
    for key, value in asdict(one).items():
        if key in _SAME_PATH and value != theirs[key]:
            yield f"different {key.replace('_', ' ')}: {_versus(value, theirs[key])}"


def _versions(a: BenchResult, arm_a: str, b: BenchResult, arm_b: str) -> Iterator[str]:
    """Differences between the generators' versions, from the runs themselves (iperf3 changes the
    meaning of its numbers and its number of threads between versions)."""
    theirs = _tool_versions(b.samples, arm_b)
    for key, versions in _tool_versions(a.samples, arm_a).items():
        if key in theirs and versions != theirs[key]:
            workload, name = key
            both = (", ".join(sorted(each)) for each in (versions, theirs[key]))
            yield f"{workload} was run with a different {name}: {_versus(*both)}"


def _tool_versions(samples: Sequence[Sample], arm: str) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for sample in samples:
        for name, value in sample.details.items():
            if sample.valid and sample.arm == arm and value is not None and _is_version(name):
                found.setdefault((sample.workload, name), set()).add(str(value))
    return found


def _is_version(name: str) -> bool:
    return name == "version" or name.endswith("_version")


def _facts(a: BenchResult, b: BenchResult, *, tools: bool) -> Iterator[str]:
    """Facts of the same endpoint that are known in both and differ."""
    theirs = {setup.endpoint: setup.facts for setup in b.environment}
    for setup in a.environment:
        facts = theirs.get(setup.endpoint, {})
        for name in sorted(setup.facts.keys() & facts.keys()):
            if _is_tool(name) == tools and setup.facts[name] != facts[name]:
                both = _versus(setup.facts[name], facts[name])
                yield f"{setup.endpoint} had a different {name}: {both}"


def _is_tool(name: str) -> bool:
    return any(tool in name for tool in _TOOLS)


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
