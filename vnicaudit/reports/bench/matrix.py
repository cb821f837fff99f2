"""Results by vCPUs, server options and number of generators, as one table.

The layout is taken from the case that started this project (A. Scicchitano, SWITCH, "Improving
network performance within the cloud"): one row per NIC and number of vCPUs, one column per server
option, and in each cell one number for each number of generators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS, Scale, quantity, scale_of
from vnicaudit.model.measurement import BenchResult, Workload
from vnicaudit.reports.bench.labels import DIRECTIONS, guest_of, metric_title, nic_of, size
from vnicaudit.reports.bench.rows import Values, values_that_count
from vnicaudit.reports.model import Row, Table

VCPUS = "vcpus"
"""Label of a run with the number of vCPUs of the target."""
_PER_VCPU = "query_rate"
_MEGABIT = 1e6
_NICS = ("single", "flips", "boots", "single-flip")
"""Designs whose arms are NICs, or in which a single NIC was measured."""
PLAIN = "as found"
"""Name of the server state in which no option was set."""

_Kind = tuple[str, str, str, "int | None", "float | None", "int | None"]


def vcpus_of(result: BenchResult) -> int | None:
    """Number of vCPUs of the target; None if it was not recorded."""
    number = _number(result.run.labels.get(VCPUS, ""))
    return number if number > 0 else None


class Matrix(NamedTuple):
    """``rows``: (NIC or arm, vCPUs) -> (state, generators) -> median. ``per_vcpu``: medians are
    divided by the number of vCPUs."""

    title: str
    metric: str
    states: tuple[str, ...]
    generators: tuple[int, ...]
    rows: dict[tuple[str, str], dict[tuple[str, int], float]]
    per_vcpu: bool = False


def all_matrices(results: Sequence[BenchResult]) -> Iterator[Matrix]:
    """One table per kind of work, with any number of states and generators. DNS queries also per
    vCPU, if any target has several."""
    for matrix in _every(results):
        yield matrix
        shares = {
            row: {place: value / _number(row[1]) for place, value in cells.items()}
            for row, cells in matrix.rows.items()
            if _number(row[1]) > 0
        }
        if matrix.metric == _PER_VCPU and any(_number(row[1]) > 1 for row in shares):
            yield matrix._replace(rows=shares, per_vcpu=True)


def matrices(results: Sequence[BenchResult]) -> Iterator[Matrix]:
    """One table per kind of work that was measured with more than one server state, number of
    generators or (over several results) number of vCPUs."""
    for matrix in _every(results):
        vcpus = {row[1] for row in matrix.rows}
        if max(len(matrix.states), len(matrix.generators), len(vcpus)) > 1:
            yield matrix


def _every(results: Sequence[BenchResult]) -> Iterator[Matrix]:
    kinds: dict[tuple[_Kind, str], list[tuple[BenchResult, Workload]]] = {}
    for result in results:
        for kind, workload in _kinds(result):
            kinds.setdefault((kind, workload.decides[0]), []).append((result, workload))
    values = {id(result): values_that_count(result) for result in results} if kinds else {}
    names = row_names(results)
    for (kind, metric), found in kinds.items():
        if cells := _medians(metric, found, names, values):
            workloads = [workload for _result, workload in found]
            states = tuple(dict.fromkeys(one.state for one in workloads))
            generators = tuple(sorted({one.generators for one in workloads}))
            yield Matrix(_kind_words(kind), metric, states, generators, cells)


def _medians(
    metric: str,
    found: Sequence[tuple[BenchResult, Workload]],
    names: Mapping[tuple[int, str], str],
    values: Mapping[int, Values],
) -> dict[tuple[str, str], dict[tuple[str, int], float]]:
    """The rows of a matrix: arms in their order, then vCPUs by number. Values of several
    measurements of one NIC are treated as one sample."""
    cells: dict[tuple[str, str], dict[tuple[str, int], list[float]]] = {}
    for result, workload in found:
        for arm in result.arms:
            if counted := values[id(result)].get((workload.id, metric, arm)):
                row = names[id(result), arm], result.run.labels.get(VCPUS, "")
                place = workload.state, workload.generators
                cells.setdefault(row, {}).setdefault(place, []).extend(counted)
    arms = list(dict.fromkeys(names.values()))
    return {
        row: {place: median(all_) for place, all_ in cells[row].items()}
        for row in sorted(cells, key=lambda row: (arms.index(row[0]), _number(row[1]), row[1]))
    }


def matrix_table(matrix: Matrix) -> Table:
    """The table: one row per arm and number of vCPUs, one column per server state."""
    plain = PLAIN if len(matrix.states) > 1 or matrix.metric == _PER_VCPU else "median"
    heads = ("", *(state or plain for state in matrix.states))
    rows = (
        Row((f"{row[0]}, {row[1]} vCPU" if row[1] else row[0], *_cells(matrix, row)))
        for row in matrix.rows
    )
    return Table(_title(matrix), heads, tuple(rows))


def _kinds(result: BenchResult) -> Iterator[tuple[_Kind, Workload]]:
    """Kinds of workloads (the settings that are constant within a table), each with its workload.
    In some profiles connections grow with generators, so connections separate kinds only if nothing
    else does."""
    deciding = [workload for workload in result.workloads if workload.decides]
    alike = Counter((_bare(one), one.state, one.generators) for one in deciding)
    for one in deciding:
        unique = alike[_bare(one), one.state, one.generators] == 1
        yield (*_bare(one), None if unique else one.connections), one


def _bare(workload: Workload) -> tuple[str, str, str, int | None, float | None]:
    return workload.engine, workload.pattern, workload.direction, workload.size, workload.rate


def row_names(results: Sequence[BenchResult]) -> dict[tuple[int, str], str]:
    """(identity of a result, arm) -> name of its row: the NIC if arms are NICs and it is known,
    preceded by the guest's name if there are several guests; else the arm."""
    guests = {guest_of(path) for result in results for path in result.paths if path.nic}
    found = {}
    for result in results:
        for arm in result.arms:
            nic = nic_of(result, arm) if result.run.design in _NICS else None
            path = next((each for each in result.paths if each.name == arm), None)
            several = nic is not None and path is not None and len(guests) > 1
            name = f"{guest_of(path)} {nic}" if several and path is not None else nic or arm
            found[id(result), arm] = name
    return found


