"""Columns with a text beside them, and columns that begin at fixed places."""

from vnicaudit.reports.safe import Paint
from vnicaudit.reports.table.model import Part, at_stops, columns, padded_cell, row_with_text

PLAIN = Paint(color=False)
ROWS = [(Part("a", style="name"), Part("1")), (Part("日本"), Part("1,024"))]


def text(width: int, said: str = "some words beside it") -> str:
    rows = columns(ROWS, PLAIN, least=(6,), numbers={1})
    return "".join(row_with_text(row, said, width, "  ", "    ") for row in rows)


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
    [row, _] = columns(ROWS, Paint(color=True))
    assert row[0].plain == "a   "
    assert row[0].painted == "\x1b[1ma\x1b[0m   "
    assert row_with_text(row, "x", 80, "", "") == "\x1b[1ma\x1b[0m     1      x\n"


def test_nothing_of_a_target_commands_the_terminal() -> None:
    assert padded_cell(Part("\x1b[2J"), 9, PLAIN).plain == "\\x1b[2J  "


def test_a_cell_that_is_too_long_pushes_its_neighbours() -> None:
    assert at_stops(["ab", "c", "d"], [2, 7, 12]) == "  ab   c    d"
    assert at_stops(["abcdef", "c", "d"], [2, 7, 14]) == "  abcdef  c   d"
