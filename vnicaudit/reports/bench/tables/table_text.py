"""The tables of a measurement for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, Comparison, Workload
from vnicaudit.reports.bench.tables import cells
from vnicaudit.reports.bench.tables.rows import MetricRow, drops, values_that_count
from vnicaudit.reports.bench.words.labels import (
    DIRECTIONS,
    Scale,
    describe,
    guest_of,
    metric_title,
    metric_words,
    nic_of,
    quantity,
    scale_of,
    size,
)
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, fold, safe, title_line, wrap
from vnicaudit.reports.table import model
from vnicaudit.reports.table.model import (
    Cell,
    Grid,
    Group,
    Part,
    Row,
    Table,
    TableLine,
    cell_text,
    piece_of,
)

# Results by vCPUs, server options and number of generators, as one table.
#
# The layout is taken from the case that started this project (A. Scicchitano, SWITCH, "Improving
# network performance within the cloud"): one row per NIC and number of vCPUs, one column per server
# option, and in each cell one number for each number of generators.


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
        cells = [
            _Cell(
                workload,
                (names[id(result), arm], result.run.labels.get(VCPUS, "")),
                values[id(result)].get((workload.id, metric, arm), ()),
            )
            for result, workload in found
            for arm in result.arms
        ]
        matrix = _matrix(_kind_words(kind), metric, cells, list(dict.fromkeys(names.values())))
        if matrix.rows:
            yield matrix


def matrix_table(matrix: Matrix) -> Table:
    """The table: one row per arm and number of vCPUs, one column per server state."""
    plain = PLAIN if len(matrix.states) > 1 or matrix.metric == _PER_VCPU else "median"
    heads = ("", *(state or plain for state in matrix.states))
    rows = (Row((_row_head(row), *_cells(matrix, row))) for row in matrix.rows)
    return Table(_title(matrix), heads, tuple(rows))


class _Cell(NamedTuple):
    workload: Workload
    row: tuple[str, str]
    values: Sequence[float]


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


def _matrix(title: str, metric: str, cells: Sequence[_Cell], arms: Sequence[str]) -> Matrix:
    """The matrix of these cells. Values of several measurements of one NIC are treated as one
    sample."""
    values: dict[tuple[str, str], dict[tuple[str, int], list[float]]] = {}
    for cell in cells:
        if cell.values:
            place = cell.workload.state, cell.workload.generators
            values.setdefault(cell.row, {}).setdefault(place, []).extend(cell.values)
    found = {
        row: {place: median(all_) for place, all_ in of_row.items()}
        for row, of_row in values.items()
    }
    states = tuple(dict.fromkeys(cell.workload.state for cell in cells))
    generators = tuple(sorted({cell.workload.generators for cell in cells}))
    ordered = dict(sorted(found.items(), key=lambda item: _place(item[0], arms)))
    return Matrix(title, metric, states, generators, ordered)


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


def _place(row: tuple[str, str], arms: Sequence[str]) -> tuple[int, int, str]:
    """Sort key: arms in their order, then vCPUs by number."""
    return arms.index(row[0]), _number(row[1]), row[1]


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


def _row_head(row: tuple[str, str]) -> str:
    """``virtio, 2 vCPU``."""
    arm, vcpus = row
    return f"{arm}, {vcpus} vCPU" if vcpus else arm


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


_INDENT = 2
_HANG = "      "


def matrix_lines(matrix: Matrix, options: Options, paint: Paint) -> Iterator[str]:
    """A title, and one line per row; sentences if the table does not fit."""
    table = matrix_table(matrix)
    text = wrap(safe(table.caption), options.width, "", "  ")
    yield "".join(paint("name", line) + "\n" for line in text.splitlines())
    header = TableLine(tuple((Part(head, style="quiet"),) for head in table.heads))
    grid = Grid(
        [header, *(TableLine(row.cells) for row in table.rows)],
        options.width,
        paint,
        indent=_INDENT,
    )
    if grid.fits:
        yield from grid.text()
        return
    for row in table.rows:
        name, *values = map(cell_text, row.cells)
        pairs = zip(table.heads[1:], values, strict=True)
        pieces = [Part(name), *(Part(f"{state} {value}") for state, value in pairs)]
        yield fold([piece_of(piece, paint) for piece in pieces], options.width, "  ", "    ", "  ")


class TableText:
    """Workload by workload, one line per metric: the median and interval of each arm. With two
    arms, followed by effect and verdict; with more, the change of each against the first."""

    def __init__(self, result: BenchResult, table: Sequence[MetricRow], options: Options) -> None:
        self._arms = result.arms
        self._table = table
        self._options = options
        self._paint = Paint(color=options.color)
        self._pair = len(result.arms) == 2 and any(row.compared for row in table)
        found = drops(table, result) if len(result.arms) > 2 else ()
        self._drops = {(drop.row.workload.id, drop.row.metric, drop.lower) for drop in found}

    def lines(self) -> Iterator[str]:
        """The table; sentences if it does not fit the terminal."""
        if not self._table:
            return
        left = 1 if self._pair else 0
        grid = Grid(self._lines(), self._options.width, self._paint, indent=_INDENT, left=left)
        if grid.fits:
            yield from grid.text()
        else:
            yield from self._spelled_out()
        if not self._options.quiet:
            yield wrap("; ".join(self._legend()), self._options.width, "  ", "  ")

    def _legend(self) -> Iterator[str]:
        sure = {
            cells.median_parts(row, arm)[-1].text[:1] for row in self._table for arm in self._arms
        }
        if "[" in sure:
            yield "[a, b]: 95 % interval"
        if "(" in sure:
            yield "(a to b): all runs, too few for an interval"
        compared = [one for row in self._table for one in row.compared.values()]
        if not all(one.primary for one in compared):
            yield "(verdict): shown, nothing is decided on it"
        if any(one.effect is not None for one in compared):
            yield "arms: medians; effect: estimated from all runs, plus is better"
        if self._drops:
            yield "▼: the largest step for the worse, from the path before"

    def _lines(self) -> Iterator[TableLine]:
        yield TableLine(tuple(self._header()))
        workload = ""
        for row in self._table:
            if row.workload.id != workload:
                workload = row.workload.id
                yield TableLine(text=self._title(row))
            yield TableLine(tuple(self._row(row)))
            if cells.has_line_rate(row):
                yield TableLine(tuple(self._line_rate(row)))
            yield from (TableLine(text=note) for note in self._notes(row))

    def _header(self) -> Iterator[Cell]:
        yield ""
        for arm in self._arms:
            yield (Part(arm, style="name"),)
        if self._pair:
            yield (Part("effect", style="quiet"),)
            yield ""

    def _title(self, row: MetricRow) -> str:
        name = safe(row.workload.id)
        about = safe(describe(row.workload))
        return title_line(Piece(name, self._paint("name", name)), about, self._options.width)

    def _row(self, row: MetricRow) -> Iterator[Cell]:
        yield metric_words(row.metric)
        for at, arm in enumerate(self._arms):
            cell = cells.median_parts(row, arm)
            if at and len(self._arms) > 2:
                cell = (*cell, *self._against_first(row, arm))
            yield cell
        if self._pair:
            comparison = row.compared.get(self._arms[1])
            yield cells.effect(comparison)
            yield cells.verdict(comparison)

    def _against_first(self, row: MetricRow, arm: str) -> cells.Parts:
        comparison = row.compared.get(arm)
        mark = "▼ " if (row.workload.id, row.metric, arm) in self._drops else ""
        if comparison is None:
            return (Part("▼"),) if mark else ()
        return Part(f"{mark}{cells.effect_words(comparison)}"), *cells.verdict(comparison)

    def _line_rate(self, row: MetricRow) -> Iterator[Cell]:
        yield "  of line rate"
        for arm in self._arms:
            yield cells.line_rate(row, arm)

    def _notes(self, row: MetricRow) -> Iterator[str]:
        if self._options.quiet:
            return
        for arm, comparison in row.compared.items():
            who = f"{arm}: " if len(self._arms) > 2 else ""
            for note in comparison.notes:
                text = f"{metric_words(row.metric)}: {who}{note}"
                yield wrap(safe(text), self._options.width, "    ", _HANG)

    def _spelled_out(self) -> Iterator[str]:
        workload = ""
        for row in self._table:
            if row.workload.id != workload:
                workload = row.workload.id
                yield self._title(row)
            pieces = [piece_of(part, self._paint) for part in self._sentence(row)]
            yield fold(pieces, self._options.width, "  ", "    ", "  ")
            yield from self._notes(row)

    def _sentence(self, row: MetricRow) -> Iterator[Part]:
        yield Part(metric_words(row.metric), style="name")
        for arm in self._arms:
            yield Part(f"{arm} {cell_text(cells.median_parts(row, arm))}")
            if cells.has_line_rate(row):
                yield Part(f"{arm} {cells.line_rate(row, arm)} of line rate")
            if arm in row.compared:
                yield Part(cell_text(cells.effect(row.compared[arm])))
                yield from cells.verdict(row.compared[arm])


def measured_table(
    rows: Sequence[MetricRow],
    heads: Sequence[str],
    arms: Sequence[str],
    compared: Sequence[str],
    *,
    caption: str = "",
    apart: bool = False,
) -> Table:
    """Table of the values of each of ``arms``, with effect and verdict of those ``compared``;
    ``apart``: in separate columns."""
    found = (
        model.Row(
            (
                metric_words(row.metric),
                *(_measured(row, arm) for arm in arms),
                *(cell for arm in compared for cell in _compared(row.compared.get(arm), apart)),
            ),
            _group(rows, at),
        )
        for at, row in enumerate(rows)
    )
    return Table(caption, tuple(heads), tuple(found), grouped_by="Workload")


def _group(rows: Sequence[MetricRow], at: int) -> Group | None:
    """A heading for the workload, if it differs from that of the row before."""
    workload = rows[at].workload
    if at and rows[at - 1].workload.id == workload.id:
        return None
    return Group(workload.id, describe(workload))


def _measured(row: MetricRow, arm: str) -> Cell:
    share = f"{cells.line_rate(row, arm)} of line rate"
    return (
        *cells.median_parts(row, arm),
        *([Part(share, "note")] if cells.has_line_rate(row) else []),
    )


def _compared(comparison: Comparison | None, apart: bool) -> Iterator[Cell]:
    found = () if comparison is None else cells.effect(comparison)
    verdict = (*cells.verdict(comparison), *cells.notes(comparison))
    yield from (found, verdict) if apart else ((*found, *verdict),)
