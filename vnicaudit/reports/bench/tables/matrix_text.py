"""The table of dimensions for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.bench.metrics import METRICS
from vnicaudit.reports.bench.tables.dimensions import Matrix
from vnicaudit.reports.bench.tables.grid import Grid, Line, plain
from vnicaudit.reports.bench.words.labels import metric_title
from vnicaudit.reports.bench.words.quantity import Scale, scale_of
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wrap import Piece, fold, wrap
from vnicaudit.reports.writer import Options

PLAIN = "as found"
"""The state of a server that no option was set on."""


def matrix_lines(matrix: Matrix, options: Options, paint: Paint) -> Iterator[str]:
    """A title, and a line per row; sentences where that does not fit."""
    text = wrap(safe(title_of(matrix)), options.width, "", "  ")
    yield "".join(paint("name", line) + "\n" for line in text.splitlines())
    header = Line((
        (plain(""),), *((Piece(safe(state), paint("quiet", safe(state))),)
                        for state in map(state_of, matrix.states)),
    ))  # fmt: skip
    lines = [
        Line(((plain(safe(row_of(row))),), *((plain(cell),) for cell in cells_of(matrix, row))))
        for row in matrix.rows
    ]
    grid = Grid([header, *lines], options.width, indent=2)
    if grid.fits:
        yield from grid.text()
        return
    for row in matrix.rows:
        said = zip(map(state_of, matrix.states), cells_of(matrix, row), strict=True)
        pieces = [row_of(row), *(f"{state} {cell}" for state, cell in said)]
        yield fold([plain(safe(piece)) for piece in pieces], options.width, "  ", "    ", "  ")


def title_of(matrix: Matrix) -> str:
    """``dnsperf max: DNS queries answered, 1/s, 1 / 2 generators``."""
    numbers = " / ".join(map(str, matrix.generators))
    word = "generator" if matrix.generators == (1,) else "generators"
    unit = scale_for(matrix).unit.strip()
    return f"{matrix.title}: {metric_title(matrix.metric)}, {unit}, {numbers} {word}"


def state_of(state: str) -> str:
    """A column's head."""
    return state or PLAIN


def row_of(row: tuple[str, str]) -> str:
    """``virtio, 2 vCPU``."""
    arm, vcpus = row
    return f"{arm}, {vcpus} vCPU" if vcpus else arm


def cells_of(matrix: Matrix, row: tuple[str, str]) -> Iterator[str]:
    """``45,800 / 48,800`` per state, one number for each number of generators."""
    found, scale = matrix.rows[row], scale_for(matrix)
    for state in matrix.states:
        medians = (found.get((state, number)) for number in matrix.generators)
        yield " / ".join("-" if one is None else scale.number(one) for one in medians)


def scale_for(matrix: Matrix) -> Scale:
    """One for all cells; counts per second are written out, as in the talk."""
    if matrix.metric in METRICS and METRICS[matrix.metric].unit == "1/s":
        return scale_of(0, matrix.metric)
    largest = max(value for row in matrix.rows.values() for value in row.values())
    return scale_of(largest, matrix.metric)
