"""A report as text for a terminal: its sections, and the lines of reports that are written while
they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest

from vnicaudit.reports.model import Cell, Part, ReportSection, Row, Table, cell_text, parts_of
from vnicaudit.reports.safe import Paint, aligned, fold, safe, width_of, wrap
from vnicaudit.reports.writers import Options

GAP = "  "
_NARROW = 28
"""Columns that text needs beside its row; with less room it goes below."""
_LABEL = 8
"""Least width of the name of a fact."""


class Pen:
    """Writes lines of a report for people. Everything is made safe, coloured by its meaning, and
    wrapped; the lines after the first are indented further, by ``hang``."""

    def __init__(self, options: Options) -> None:
        self.width = options.width
        self.paint = Paint(color=options.color)

    def part(self, part: Part | str) -> str:
        """Text in the colour of its part."""
        if isinstance(part, str):
            return safe(part)
        return self.paint(part.style, safe(part.text))

    def words(self, *words: Part | str, indent: int = 0) -> str:
        """Words side by side, never broken inside; empty ones are left out."""
        shown = filter(None, map(self.part, words))
        return fold(shown, self.width, " " * indent, " " * (indent + 2), GAP)

    def say(self, text: str, indent: int = 0, hang: int = 2) -> str:
        """A sentence."""
        return wrap(safe(text), self.width, " " * indent, " " * (indent + hang))

    def labelled(self, label: str, text: str, style: str = "quiet", indent: int = 4) -> str:
        """``label: text``; only the label if there is no text."""
        lead = self.paint(style, safe(label))
        shown = f"{lead}: {safe(text)}" if text else lead
        return wrap(shown, self.width, " " * indent, " " * (indent + 2))

    def title(self, text: str, style: str = "name") -> str:
        """A line of its own, not wrapped."""
        return self.paint(style, safe(text)) + "\n"

    def titled(self, name: str, about: str) -> str:
        """A name and words about it: side by side, or the words wrapped below."""
        name, about = self.paint("name", safe(name)), safe(about)
        if width_of(name) + len(GAP) + width_of(about) <= self.width:
            return f"{name}{GAP}{about}\n"
        return f"{name}\n{wrap(about, self.width, '  ', '    ')}"

    def columns(
        self,
        rows: Iterable[Sequence[Part | str]],
        *,
        least: Sequence[int] = (),
        numbers: Collection[int] = (),
    ) -> list[list[str]]:
        """The cells of all rows, padded to the width of their column, which is at least ``least``.
        ``numbers``: right-aligned columns."""
        return aligned([list(map(self.part, row)) for row in rows], least=least, numbers=numbers)

    def table(
        self, heads: Sequence[str], rows: Iterable[Sequence[Cell]], numbers: Collection[int] = ()
    ) -> Iterator[str]:
        """The heads and the rows, one line each, folded if the terminal is narrow. ``numbers``:
        right-aligned columns."""
        head = [self.paint("quiet", word) for word in heads]
        for cells in aligned([head, *map(self.cells, rows)], numbers=numbers):
            yield fold(cells, self.width, "", "  ", GAP)

    def cells(self, row: Iterable[Cell]) -> list[str]:
        """The first part of each cell; a hyphen for an empty one."""
        return [self.part(parts_of(cell)[0]) or "-" for cell in row]

    def beside(self, cells: Iterable[str], text: str, first: str = "", below: int = 4) -> str:
        """``first``, cells of a row, and a text aligned in its own column; if there is too little
        room, the text goes below the row, indented by ``below``."""
        row = first + "".join(f"{cell}{GAP}" for cell in cells)
        if not text:
            return f"{row.rstrip()}\n"
        room = width_of(row)
        if self.width - room >= _NARROW:
            return row + wrap(text, self.width, " " * room, " " * room)[room:]
        return f"{row.rstrip()}\n{wrap(text, self.width, ' ' * below, ' ' * below)}"


def at_stops(cells: Iterable[str], stops: Iterable[int]) -> str:
    """Cells at given start columns, with a gap before each. A cell that is too long pushes its
    neighbours until they fit again."""
    line, used = "", 0
    for cell, start in zip(cells, stops, strict=True):
        gap = max(start - used, len(GAP))
        line += " " * gap + cell
        used += gap + width_of(cell)
    return line


# Sections.


def text_of(sections: Iterable[ReportSection], options: Options) -> Iterator[str]:
    """The report in pieces that end with a line break, with an empty line between sections.
    ``quiet`` leaves out the notes of tables."""
    pen = Pen(options)
    for number, section in enumerate(sections):
        yield "\n" if number else ""
        yield pen.words(Part(section.title, style=section.style), *section.about)
        if section.lead:
            yield pen.say(section.lead, 2)
        for table in section.tables:
            yield from table_text(table, options)
        yield from (pen.say(item, 2) for item in section.items)
        for label, value in section.pairs:
            yield wrap(safe(value), pen.width, f"  {safe(label):{_LABEL}}  ", " " * (_LABEL + 4))


def table_text(table: Table, options: Options) -> Iterator[str]:
    """The caption, and a line for each row; sentences if that is wider than the terminal."""
    pen = Pen(options)
    if table.caption:
        yield pen.say(table.caption, 2)
    last = [part for row in table.rows for part in parts_of(row.cells[-1])[:1]]
    grid = Grid(pen, indent=2, left=1 if any(part.strong for part in last) else 0)
    grid.add([Part(head, style="quiet" if at else "") for at, head in enumerate(table.heads)])
    for row in table.rows:
        grid.text(_group(row, pen))
        grid.add([tuple(_columns(cell)) for cell in row.cells])
        grid.text(_notes(row, pen, options))
    if grid.fits:
        yield from grid.lines()
        return
    for row in table.rows:
        yield _group(row, pen)
        yield pen.words(*_sentence(row, table, pen.width), indent=2)
        yield _notes(row, pen, options)


def _sentence(row: Row, table: Table, width: int) -> Iterator[Part | str]:
    """The words of a row that has no columns: its name, in parts if it does not fit, and each
    value after the head of its column."""
    name, *cells = row.cells
    said = cell_text(name).strip()
    whole = len(said) < width - 2
    for piece in [said] if whole else said.replace(", ", ",\n").split("\n"):
        yield Part(piece, style="name")
    for head, cell in zip(table.heads[1:], cells, strict=True):
        for at, part in enumerate(part for part in _columns(cell) if part.text):
            yield part.text if at else f"{head} {part.text}".strip()


def _columns(cell: Cell) -> Iterator[Part]:
    """The parts of a cell that stand in its column."""
    return (part for part in parts_of(cell) if part.role != "note")


def _group(row: Row, pen: Pen) -> str:
    """The heading of the group that starts with the row."""
    return "" if row.group is None else pen.titled(row.group.name, row.group.about)


def _notes(row: Row, pen: Pen, options: Options) -> str:
    """Notes of the cells, each on a line of its own; none if ``quiet``."""
    notes = (part for cell in row.cells for part in parts_of(cell) if part.role == "note")
    return "" if options.quiet else "".join(pen.say(part.text, 4) for part in notes)


class Grid:
    """Lines that share their columns: the parts of a cell side by side if the terminal is wide
    enough, else one below the other, else it does not fit. The first and the last ``left`` columns
    are aligned left; numbers are aligned right."""

    def __init__(self, pen: Pen, *, indent: int, left: int = 0) -> None:
        self._pen = pen
        self._indent = indent
        self._left = left
        self._lines: list[list[list[str]] | str] = []
        """The parts of each cell, or text that is written unchanged."""

    def add(self, cells: Iterable[Cell]) -> None:
        """Add a line with columns."""
        self._lines.append([list(map(self._pen.part, parts_of(cell))) for cell in cells])

    def text(self, text: str) -> None:
        """Add lines without columns."""
        if text:
            self._lines.append(text)

    @property
    def fits(self) -> bool:
        """False: not even with the parts of each cell below each other."""
        return self._fits(self._lines)

    def lines(self) -> Iterator[str]:
        """Each line, or its parts below each other, with line breaks."""
        beside = [line if isinstance(line, str) else [_joined(cell) for cell in line]
                  for line in self._lines]  # fmt: skip
        lines = beside if self._fits(beside) else self._lines
        widths = _widths(lines)
        for line in lines:
            if isinstance(line, str):
                yield line
            else:
                yield from (self._row(parts, widths) for parts in zip_longest(*line, fillvalue=""))

    def _fits(self, lines: Sequence[list[list[str]] | str]) -> bool:
        widths = _widths(lines)
        return self._indent + sum(widths) + len(GAP) * (len(widths) - 1) <= self._pen.width

    def _row(self, parts: Sequence[str], widths: Sequence[int]) -> str:
        text = " " * self._indent
        last = len(widths) - self._left
        for at, width in enumerate(widths):
            part = parts[at] if at < len(parts) else ""
            pad = " " * (width - width_of(part))
            text += (part + pad if at == 0 or at >= last else pad + part) + GAP
        return text.rstrip() + "\n"


def _joined(cell: Sequence[str]) -> list[str]:
    """The parts of a cell side by side."""
    return [" ".join(filter(None, cell))] if cell else []


def _widths(lines: Sequence[list[list[str]] | str]) -> list[int]:
    columns = zip_longest(*(line for line in lines if not isinstance(line, str)), fillvalue=())
    return [max((width_of(part) for cell in column for part in cell), default=0)
            for column in columns]  # fmt: skip
