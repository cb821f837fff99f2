"""JSON is read without YAML's parser, which may take 17 s for one MiB: with the same result."""

from __future__ import annotations

import json

import pytest

from vnicaudit.text.yaml_compose import Composed, NotYamlError, composed
from vnicaudit.text.yaml_source import YamlSource

TEXTS = (
    '{"apiVersion":"v1","kind":"List","items":[{"a":1},{"a":-2.5e3},[],{}]}',
    ' [true, false,null ,"", "x # y", "on", "1"]\n',
    '{"a": {"b": "c\\n\\"d\\"\\u00e9\\ud83d\\ude00\\/"},\n  "é": "ü", "": []}\n\n',
    '{"a": 1, "a": 2, "<<": {"b": 3}}',
    json.dumps({"spec": {"list": [[1, "2", {"c": None}], {"x": "{{ y }}"}]}}, indent=2),
)


def _composed(text: str) -> Composed:
    return composed(YamlSource(text.encode(), "f"), 0, text)


@pytest.mark.parametrize("text", TEXTS)
def test_the_nodes_are_those_of_yaml(text: str) -> None:
    """As which it is read with a comment behind it."""
    assert _composed(text) == _composed(f"{text}\n# YAML")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[" * 101 + "]" * 101, "nested"), (f"[{'0,' * 500_000}0]", "values")],
)
def test_its_limits_hold(text: str, problem: str) -> None:
    with pytest.raises(NotYamlError, match=problem):
        _composed(text)
