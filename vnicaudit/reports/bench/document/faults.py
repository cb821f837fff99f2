"""Errors in a file that should be a measurement: one line each, with the place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.measurement import BENCH_SCHEMA, BenchResult

WHAT = "not a measurement"

_VERSIONED = re.compile(r"vnicaudit\.bench/\w+")


def other_schema(schema: str) -> str:
    """Message for a file of another schema, or another version of this one."""
    if _VERSIONED.fullmatch(schema):
        return (
            f"a measurement of another version, {schema}; this vnicaudit reads {BENCH_SCHEMA}: "
            "read it with the version that wrote it"
        )
    return f"{WHAT}: its schema is {schema[:80]!r}; a measurement is {BENCH_SCHEMA}"


def strangers(result: BenchResult) -> Iterator[str]:
    """Samples and results of a workload or an arm that the file does not declare: no table would
    show them."""
    known = {workload.id for workload in result.workloads}
    arms = set(result.arms)
    for number, sample in enumerate(result.samples):
        yield from _stranger(f"samples[{number}].workload", sample.workload, known)
        yield from _stranger(f"samples[{number}].arm", sample.arm, arms)
    for number, one in enumerate(result.results):
        yield from _stranger(f"results[{number}].workload", one.workload, known)
        yield from _stranger(f"results[{number}].before_arm", one.before_arm, arms)
        yield from _stranger(f"results[{number}].after_arm", one.after_arm, arms)


def impossible(result: BenchResult) -> Iterator[str]:
    """Samples that cannot exist: the same run twice, which would count twice as evidence, and
    negative values."""
    seen: set[tuple[str, str, int]] = set()
    for number, sample in enumerate(result.samples):
        run = (sample.arm, sample.workload, sample.order)
        if run in seen:
            yield f"samples[{number}]: run {sample.order} of {sample.arm[:80]!r} appears twice"
        seen.add(run)
        for metric, value in sample.values.items():
            if value < 0:
                yield f"samples[{number}].values.{metric[:80]}: less than 0"


def _stranger(place: str, name: str, known: set[str]) -> Iterator[str]:
    if name not in known:
        kind = "workload" if place.endswith("workload") else "arm"
        yield f"{place}: there is no {kind} {name[:80]!r}"
