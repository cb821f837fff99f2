"""What differs in vCPUs, server options and number of generators, as one table.

The layout is that of the case that started this project (A. Scicchitano, SWITCH, "Improving network
performance within the cloud"): a row per NIC and number of vCPUs, a column per option of the
server, in a cell one number for each number of generators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.bench.judging.statistics import median
from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.reports.bench.tables.rows import collected

VCPUS = "vcpus"
"""The label of a run that says how many the target has."""

_Kind = tuple[str, str, str, "int | None", "float | None", "int | None"]


class Matrix(NamedTuple):
    """``rows``: (arm, vCPUs) -> (state, generators) -> median."""

    title: str
    metric: str
    states: tuple[str, ...]
    generators: tuple[int, ...]
    rows: dict[tuple[str, str], dict[tuple[str, int], float]]


def matrices(results: Sequence[BenchResult]) -> Iterator[Matrix]:
    """One per kind of work that was measured in more than one state of the server, with more than
    one number of generators, or, over several results, with more than one number of vCPUs."""
    kinds: dict[tuple[_Kind, str], list[tuple[BenchResult, Workload]]] = {}
    for result in results:
        for kind, workload in _kinds(result):
            kinds.setdefault((kind, workload.decides[0]), []).append((result, workload))
    values = {id(result): collected(result) for result in results} if kinds else {}
    for (kind, metric), found in kinds.items():
        title = f"{kind[0]} {kind[1]}"
        cells = [
            _Cell(
                workload,
                (arm, result.run.labels.get(VCPUS, "")),
                values[id(result)].get((workload.id, metric, arm), ()),
            )
            for result, workload in found
            for arm in result.arms
        ]
        matrix = _matrix(title, metric, cells, _arms(results))
        vcpus = {row[1] for row in matrix.rows}
        if matrix.rows and max(len(matrix.states), len(matrix.generators), len(vcpus)) > 1:
            yield matrix


class _Cell(NamedTuple):
    workload: Workload
    row: tuple[str, str]
    values: Sequence[float]


def _kinds(result: BenchResult) -> Iterator[tuple[_Kind, Workload]]:
    """What stays the same within a table. Connections grow with generators in some profiles, so
    they tell kinds apart only where nothing else does."""
    deciding = [workload for workload in result.workloads if workload.decides]
    alike = Counter((_bare(one), one.state, one.generators) for one in deciding)
    for one in deciding:
        unique = alike[_bare(one), one.state, one.generators] == 1
        yield (*_bare(one), None if unique else one.connections), one


def _bare(workload: Workload) -> tuple[str, str, str, int | None, float | None]:
    return workload.engine, workload.pattern, workload.direction, workload.size, workload.rate


def _matrix(title: str, metric: str, cells: Sequence[_Cell], arms: Sequence[str]) -> Matrix:
    found: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for cell in cells:
        if cell.values:
            place = cell.workload.state, cell.workload.generators
            found.setdefault(cell.row, {})[place] = median(cell.values)
    states = tuple(dict.fromkeys(cell.workload.state for cell in cells))
    generators = tuple(sorted({cell.workload.generators for cell in cells}))
    ordered = dict(sorted(found.items(), key=lambda item: _place(item[0], arms)))
    return Matrix(title, metric, states, generators, ordered)


def _arms(results: Sequence[BenchResult]) -> list[str]:
    return list(dict.fromkeys(arm for result in results for arm in result.arms))


def _place(row: tuple[str, str], arms: Sequence[str]) -> tuple[int, int, str]:
    """Arms in their order, vCPUs in theirs."""
    return arms.index(row[0]), _number(row[1]), row[1]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else -1
