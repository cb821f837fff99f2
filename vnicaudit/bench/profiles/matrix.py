"""A table of a profile -> workloads: one for every combination of its lists, each with a readable
id that is always the same for the same work, whatever else is run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.bench.contract import Engine
from vnicaudit.bench.profiles.checks import check_decides, check_pattern
from vnicaudit.bench.profiles.keys import WorkloadTable
from vnicaudit.bench.profiles.registry import ENGINES
from vnicaudit.bench.profiles.table import TablePlace
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Direction, Workload

MOST = 1000
"""Maximum number of workloads of one table: more would run for days."""

_SHOWN = 4


class _Combination(NamedTuple):
    """One value of each list; None if the table leaves it to the pattern."""

    pattern: str
    direction: Direction | None
    generators: int
    connections: int | None
    size: float | None
    rate: float | None
    state: str


def workloads(table: WorkloadTable, place: TablePlace) -> list[Workload]:
    """Every combination, in the order of the table. Raises UsageError for one that its engine
    cannot run."""
    engine = _engine(table, place)
    for pattern in table.patterns:
        check_pattern(table.engine, engine, pattern, place)
        check_decides(table.decides, engine, pattern, place)
    found = [_workload(table, engine, chosen, place) for chosen in _combinations(table, place)]
    return _with_primaries(found, table.primary, place)


def _engine(table: WorkloadTable, place: TablePlace) -> Engine:
    try:
        return ENGINES.load(table.engine)
    except UsageError as error:
        raise place.error(f"engine: {error}", "engine") from None


def _combinations(table: WorkloadTable, place: TablePlace) -> Iterator[_Combination]:
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


def _amounts(
    values: Sequence[int | float | str], base: int, key: str, place: TablePlace
) -> list[float]:
    return [_amount(value, base, key, place) for value in values]


def _amount(value: int | float | str, base: int, key: str, place: TablePlace) -> float:
    number = amount(value, base)
    if number is None or (key == "sizes" and number % 1):
        example = '1500 or "64K"' if key == "sizes" else '5000 or "2.5G"'
        raise place.error(f"{key}: {value!r} is invalid; expected a value such as {example}", key)
    return number


def _workload(
    table: WorkloadTable, engine: Engine, chosen: _Combination, place: TablePlace
) -> Workload:
    """One workload for its engine; without a direction, the first direction that the engine
    accepts."""
    metrics = engine.PATTERNS[chosen.pattern]
    directions = usual_directions(metrics) if chosen.direction is None else (chosen.direction,)
    problems = []
    for direction in directions:
        workload = _workload_of(table, chosen, direction, metrics)
        problem = _problem(engine, workload)
        if problem is None:
            return workload
        problems.append(problem)
    raise place.error(problems[0])


def _problem(engine: Engine, workload: Workload) -> str | None:
    """Why the engine cannot run it."""
    try:
        engine.check(workload)
    except UsageError as error:
        said = str(error)
        return said if workload.id in said else f"{workload.id}: {said}"
    return None


def _workload_of(
    table: WorkloadTable, chosen: _Combination, direction: Direction, metrics: Sequence[str]
) -> Workload:
    """The workload as the table describes it."""
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


def _with_primaries(
    found: list[Workload], primary: bool | tuple[str, ...], place: TablePlace
) -> list[Workload]:
    """The workloads, with those marked as primary that the table names."""
    if isinstance(primary, bool):
        return [replace(workload, primary=primary) for workload in found]
    for pattern in primary:
        if not any(fnmatchcase(workload.id, pattern) for workload in found):
            ids = [workload.id for workload in found]
            few = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
            raise place.error(f"primary: {pattern!r} matches no id; the ids are {few}", "primary")
    return [
        replace(workload, primary=any(fnmatchcase(workload.id, pattern) for pattern in primary))
        for workload in found
    ]


_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kKmMgG]?)", re.ASCII)
_LETTERS = "kmg"


def amount(value: int | float | str, base: int) -> float | None:
    """A number, or a text with ``k``, ``M`` or ``G``, powers of ``base``; None if it is neither, or
    not above 0."""
    if not isinstance(value, str):
        return float(value) if 0 < value < base**6 else None
    match = _AMOUNT.fullmatch(value.strip())
    if match is None:
        return None
    power = _LETTERS.find(match.group(2).lower()) + 1 if match.group(2) else 0
    return round(float(match.group(1)) * base**power, 6) or None


def short(value: float, base: int) -> str:
    """The shortest text of an amount, for ids: 65536 is ``64k`` with the base 1024."""
    for power in (3, 2, 1):
        if value % base**power == 0:
            return f"{value / base**power:.0f}{_LETTERS[power - 1]}"
    return f"{value:.6f}".rstrip("0").rstrip(".")


_QUERIES = "query_rate"
_ANSWERED = {_QUERIES, "transaction_rate", "connection_rate"}


def usual_directions(metrics: Sequence[str]) -> tuple[Direction, ...]:
    """Directions of a pattern that can be judged by ``metrics``, the usual one first: if requests
    are answered, the load goes in both directions."""
    return ("both",) if _ANSWERED & set(metrics) else ("tx", "rx")


def identity(workload: Workload, metrics: Sequence[str], name: str | None) -> str:
    """``iperf3.tcp.tx.c1.64k``, ``rr.rr1c-200x1000.c50``, ``dnsperf.capacity.g2@querylog``:
    defaults of the pattern are left out. ``metrics`` are those of the pattern."""
    state = f"@{workload.state}" if workload.state else ""
    return ".".join(_identity_parts(workload, metrics, name)) + state


def _identity_parts(workload: Workload, metrics: Sequence[str], name: str | None) -> Iterator[str]:
    queries = _QUERIES in metrics
    yield workload.engine
    yield workload.pattern
    if usual_directions(metrics) != (workload.direction,):
        yield workload.direction
    if not queries or workload.connections != workload.generators:
        yield f"c{workload.connections}"
    if queries or workload.generators != 1:
        yield f"g{workload.generators}"
    if workload.size is not None:
        yield short(workload.size, 1024)
    if workload.rate is not None:
        yield f"r{short(workload.rate, 1000)}"
    if name:
        yield name
