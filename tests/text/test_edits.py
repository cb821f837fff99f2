"""Edits of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.text.edits import Edit, OverlappingEditsError, applied


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], b"abcdef"),
        ([Edit(1, 2, b"XY")], b"aXYcdef"),
        ([Edit(0, 0, b">")], b">abcdef"),
        ([Edit(6, 6, b"<")], b"abcdef<"),
        ([Edit(4, 6, b""), Edit(0, 1, b"1")], b"1bcd"),
        ([Edit(1, 2, b"X"), Edit(1, 2, b"X")], b"aXcdef"),
        ([Edit(1, 2, b""), Edit(2, 3, b"")], b"adef"),
    ],
)
def test_edits(edits: list[Edit], expected: bytes) -> None:
    assert applied(b"abcdef", edits) == expected


@pytest.mark.parametrize("other", [Edit(1, 3, b"Y"), Edit(2, 2, b"Y"), Edit(0, 2, b"")])
def test_edits_of_the_same_bytes(other: Edit) -> None:
    with pytest.raises(OverlappingEditsError, match="two edits of byte"):
        applied(b"abcdef", [Edit(1, 3, b"X"), other])


@pytest.mark.parametrize("edit", [Edit(-1, 0, b""), Edit(2, 1, b""), Edit(0, 7, b"")])
def test_edits_outside(edit: Edit) -> None:
    with pytest.raises(ValueError, match="of 6"):
        applied(b"abcdef", [edit])


@given(st.binary(max_size=50), st.data())
def test_an_edit_leaves_the_rest(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    new = draw.draw(st.binary(max_size=5))
    result = applied(data, [Edit(start, end, new)])
    assert (result[:start], result[start + len(new) :]) == (data[:start], data[end:])
