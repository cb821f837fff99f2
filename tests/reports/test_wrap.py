"""Lines fit, and nothing is cut."""

from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.reports.safe import fold, width_of, wrap


def test_words_go_to_the_next_line_indented() -> None:
    assert wrap("one two three four", 12, "  ", "    ") == "  one two\n    three\n    four\n"


def test_a_word_wider_than_the_line_stands_alone_and_whole() -> None:
    assert wrap("see /very/long/path/name.xml:12 now", 12, "", "  ") == (
        "see\n  /very/long/path/name.xml:12\n  now\n"
    )


def test_colour_takes_no_room() -> None:
    red = "\x1b[31mhigh\x1b[0m"
    assert fold([red, red], 10, "", "  ", "  ") == "\x1b[31mhigh\x1b[0m  \x1b[31mhigh\x1b[0m\n"
    assert fold([red, red], 9, "", "  ", "  ") == "\x1b[31mhigh\x1b[0m\n  \x1b[31mhigh\x1b[0m\n"


def test_east_asian_characters_take_two_columns() -> None:
    assert width_of("日本") == 4
    assert wrap("日本 日本", 8, "", "") == "日本\n日本\n"


@given(st.lists(st.text("ab日", min_size=1), min_size=1), st.integers(20, 120))
def test_every_word_survives_and_only_single_words_are_too_wide(
    words: list[str], width: int
) -> None:
    text = wrap(" ".join(words), width, "  ", "    ")
    assert text.split() == words
    for line in text.splitlines():
        assert width_of(line) <= width or len(line.split()) == 1
