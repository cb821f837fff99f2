"""Columns with a text beside them, and columns that begin at fixed places."""

from vnicaudit.reports.as_text import Pen, at_stops
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import padded
from vnicaudit.reports.writers import Options

ROWS: list[tuple[Part | str, str]] = [(Part("a", style="name"), "1"), ("日本", "1,024")]


def text(width: int, said: str = "some words beside it") -> str:
    pen = Pen(Options(width=width))
    rows = pen.columns(ROWS, least=(6,), numbers={1})
    return "".join(pen.beside(row, said, "  ") for row in rows)


def test_cells_are_as_wide_as_their_column() -> None:
    assert text(80) == (
        "  a           1  some words beside it\n"
        "  日本    1,024  some words beside it\n"
    )  # fmt: skip


def test_a_text_is_aligned_under_itself_where_there_is_room() -> None:
    assert text(46, "more words than there is room for").splitlines()[:2] == [
        "  a           1  more words than there is room",
        "                 for",
    ]


def test_a_text_goes_below_where_there_is_not() -> None:
    assert text(24).splitlines()[:2] == ["  a           1", "    some words beside it"]


def test_no_text_leaves_no_blanks() -> None:
    assert text(80, "").splitlines()[0] == "  a           1"


def test_colour_is_no_part_of_a_width() -> None:
    pen = Pen(Options(color=True))
    [row, _] = pen.columns(ROWS)
    assert row[0] == "\x1b[1ma\x1b[0m   "
    assert pen.beside(row, "x") == "\x1b[1ma\x1b[0m     1      x\n"
    link = pen.paint.link("https://example.org/a", "id")
    assert padded(link, 4) == f"{link}  "


def test_nothing_of_a_target_commands_the_terminal() -> None:
    assert Pen(Options()).columns([["\x1b[2J"]], least=(9,)) == [["\\x1b[2J  "]]


def test_a_cell_that_is_too_long_pushes_its_neighbours() -> None:
    assert at_stops(["ab", "c", "d"], [2, 7, 12]) == "  ab   c    d"
    assert at_stops(["abcdef", "c", "d"], [2, 7, 14]) == "  abcdef  c   d"
