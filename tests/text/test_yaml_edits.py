"""Edits of YAML and JSON: found by pointer, in the manner of what stands around, or refused."""

import pytest

from tests.rows import rows
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


@rows
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


@rows
def test_a_value_keeps_its_quotes_and_its_surroundings(before: str, after: str) -> None:
    assert set_value(before, "/a", "new") == after


@rows
def test_a_value_that_is_not_changed(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        set_value(text, "/a", "new")


@pytest.mark.parametrize("value", ["", "a b", "a: b", "1", "#", "{{ x }}", "a\nb"])
def test_a_value_that_is_not_written(value: str) -> None:
    with pytest.raises(RefusedError, match="does not stand here literally"):
        set_value("a: x\n", "/a", value)


@rows
def test_a_key_stands_behind_another_as_that_does(before: str, after: str) -> None:
    assert set_key(before, "/a", "k", "v", "b") == after


@rows
def test_a_key_that_is_not_put_in(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        set_key(text, "/a", "k", "v", "b")