def _kind_words(kind: _Kind) -> str:
    """``iperf3 tcp, the target sends, 64 KiB``; for requests, the engine and the pattern."""
    engine, pattern, direction, bytes_, rate, connections = kind
    parts = [f"{engine} {pattern}"]
    if direction != "both":
        parts.append(DIRECTIONS[direction])
    if bytes_ is not None:
        parts.append(size(bytes_))
    if rate is not None:
        parts.append(f"offered {quantity(rate, 'offered', '1/s')}")
    if connections is not None:
        parts.append(count(connections, "connection"))
    return ", ".join(parts)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else -1


def _title(matrix: Matrix) -> str:
    """``dnsperf max: DNS queries answered, 1/s, 1 / 2 generators``."""
    unit = _scale(matrix).unit.strip()
    each = " per vCPU" if matrix.per_vcpu else ""
    words = f"{matrix.title}: {metric_title(matrix.metric)}, {unit}{each}"
    if matrix.generators == (1,) and matrix.metric != _PER_VCPU:
        return words
    numbers = " / ".join(map(str, matrix.generators))
    return f"{words}, {numbers} {'generator' if matrix.generators == (1,) else 'generators'}"


def _cells(matrix: Matrix, row: tuple[str, str]) -> Iterator[str]:
    """``45,800 / 48,800``: for each state, one number for each number of generators."""
    found, scale = matrix.rows[row], _scale(matrix)
    for state in matrix.states:
        medians = (found.get((state, number)) for number in matrix.generators)
        yield " / ".join("-" if one is None else scale.number(one) for one in medians)


def _scale(matrix: Matrix) -> Scale:
    """One scale for all cells: counts per second are written out, and bit rates are in Mb/s."""
    unit = METRICS[matrix.metric].unit if matrix.metric in METRICS else ""
    if unit in ("1/s", "bit/s"):
        return scale_of(_MEGABIT if unit == "bit/s" else 0, matrix.metric)
    largest = max(value for row in matrix.rows.values() for value in row.values())
    return scale_of(largest, matrix.metric)
