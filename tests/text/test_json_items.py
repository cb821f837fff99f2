"""JSON files are read object by object, at the places that they have in the whole file."""

import json
from collections.abc import Iterator

import pytest

from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.text import json_items as module
from vnicaudit.text import yaml_compose
from vnicaudit.text.json_items import decoded_place, json_items
from vnicaudit.text.yaml_nodes import Scalar, YamlPlace, documents

Seen = tuple[str, str | None, tuple[int, int], bytes]


def _places(place: YamlPlace, data: bytes) -> Iterator[Seen]:
    """Pointer, text, line and column, and bytes of each value."""
    source, node = place.document.source, place.node
    if isinstance(node, Scalar):
        start, end = source.byte_offset(node.start), source.byte_offset(node.end)
        yield place.pointer, place.text, place.line_column, data[start:end]
    for name in place.names():
        if (child := place.child(name)) is not None:
            yield from _places(child, data)
    for item in place.items():
        yield from _places(item, data)


@rows
def test_each_object_is_where_it_is_in_the_file(text: str, objects: list[str]) -> None:
    """In the file read as a whole, as YAML or JSON Lines."""
    data = text.encode()
    items = json_items(data)
    assert items is not None
    assert [item.top for item in items] == objects
    found = [seen for item in items for seen in _places(item.document("f").top, data)]
    whole = [seen for each in documents(data, "f") if not isinstance(each, TargetError)
             for seen in _places(each.top, data)]  # fmt: skip
    assert found
    inside = tuple(f"{top}/" for top in objects)
    assert found == [seen for seen in whole if seen[0].startswith(inside)]


def test_values_one_behind_the_other() -> None:
    """As ``kubectl get --watch -o json`` prints them."""
    one = '{\n    "kind": "VirtualMachine",\n    "spec": {\n        "a": "}\\n{"\n    }\n}\n'
    items = json_items((one * 2).encode())
    assert items is not None
    places = [item.document("f").top.at("spec", "a") for item in items]
    assert [(place.pointer, place.text, place.line_column) for place in places if place] == [
        ("[1]/spec/a", "}\n{", (4, 14)), ("[2]/spec/a", "}\n{", (10, 14)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "a: 1\n", "[{}]", '{"a": 1', '{"a": 1}\n---\n{"a": 1}', "{a: 1}", "[" * 9999,
             '{"a":' * 9999, '{"kind": "List", "items": [{"a": 1]}', '{"a": 1} # c']
)  # fmt: skip
def test_what_is_no_json_object_is_left_to_the_reader_of_yaml(text: str) -> None:
    assert json_items(text.encode()) is None


@pytest.mark.parametrize(
    "text", ['{"kind": "List", "items": {}}', '{"items": [{}], "kind": "List", "items": [{}]}',
             '{"kind": "Pod", "items": [{}]}', '{"kind": ["List"], "items": [{}]}', "{}"]
)  # fmt: skip
def test_what_is_no_list_is_one_object(text: str) -> None:
    items = json_items(text.encode())
    assert items is not None
    assert [(item.top, item.text) for item in items] == [("", text)]


def test_limits_are_those_of_an_object_not_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_compose, "MAX_VALUES", 100)
    text = json.dumps({"kind": "List", "items": [{"a": [0] * 60}] * 3 + [{"a": [0] * 120}]})
    items = json_items(text.encode())
    assert items is not None
    assert [len(list(_places(item.document("f").top, b""))) for item in items[:3]] == [60] * 3
    with pytest.raises(TargetError, match="more than 100 values"):
        items[3].document("f")
    monkeypatch.setattr(module, "MAX_STEPS", 100)
    with pytest.raises(TargetError, match="JSON of more than 100 values"):
        json_items(text.encode())
    with pytest.raises(TargetError, match="JSON of more than 100 values"):  # before it is decoded
        json_items(text.encode() + b"\n{")


@pytest.mark.parametrize(
    ("text", "problem"),
    [(b'{"a":' + b"[" * 120 + b"]" * 120 + b"}", "nested"), (b'{"a": "\xff"}', "UTF-8"),
     (b'{"a": "%s"}' % (b"x" * (8 << 20)), "larger than 8 MiB")],
)  # fmt: skip
def test_an_object_that_cannot_be_read(text: bytes, problem: str) -> None:
    items = json_items(b'{"kind": "List", "items": [\n{},\n' + text + b"]}")
    assert items is not None
    with pytest.raises(TargetError, match=problem) as error:
        items[1].document("f")
    assert error.value.line == 3


def test_a_decoded_value_is_read_as_its_text_without_lines() -> None:
    value = {"a/b": [{"c": "x", "d": True, "e": 7, "f": None, "g": 1.5, "h": "on", "i": "$(X)"}]}
    top = decoded_place(value, "kube:c")
    (item,) = top.child("a/b").items()  # type: ignore[union-attr]
    read = {name: item.child(name) for name in item.names()}
    assert read.pop("f") is None
    assert {name: place and (place.text, place.boolean, place.integer) for name, place in
            read.items()} == {
        "c": ("x", None, None), "d": ("true", True, None), "e": ("7", None, 7),
        "g": ("1.5", None, None), "h": ("on", None, None), "i": ("$(X)", None, None),
    }  # fmt: skip
    assert item.pointer == "/a~1b/0"
    assert item.complete
    assert item.line_column == (0, 0)


def test_a_decoded_value_of_many_levels() -> None:
    """A list inside of a list, which Kubernetes has nowhere, is taken for empty."""
    value: object = 1
    for _ in range(2000):
        value = [value]
    top = decoded_place({"a": value}, "kube:c")
    (item,) = top.child("a").items()  # type: ignore[union-attr]
    assert item.items() == []
