"""Edits of YAML and JSON: found by pointer, in the manner of what stands around, or refused."""

from __future__ import annotations

import pytest

from tests.text.parsers import parser as parser
from vnicaudit.errors import RefusedError
from vnicaudit.text.edits import applied
from vnicaudit.text.yaml_edits import at_pointer, with_key, with_value
from vnicaudit.text.yaml_nodes import Node, YamlDocument, YamlPlace, documents


def top(text: str) -> YamlPlace:
    (document,) = documents(text.encode(), "f.yaml")
    assert isinstance(document, YamlDocument), document
    return document.top


def at(text: str, pointer: str) -> YamlPlace:
    place = at_pointer(top(text), pointer)
    assert place is not None
    return place


def set_value(text: str, pointer: str, value: str) -> str:
    return applied(text.encode(), [with_value(at(text, pointer), value)]).decode()


def set_key(text: str, pointer: str, key: str, value: str, after: str) -> str:
    return applied(text.encode(), [with_key(at(text, pointer), key, value, (after,))]).decode()


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("/a/0/b", "1"),
        ("/a/1", "2"),
        ("[1]/a/1", "2"),
        ("/c~1d/e~0f", "3"),
        ("/a/2", None),
        ("/a/-1", None),
        ("/a/x", None),
        ("/a/\u0662", None),
        ("/a/1/b", None),
        ("/x", None),
    ],
)
def test_a_pointer_names_a_value(pointer: str, text: str | None) -> None:
    found = at_pointer(top("a: [{b: 1}, 2]\nc/d: {e~f: 3}\n"), pointer)
    assert (found and found.text) == text


def test_a_pointer_to_the_document() -> None:
    place = top("a: 1\n")
    assert at_pointer(place, "") == at_pointer(place, "/") == place


def test_of_a_list_only_the_item_that_is_named_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    place = top("a: [" + ", ".join(["{b: 1}"] * 500) + "]\n")
    built: list[str] = []
    build = YamlPlace._to

    def counted(
        self: YamlPlace, node: Node, start: int, step: str, *, shared: bool = False
    ) -> YamlPlace:
        built.append(step)
        return build(self, node, start, step, shared=shared)

    monkeypatch.setattr(YamlPlace, "_to", counted)
    assert at_pointer(place, "/a/499/b") is not None
    assert built == ["a", "499", "b"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: x # c\n", "a: new # c\n"),
        ("a: 'x'\n", "a: 'new'\n"),
        ('{"a": "x"}', '{"a": "new"}'),
        ("a:\r\n  x\r\n", "a:\r\n  new\r\n"),
        (
            "b: \u00e9\u00e9\n\u00fc: \U0001f600\na: x\n",
            "b: \u00e9\u00e9\n\u00fc: \U0001f600\na: new\n",
        ),
        ("\ufeffa: x\n", "\ufeffa: new\n"),
    ],
)
def test_a_value_keeps_its_quotes_and_its_surroundings(before: str, after: str) -> None:
    assert set_value(before, "/a", "new") == after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x b\n", "an anchor shares this"),
        ("b: &x c\na: *x\n", "an anchor shares this"),
        ("a: |\n  b\n", "not a simple value"),
        ("a: 'b\n  c'\n", "not a simple value"),
        ("a: [b]\n", "not a simple value"),
        ("a: !!str b\n", "not a simple value"),
        ("a: {{ .x }}\n", "a template fills this in"),
        ("{{- if .x }}\nb: 1\n{{- else }}\na: b\n{{- end }}\n", "a template fills this in"),
    ],
)
def test_a_value_that_is_not_changed(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        set_value(text, "/a", "new")


@pytest.mark.parametrize("value", ["", "a b", "a: b", "1", "#", "{{ x }}", "a\nb"])
def test_a_value_that_is_not_written(value: str) -> None:
    with pytest.raises(RefusedError, match="does not stand here literally"):
        set_value("a: x\n", "/a", value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n  b: 1 # c\n  d: 2\n", "a:\n  b: 1 # c\n  k: v\n  d: 2\n"),
        ("a:\n  b:\n  - 1\n  - c: 2\n\nd: 3\n", "a:\n  b:\n  - 1\n  - c: 2\n  k: v\n\nd: 3\n"),
        ("a: {b: [1, 2], d: 2}\n", "a: {b: [1, 2], k: v, d: 2}\n"),
        ("a: {  b: 1}", "a: {  b: 1,  k: v}"),
        ('{"a": {\n  "b": 1\n}}', '{"a": {\n  "b": 1,\n  "k": "v"\n}}'),
        ("a:\r\n  b: 1\r\n", "a:\r\n  b: 1\r\n  k: v\r\n"),
        ("a:\n  b: \u00e9", "a:\n  b: \u00e9\n  k: v"),
    ],
)
def test_a_key_stands_behind_another_as_that_does(before: str, after: str) -> None:
    assert set_key(before, "/a", "k", "v", "b") == after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: {c: 1}\n", "k cannot be added: there is no b to put it next to"),
        ("a: {b: 1, k: }\n", "k has no value"),
        ("a: [b]\n", "a template may put more in here"),
        ("x: &x [1]\na:\n  b: *x\n", "this is an alias"),
        ('a:\n  b: 1\n  {{- include "x" . | nindent 2 }}\n', "a template may put more in here"),
        ("a: &x\n  b: 1\n", "an anchor shares this"),
    ],
)
def test_a_key_that_is_not_put_in(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        set_key(text, "/a", "k", "v", "b")
