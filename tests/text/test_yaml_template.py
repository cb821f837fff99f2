"""Templates of YAML: what is left of them, where, and what of it is certain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.regressions.hostile_input.growth import MOST, ratio
from tests.text.parsers import parser as parser
from vnicaudit.text.template_walk import HOLE, is_opened
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents
from vnicaudit.text.yaml_source import TemplateBlock, without_tags


def top(text: str) -> YamlPlace:
    (document,) = documents(text.encode(), "t.yaml")
    assert isinstance(document, YamlDocument), document
    return document.top


def said(text: str, *keys: str) -> str | None:
    place = top(text).at(*keys)
    return None if place is None else place.text


def test_expressions_become_holes_and_statements_blanks() -> None:
    text = "{{- if .x }}\na: {{ .y }}\n{# c #}\n{{- end }}\n"
    assert without_tags(text).text == f"            \na: {HOLE * 8}\n       \n          \n"


def test_what_no_expression_touches_is_certain() -> None:
    text = 'a: {{ .x }}\nb: y-{{ .x }}\nc: \'z\'\nd: "{{ .x | default "q" }}"\n'
    assert [said(text, name) for name in "abcd"] == [None, None, "z", None]
    assert top(text).names() == ["a", "b", "c", "d"]


def test_braces_belong_to_whom_opened_them() -> None:
    assert said("{a: {{ .x }}, b: {c: {{ .y }}}, d: e}", "d") == "e"
    assert said("a: {{ {'b': {}}}}\nc: d\n", "c") == "d"
    assert said('a: {{ print "{" }}\nc: d\n', "c") == "d"


def test_a_condition_makes_uncertain_what_it_surrounds_and_nothing_else() -> None:
    text = "a: 1\n{{- if .x }}\nb: 2\n{{- else }}\nb: 3\n{{- end }}\nc: 4\n"
    assert [said(text, name) for name in "abc"] == ["1", None, "4"]


def test_a_condition_around_all_of_it_makes_nothing_uncertain() -> None:
    assert said("{{- if .x }}\na:\n  b: 1\n{{- end }}\n", "a", "b") == "1"
    assert said("{% for i in x %}\na:\n  b: 1\n{% endfor %}\n", "a", "b") == "1"


def test_a_block_that_is_never_closed_reaches_to_the_end() -> None:
    assert said("a: 1\n{% if x %}\nb: 2\n", "b") is None


def test_what_is_put_in_makes_the_mapping_around_it_incomplete() -> None:
    place = top('a:\n  b: 1\n  {{- include "x" . | nindent 2 }}\nc:\n  d: 1\n')
    inner, other = place.child("a"), place.child("c")
    assert inner is not None
    assert other is not None
    assert [place.complete, inner.complete, other.complete] == [True, False, True]


def test_what_is_put_in_behind_a_key_is_its_value() -> None:
    place = top("a:\n  {{- toYaml .x | nindent 2 }}\nb: 1\n").child("a")
    assert place is not None
    assert (place.certain, place.text) == (False, None)


def test_a_key_that_is_an_expression_makes_its_mapping_incomplete() -> None:
    assert not top("{{ .k }}: 1\nb: 2\n").complete


def test_an_expression_over_several_lines_keeps_them() -> None:
    place = top("a: 1\n{{- /* one\n  two */ -}}\nb: 2\n").child("b")
    assert place is not None
    assert place.line_column == (4, 4)


def test_what_cannot_be_made_yaml_is_named() -> None:
    (error,) = documents(b"a: 1\n  {{ .x }}\n b: [\n", "t.yaml")
    assert str(error).startswith("t.yaml:")
    assert "a template that is not YAML until it is rendered" in str(error)


@given(st.text(alphabet="{}%#-ab: \n\r", max_size=80))
def test_every_position_stays(text: str) -> None:
    mask = without_tags(text)
    assert len(mask.text) == len(text)
    breaks = [(i, c) for i, c in enumerate(text) if c in "\r\n"]
    assert [(i, c) for i, c in enumerate(mask.text) if c in "\r\n"] == breaks
    if not is_opened(text):
        assert mask.text == text


PIECES = st.sampled_from(
    ["{{ if x }}", "{{ else }}", "{{ end }}", "{% for a in b %}", "\n", "a: 1"]
)


@given(st.lists(PIECES, max_size=20).map("".join), st.data())
def test_a_condition_is_over_what_is_in_a_block_and_not_in_the_same(
    text: str, draw: st.DataObject
) -> None:
    mask = without_tags(text)
    outer, inner = (draw.draw(st.integers(0, len(text))) for _ in range(2))
    blocks = [block for block in mask.innermost if block is not None]
    expected = any(block.has(inner) and not block.has(outer) for block in blocks)
    assert mask.conditional(outer, inner) == expected


def test_blocks_end_where_they_are_closed_or_never() -> None:
    text = "{% if a %}b{% else %}c{% endif %}d{% if e %}f"
    found = dict.fromkeys(map(_bounds, without_tags(text).innermost))
    assert list(found) == [(10, 21), (21, 33), None, (44, len(text) + 1)]


def _bounds(block: TemplateBlock | None) -> tuple[int, int] | None:
    return None if block is None else (block.start, block.end)


def _texts_of_all(text: str) -> None:
    place = top(text)
    for name in place.names()[1:]:
        child = place.child(name)
        assert child is not None
        assert child.text is None


def test_many_conditions_cost_no_more_than_their_number() -> None:
    small, large = (
        "a: 1\n" + "".join(f"{{{{ if .v{n} }}}}\nk{n}: 1\n{{{{ end }}}}\n" for n in range(count))
        for count in (250, 2_000)
    )
    assert ratio(_texts_of_all, small, large, tries=2) <= MOST


@pytest.mark.parametrize("tag", ["{{x}}", "{{x}} ", "{% if a %}", "{{ if a }}b", " {# c #}"])
def test_many_tags_in_one_line_are_looked_through_once(tag: str) -> None:
    assert ratio(without_tags, tag * 2_000, tag * 16_000, tries=2) <= MOST
