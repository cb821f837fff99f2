"""Shell text -> words."""

import pytest

from tests.rows import rows
from vnicaudit.platforms.qemu.words import shell_words


@rows
def test_splits_as_a_shell(text: str, words: list[str]) -> None:
    found = shell_words(text, 0)
    assert (found.words, found.problem) == (words, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 'b", "a quotation mark ' is not closed"),
        ('a "b', 'a quotation mark " is not closed'),
        ("a \\", "ends in a continued line"),
        ("a \\\n", "ends in a continued line"),
        ("a" * (5 << 20), "a command line of more than 4 MiB"),
    ],
)
def test_says_when_it_is_not_complete(text: str, problem: str) -> None:
    assert shell_words(text, 0).problem == problem


def test_starts_in_the_middle_and_says_where_it_ended() -> None:
    found = shell_words("first\nsecond word\nthird", 6)
    assert found.words == ["second", "word"]
    assert found.end == len("first\nsecond word")


def test_a_word_of_a_million_parts() -> None:
    """Quadratic time would be minutes here (measured: 25 s for a third of it)."""
    pairs = 800_000
    found = shell_words("'a'b" * pairs + " end", 0)
    assert found.words == ["ab" * pairs, "end"]
    assert found.problem is None
