"""What uperf cannot run as it is run here, said before anything is started."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.bench.engines._patterns import Pattern, checked_pattern
from vnicaudit.model.measurement import Workload

CONNECTIONS = 250
"""IBM's largest."""
_LONGEST = 86000


def checked(workload: Workload) -> Pattern:
    """What is to be run. Raises UsageError where it cannot be run as written."""
    return checked_pattern(workload, "uperf", _problems)


def _problems(workload: Workload, pattern: Pattern) -> Iterator[str]:
    if workload.direction != pattern.direction:
        yield f"direction {workload.direction}: {workload.pattern} is {pattern.direction}"
    if workload.size is not None:
        yield f"size {workload.size}: the pattern says the sizes"
    if not 1 <= workload.connections <= CONNECTIONS:
        yield f"connections {workload.connections}: it takes 1 to {CONNECTIONS}"
    if workload.generators != 1:
        yield "uperf has one master, with a process for each connection"
    if workload.rate is not None:
        yield "uperf goes as fast as it can here; rr takes a rate"
    if not 2 <= workload.seconds <= _LONGEST:
        yield f"seconds {workload.seconds:g}: uperf counts once a second, 2 are needed"
    if not 0 <= workload.warmup <= _LONGEST:
        yield f"warmup {workload.warmup:g}: it must be 0 or more seconds"
    if pattern.mode == "write" and workload.warmup < 1:
        yield "warmup: at least 1, since uperf counts what is in the sender's buffers as sent"
    yield from _of_options(workload)


def _of_options(workload: Workload) -> Iterator[str]:
    for name, value in workload.options.items():
        if name != "port":
            yield f"uperf has no option {name!r}; it has port"
        elif not re.fullmatch(r"[0-9]{1,5}", value) or not 1 <= int(value) <= 65535:
            yield f"port: {value!r} is not a number from 1 to 65535"
