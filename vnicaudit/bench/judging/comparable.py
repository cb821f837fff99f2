"""Reasons why two measurements must not be compared.

Any other difference besides the change could be the reason for an effect. So everything that makes
the numbers (the work, the tools, the way through the network) must be the same. Differences that
may be the change itself (driver, kernel, settings) or usually do not matter are reported, and not
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec.structs import asdict

from vnicaudit.model.measurement import BenchResult, Path, Sample, Workload

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
    reasons += _paths(_path(a, arm_a), _path(b, arm_b))
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


def _paths(one: Path | None, other: Path | None) -> Iterator[str]:
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
