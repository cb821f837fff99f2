"""What the generator cannot run, said before anything is started."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from vnicaudit.bench.engines._patterns import Pattern, checked_pattern
from vnicaudit.model.measurement import Workload

CONNECTIONS = 500
WORKERS = 64
"""What the program takes (generator/program/task.py)."""
_LONGEST = 86400
_MOST_MESSAGES = 1e6
"""1/s: more than any generator sends."""
_OPTIONS = {"workers": (1, WORKERS), "port": (1, 65535)}
"""Option -> the numbers it may be."""


def checked(workload: Workload) -> Pattern:
    """What is to be run. Raises UsageError where it cannot be run as written."""
    return checked_pattern(workload, "rr", _problems)


def messages(workload: Workload, pattern: Pattern) -> float:
    """Messages a second that are offered; 0: as many as go."""
    if workload.rate is None:
        return 0.0
    return workload.rate if pattern.mode == "rr" else workload.rate / 8 / pattern.size


def _problems(workload: Workload, pattern: Pattern) -> Iterator[str]:
    yield from _of_direction(workload, pattern)
    yield from _of_streams(workload)
    yield from _of_time(workload)
    yield from _of_rate(workload, pattern)
    yield from _of_options(workload)


def _of_direction(workload: Workload, pattern: Pattern) -> Iterator[str]:
    if workload.direction != pattern.direction:
        what = {"tx": "the target sends", "rx": "the target receives", "both": "both send"}
        yield (
            f"direction {workload.direction}: in {workload.pattern} "
            f"{what[pattern.direction]}, which is {pattern.direction}"
        )
    if workload.size is not None:
        yield f"size {workload.size}: the pattern says the sizes"


def _of_streams(workload: Workload) -> Iterator[str]:
    if not 1 <= workload.connections <= CONNECTIONS:
        yield f"connections {workload.connections}: rr takes 1 to {CONNECTIONS}"
    elif not 1 <= workload.generators <= min(workload.connections, WORKERS):
        yield f"generators {workload.generators}: rr takes 1 to {WORKERS}, one connection for each"


def _of_time(workload: Workload) -> Iterator[str]:
    if not 0 < workload.seconds <= _LONGEST:
        yield f"seconds {workload.seconds:g}: it must be more than 0, and a day at most"
    if not 0 <= workload.warmup <= _LONGEST:
        yield f"warmup {workload.warmup:g}: it must be 0 or more seconds, and a day at most"


def _of_rate(workload: Workload, pattern: Pattern) -> Iterator[str]:
    if workload.rate is None:
        return
    if not (math.isfinite(workload.rate) and 1 <= messages(workload, pattern) <= _MOST_MESSAGES):
        yield f"rate {workload.rate:g}: that must be one message a second, and a million at most"


def _of_options(workload: Workload) -> Iterator[str]:
    for name, value in workload.options.items():
        if name not in _OPTIONS:
            yield f"rr has no option {name!r}; it has {', '.join(_OPTIONS)}"
            continue
        low, high = _OPTIONS[name]
        if not re.fullmatch(r"[0-9]{1,5}", value) or not low <= int(value) <= high:
            yield f"{name}: {value!r} is not a number from {low} to {high}"
