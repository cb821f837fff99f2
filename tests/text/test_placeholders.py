"""What is a placeholder, and what only looks a little like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows
from vnicaudit.text.beginning import is_only_placeholder, opened, placeholder_text


@rows
def test_a_placeholder(text: str) -> None:
    assert is_only_placeholder(text)


@rows
def test_a_value(text: str) -> None:
    assert not is_only_placeholder(text)


@pytest.mark.parametrize("text", ["a-${x}", "/run/{{ x }}/s", "q<%= n %>", "a{% if x %}", "a#{x}"])
def test_the_beginning_of_one_in_a_text(text: str) -> None:
    assert opened(text)
    assert not is_only_placeholder(text)


@pytest.mark.parametrize("text", ["vnet%d", "a$b", "me@host", "__x__", "{a}", "$(x)", "a % {b"])
def test_what_a_name_may_hold(text: str) -> None:
    assert not opened(text)


@given(st.text(alphabet="{}<>%$@#()[]_ab: \n", max_size=40))
def test_blanks_around_a_text_change_nothing(text: str) -> None:
    assert is_only_placeholder(text) == is_only_placeholder(f" {text}\n")


def test_a_long_one_is_cut_and_in_one_line() -> None:
    assert placeholder_text("${a\n  b}") == "${a b}"
    assert placeholder_text("${" + "x" * 99 + "}") == "${" + "x" * 37 + "…"
