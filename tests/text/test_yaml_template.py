"""Templates of YAML: what is left of them, where, and what of it is certain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.text.yaml_nodes import Document, Place, documents
from vnicaudit.text.yaml_template import HOLE, is_template, masked


def top(text: str) -> Place:
    (document,) = documents(text.encode(), "t.yaml")
    assert isinstance(document, Document), document
    return document.top


def said(text: str, *keys: str) -> str | None:
    place = top(text).at(*keys)
    return None if place is None else place.text


def test_expressions_become_holes_and_statements_blanks() -> None:
    text = "{{- if .x }}\na: {{ .y }}\n{# c #}\n{{- end }}\n"
    assert masked(text).text == f"            \na: {HOLE * 8}\n       \n          \n"


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
    assert "a template that is no YAML before it is rendered" in str(error)


@given(st.text(alphabet="{}%#-ab: \n\r", max_size=80))
def test_every_position_stays(text: str) -> None:
    mask = masked(text)
    assert len(mask.text) == len(text)
    breaks = [(i, c) for i, c in enumerate(text) if c in "\r\n"]
    assert [(i, c) for i, c in enumerate(mask.text) if c in "\r\n"] == breaks
    if not is_template(text):
        assert mask.text == text
