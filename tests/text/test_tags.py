"""Tags of templates are found in one way, whatever they stand in."""

import pytest

from tests.rows import rows
from vnicaudit.text.template_walk import Turn, is_opened, is_template, tags

FOUND = {
    "a {{ b }} {% c %} {# d #}": ["{{ b }}", "{% c %}", "{# d #}"],
    "{{ {a: {}}}} b": ["{{ {a: {}}}}"],
    "{name: {{ .x }}}": ["{{ .x }}"],
    "{{ never {% if a %}": ["{% if a %}"],
    "${#array[@]} {{ a }} #}": ["{{ a }}"],
    "{{{% a %}": ["{% a %}"],
    "<%= a %> {{ b }}": ["{{ b }}"],
    "{%": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_each_tag_is_found_from_its_opening_to_its_close(text: str) -> None:
    assert [text[tag.start : tag.end] for tag in tags(text)] == FOUND[text]


def test_each_tag_begins_with_an_opener_of_templates() -> None:
    assert not is_template("a = ${#array[@]} %%{if x}")
    assert is_template("a = %{ if x }")


def test_those_of_erb_are_found_where_they_are_asked_for() -> None:
    text = "<%= a %> {{ b }}"
    assert [tag.opener for tag in tags(text, erb=True)] == ["<%", "{{"]
    assert is_opened("<%", erb=True)
    assert not is_opened("<%")


@rows
def test_the_first_word_tells_what_a_tag_does(text: str, first: str, turn: Turn) -> None:
    (tag,) = tags(text)
    assert (tag.word, tag.turn) == (first, turn)
