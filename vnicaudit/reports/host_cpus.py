"""The partition matrix of a host as text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.model.host import Cell, CpuColumn, HostCpus
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.safe import fold
from vnicaudit.reports.writers import Options

_HEAD = 16
"""Width at which the list of a column's CPUs is broken; earlier on a narrow terminal."""
_GAP = 2
_LETTERS = {"polled": "d"}
_MARKS = {
    (True, True): "+*", (True, False): "+", (True, None): "+?",
    (False, True): "!!", (False, False): "-", (False, None): "-?",
    (None, True): "?*", (None, False): "?", (None, None): "??",
}  # fmt: skip
_LEGEND = (
    "+ allowed", "+* allowed and used", "- forbidden", "!! forbidden and used",
    "? unknown if allowed", "+? and -? unknown if used",
)  # fmt: skip
_CLASSES = {
    "r": "reserved to the host", "s": "shared", "i": "isolated",
    "b": "banned from irqbalance", "d": "dedicated",
}  # fmt: skip


def host_cpus_text(found: HostCpus, options: Options) -> Iterator[str]:
    """The table that applies, the matrix in as many blocks as the width needs, and its legend."""
    pen = Pen(options)
    yield pen.say(f"Table: {' or '.join(found.tables) or 'unknown'} ({found.evidence})")
    if not found.columns:
        yield pen.say("Which CPUs are online is unknown: nothing is drawn.")
        return
    label = max(map(len, found.columns[0].cells))
    room = max(_GAP + 2, options.width - label)
    for block in _blocks([_Drawn(column, room - _GAP) for column in found.columns], room):
        yield "\n"
        yield from _lines(block, label)
    letters = {_letter(column) for column in found.columns}
    classes = [f"{letter} {name}" for letter, name in _CLASSES.items() if letter in letters]
    yield "\n"
    yield fold(classes, options.width, "", "  ", ", ")
    yield fold(_LEGEND, options.width, "", "  ", ", ")


def _letter(column: CpuColumn) -> str:
    return _LETTERS.get(column.kind, column.kind[0])


class _Drawn:
    """A column as it is drawn: the lines of its head, and its width."""

    def __init__(self, column: CpuColumn, most: int) -> None:
        self.column = column
        self.head = _head(column, min(_HEAD, most))
        self.width = _GAP + max(2, *map(len, self.head))


def _head(column: CpuColumn, most: int) -> list[str]:
    """The list of a column's CPUs, in lines that are broken after a comma."""
    lines = [""]
    for part in as_list(column.cpus).split(","):
        if lines[-1] and len(lines[-1]) + len(part) >= most:
            lines.append("")
        lines[-1] += f"{part},"
    return [*lines[:-1], lines[-1].rstrip(",")]


def _blocks(columns: list[_Drawn], room: int) -> Iterator[list[_Drawn]]:
    """Columns that fit beside each other."""
    block: list[_Drawn] = []
    for each in columns:
        if block and sum(one.width for one in block) + each.width > room:
            yield block
            block = []
        block.append(each)
    yield block


def _lines(block: list[_Drawn], label: int) -> Iterator[str]:
    heads = zip_longest(*(each.head for each in block), fillvalue="")
    rows = [
        *(("" if at else "CPUs", head) for at, head in enumerate(heads)),
        ("class", tuple(_letter(each.column) for each in block)),
        *(
            (name, tuple(_mark(each.column.cells[name]) for each in block))
            for name in block[0].column.cells
        ),
    ]
    for name, cells in rows:
        body = "".join(
            f"{'':{_GAP}}{cell:{each.width - _GAP}}"
            for cell, each in zip(cells, block, strict=True)
        )
        yield f"{name:{label}}{body}".rstrip() + "\n"


def _mark(cell: Cell) -> str:
    return _MARKS[cell.allowed, cell.used]
