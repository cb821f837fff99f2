"""Checks of a workload that several engines share, made before anything is started."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload


def require_none(workload: Workload, problems: Iterable[str]) -> None:
    """Raises UsageError with the first problem of a workload, if there is one."""
    for problem in problems:
        raise UsageError(f"{workload.id}: {problem}")


def number_problems(
    workload: Workload,
    engine: str,
    known: Mapping[str, tuple[int, int]],
    others: Sequence[str] = (),
) -> Iterator[str]:
    """Problems with options: unknown to the engine, or not a number in range. ``known``: option ->
    the least and the largest number; ``others``: options that are not numbers."""
    for name, value in workload.options.items():
        if name in others:
            continue
        if name not in known:
            yield f"{engine} has no option {name!r}; it has {', '.join((*known, *others))}"
            continue
        low, high = known[name]
        if not re.fullmatch(r"[0-9]{1,8}", value) or not low <= int(value) <= high:
            yield f"{name}: {value!r} is not a number from {low} to {high}"
