"""Hostile text is shown, not obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows
from vnicaudit.reports.safe import (
    annotation,
    annotation_property,
    csv_cell,
    markdown,
    markdown_code,
    safe,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("web-01", "web-01"),
        ("größe-日本", "größe-日本"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("evil\u202etxt.exe", "evil\\u202etxt.exe"),
        ("zero\u200bwidth\u2060\ufeff", "zero\\u200bwidth\\u2060\\ufeff"),
        ("line\u2028separator", "line\\u2028separator"),
        ("variation\ufe0f", "variation\\ufe0f"),
        ("filler\u3164", "filler\\u3164"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("selector\U000e0100", "selector\\U000e0100"),
        ("latin1-\udce9.xml", "latin1-\\xe9.xml"),
        ("half\ud83d", "half\\ud83d"),
        ("nul\x00del\x7f", "nul\\x00del\\x7f"),
        ("no\u00a0break", "no\\xa0break"),
    ],
)
def test_control_and_invisible_characters_are_written_out(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_safe_text_is_one_printable_line_of_utf8(text: str) -> None:
    shown = safe(text)
    shown.encode("utf-8")
    assert shown.isprintable()
    assert safe(shown) == shown


@rows
def test_markdown_makes_no_markup_links_or_mentions(text: str, escaped: str) -> None:
    assert markdown(text) == escaped


@rows
def test_a_code_span_holds_whatever_the_name_is(text: str, span: str) -> None:
    assert markdown_code(text) == span


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_a_cell_is_never_a_formula(sign: str) -> None:
    assert csv_cell(f"{sign}cmd|' /C calc'!A0") == f"'{sign}cmd|' /C calc'!A0"
    assert csv_cell(f"a{sign}b") == f"a{sign}b"


def test_annotations_cannot_be_ended_or_begun_by_their_text() -> None:
    assert annotation("100%", "a\n::error::b") == "100%25%0Aa\\n::error::b"
    assert annotation_property("C:\\a,b%") == "C%3A\\a%2Cb%25"
