"""Tags of templates are found in one way, whatever they stand in."""

from __future__ import annotations

import pytest

from vnicaudit.text.tags import is_opened, is_statement, tags, word

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


def test_those_of_erb_are_found_where_they_are_asked_for() -> None:
    text = "<%= a %> {{ b }}"
    assert [tag.opener for tag in tags(text, erb=True)] == ["<%", "{{"]
    assert is_opened("<%", erb=True)
    assert not is_opened("<%")


@pytest.mark.parametrize(
    ("tag", "first", "statement"),
    [
        ("{%- if a %}", "if", True),
        ("{{ end }}", "end", True),
        ("{{/* said */}}", "/*", True),
        ("{% endfor %}", "endfor", True),
        ("{{ .Values.a }}", "", False),
        ("{% include 'a' %}", "include", False),
    ],
)
def test_the_first_word_tells_a_statement(tag: str, first: str, *, statement: bool) -> None:
    assert word(tag) == first
    assert is_statement(first) is statement
