"""JSON is read without YAML's parser, which may take 17 s for one MiB: with the same result."""

import pytest

from tests.rows import rows
from vnicaudit.text.yaml_compose import Composed, NotYamlError, composed
from vnicaudit.text.yaml_source import YamlSource


def _composed(text: str) -> Composed:
    return composed(YamlSource(text.encode(), "f"), 0, text)


@rows
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
