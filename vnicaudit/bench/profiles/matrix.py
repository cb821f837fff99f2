"""A table of a profile -> workloads: one for every combination of its lists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.bench.contract import Engine
from vnicaudit.bench.engine_registry import load
from vnicaudit.bench.profiles.amounts import amount
from vnicaudit.bench.profiles.checks import check_decides, check_pattern
from vnicaudit.bench.profiles.identity import identity, usual_directions
from vnicaudit.bench.profiles.keys import WorkloadTable
from vnicaudit.bench.profiles.place import Place
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Direction, Workload

MOST = 1000
"""Workloads of one table: more would run for days."""

_SHOWN = 4


class _Combination(NamedTuple):
    """One of each list; None where the table leaves it to the pattern."""

    pattern: str
    direction: Direction | None
    generators: int
    connections: int | None
    size: float | None
    rate: float | None
    state: str


def workloads(table: WorkloadTable, place: Place) -> list[Workload]:
    """Every combination, in the order it is written. Raises UsageError for what its engine does
    not do."""
    engine = _engine(table, place)
    for pattern in table.patterns:
        check_pattern(table.engine, engine, pattern, place)
        check_decides(table.decides, engine, pattern, place)
    found = [_workload(table, engine, chosen, place) for chosen in _combinations(table, place)]
    return _marked(found, table.primary, place)


def _engine(table: WorkloadTable, place: Place) -> Engine:
    try:
        return load(table.engine)
    except UsageError as error:
        raise place.error(f"engine: {error}", "engine") from None


def _combinations(table: WorkloadTable, place: Place) -> Iterator[_Combination]:
    lists = (
        table.patterns,
        table.directions or (None,),
        table.generators,
        table.connections or (None,),
        _amounts(table.sizes, 1024, "sizes", place) or (None,),
        _amounts(table.rates, 1000, "rates", place) or (None,),
        table.states or ("",),
    )
    number = math.prod(map(len, lists))
    if number > MOST:
        raise place.error(f"{number} workloads in one table; at most {MOST}")
    return (_Combination(*chosen) for chosen in product(*lists))


def _amounts(values: Sequence[int | float | str], base: int, key: str, place: Place) -> list[float]:
    return [_amount(value, base, key, place) for value in values]


def _amount(value: int | float | str, base: int, key: str, place: Place) -> float:
    number = amount(value, base)
    if number is None or (key == "sizes" and number % 1):
        example = '1500 or "64K"' if key == "sizes" else '5000 or "2.5G"'
        raise place.error(f"{key}: {value!r} is none such as {example}", key)
    return number


def _workload(table: WorkloadTable, engine: Engine, chosen: _Combination, place: Place) -> Workload:
    """One workload, as its engine takes it; without a direction, in the first that it takes."""
    metrics = engine.PATTERNS[chosen.pattern]
    directions = usual_directions(metrics) if chosen.direction is None else (chosen.direction,)
    problems = []
    for direction in directions:
        workload = _written(table, chosen, direction, metrics)
        problem = _problem(engine, workload)
        if problem is None:
            return workload
        problems.append(problem)
    raise place.error(problems[0])


def _problem(engine: Engine, workload: Workload) -> str | None:
    """Why the engine does not run it."""
    try:
        engine.check(workload)
    except UsageError as error:
        said = str(error)
        return said if workload.id in said else f"{workload.id}: {said}"
    return None


def _written(
    table: WorkloadTable, chosen: _Combination, direction: Direction, metrics: Sequence[str]
) -> Workload:
    """As the table says it."""
    workload = Workload(
        id="",
        engine=table.engine,
        pattern=chosen.pattern,
        direction=direction,
        connections=chosen.connections or chosen.generators,
        generators=chosen.generators,
        size=None if chosen.size is None else int(chosen.size),
        seconds=table.seconds,
        warmup=table.warmup,
        rate=chosen.rate,
        decides=table.decides or tuple(metrics[:1]),
        state=chosen.state,
        options=table.options,
    )
    return replace(workload, id=identity(workload, metrics, table.name))


def _marked(found: list[Workload], primary: bool | tuple[str, ...], place: Place) -> list[Workload]:
    """With those marked as primary that the table says."""
    if isinstance(primary, bool):
        return [replace(workload, primary=primary) for workload in found]
    for pattern in primary:
        if not any(fnmatchcase(workload.id, pattern) for workload in found):
            ids = [workload.id for workload in found]
            few = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
            raise place.error(f"primary: {pattern!r} matches no id; there are {few}", "primary")
    return [
        replace(workload, primary=any(fnmatchcase(workload.id, pattern) for pattern in primary))
        for workload in found
    ]
