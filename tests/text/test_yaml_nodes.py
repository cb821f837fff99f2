"""YAML as nodes with positions: what it says, where, and what it refuses."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.not_run import not_run
from tests.rows import rows
from tests.text.parsers import C_PARSER
from tests.text.parsers import parser as parser
from vnicaudit.errors import TargetError
from vnicaudit.text.yaml_nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    YamlDocument,
    YamlPlace,
    documents,
    ranges_of,
)


def read(text: str | bytes) -> list[YamlDocument | TargetError]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(documents(data, "f.yaml"))


def top(text: str | bytes) -> YamlPlace:
    (document,) = read(text)
    assert isinstance(document, YamlDocument)
    return document.top


def errors(text: str | bytes) -> list[str]:
    return [str(found) for found in read(text) if isinstance(found, TargetError)]


def at(text: str, *keys: str) -> YamlPlace:
    place = top(text).at(*keys)
    assert place is not None
    return place


def test_the_c_parser_is_used_where_it_is_installed() -> None:
    if not C_PARSER:
        not_run("tests/text", "ruamel.yaml.clib is not installed")


def test_a_value_with_its_place() -> None:
    place = at("# c\na:\n  b: 'x'\n", "a", "b")
    assert (place.text, place.pointer, place.line_column) == ("x", "/a/b", (3, 6))
    assert place.document.source.written(place.node) == "'x'"


def test_items_of_lists_and_keys_with_slashes() -> None:
    place = at("a/b:\n- ~: 1\n- {x~y: 2}\n", "a/b").items()[1].child("x~y")
    assert place is not None
    assert (place.pointer, place.integer) == ("/a~1b/1/x~0y", 2)


def test_positions_are_characters_and_bytes_of_the_file() -> None:
    data = "\ufeffé: 1\r\nb: ü\r\n".encode()
    place = top(data).child("b")
    assert place is not None
    assert place.line_column == (2, 4)
    start, end = (
        place.document.source.byte_offset(position)
        for position in (place.node.start, place.node.end)
    )
    assert data[start:end] == "ü".encode()


@rows
def test_booleans_are_those_of_yaml_1_1(text: str, value: bool | None) -> None:
    assert at(f"a: {text}", "a").boolean is value


@pytest.mark.parametrize(
    ("text", "value"), [("4", 4), ("-2", -2), ("'4'", None), ("4.0", None), ("0x4", None)]
)
def test_integers(text: str, value: int | None) -> None:
    assert at(f"a: {text}", "a").integer == value


@pytest.mark.parametrize("text", ["a:", "a: ~", "a: null", "a: # c", "b: 1"])
def test_what_is_null_is_not_there(text: str) -> None:
    assert top(text).child("a") is None


def test_a_quoted_nothing_is_a_text() -> None:
    assert at("a: ''", "a").text == ""


def test_documents_are_counted_as_yaml_counts_them() -> None:
    text = "# only a comment\n---\na: 1\n---\n---\n%YAML 1.2\n" + "b: 1\n"
    found = read("a: 1\n...\n# c\n---\nb: 2\n--- {c: 3}\n")
    pointers = [one.top.pointer for one in found if isinstance(one, YamlDocument)]
    assert pointers == ["[1]", "[2]", "[3]"]
    assert [str(one.number) for one in read("---\na: 1\n") if isinstance(one, YamlDocument)] == [
        "1"
    ]
    assert len(list(ranges_of(text))) == 3


def test_a_directive_belongs_to_what_follows() -> None:
    assert at("%YAML 1.1\n---\na: x\n", "a").text == "x"


def test_a_marker_in_a_block_ends_the_document_as_yaml_says() -> None:
    found = read("a: |\n  x\n--- y\n")
    assert [isinstance(one, YamlDocument) for one in found] == [True, True]


def test_an_error_leaves_the_other_documents() -> None:
    first, second, third = read("a: 1\n---\nx: 1\n y: [\n---\nb: 2\n")
    assert isinstance(first, YamlDocument)
    assert isinstance(third, YamlDocument)
    assert isinstance(second, TargetError)
    assert (second.file, second.line) == ("f.yaml", 4)
    assert second.message.startswith("not YAML: ")


def test_what_is_not_wanted_is_passed_over_and_counted() -> None:
    found = list(documents(b"a: [\n---\nb: 1\n", "f", lambda text: "b" in text))
    assert [one.number for one in found if isinstance(one, YamlDocument)] == [2]
    assert len(found) == 1


def test_merge_keys() -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 0\n"
    place = at(text, "z")
    found = {name: place.child(name) for name in ("a", "b", "c")}
    assert {name: one and one.integer for name, one in found.items()} == {"a": 0, "b": 1, "c": 2}
    assert {name: one and one.shared for name, one in found.items()} == {
        "a": False, "b": True, "c": True,
    }  # fmt: skip


def test_what_an_anchor_names_is_shared_wherever_it_is() -> None:
    text = "a: &x {k: 1}\nb: *x\nc: {k: 1}\n"
    assert [at(text, name, "k").shared for name in "abc"] == [True, True, False]


@rows
def test_json_lines_are_documents(text: str, pointers: list[str]) -> None:
    found = [document for document in read(text) if isinstance(document, YamlDocument)]
    assert [document.top.pointer for document in found] == pointers
    assert [document.top.names() for document in found] == [["a"]] * len(pointers)


@pytest.mark.parametrize("text", ['{"a": 1}\n{"a": 2}\nb\n', '{"a": 1}\n{"a": [\n1]}\n'])
def test_what_is_not_all_json_lines_is_no_yaml(text: str) -> None:
    (error,) = errors(text)
    assert error.startswith("f.yaml:2: not YAML: ")


def test_utf_16_is_named_as_what_it_is() -> None:
    for mark in (b"\xff\xfe", b"\xfe\xff"):
        with pytest.raises(TargetError, match="UTF-16 is not supported; save it as UTF-8"):
            read(mark + b"a\0")


def test_keys_that_stand_twice_are_named_and_the_last_counts() -> None:
    (document,) = read("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert isinstance(document, YamlDocument)
    lines = [
        tuple(document.source.line_column(key.start)[0] for key in pair)
        for pair in document.duplicates
    ]
    assert lines == [(2, 2), (1, 3)]
    place = document.top.child("a")
    assert place is not None
    assert place.integer == 3


def test_billion_laughs_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert errors("\n".join(lines)) == [
        "f.yaml:6: not YAML: more than 500000 values, with aliases expanded"
    ]


def test_a_chain_of_merges_is_refused_before_it_is_followed() -> None:
    lines = ["a0: &a0 {k: 1}"] + [f"a{n}: &a{n} {{<<: *a{n - 1}}}" for n in range(1, 2000)]
    (message,) = errors("\n".join(lines))
    assert "nested more than 100 levels deep" in message


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening: str) -> None:
    (message,) = errors(opening * 5000)
    assert "nested more than 100 levels deep" in message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &a [*a]", "an alias whose anchor does not exist, or comes later"),
        ("a: *b", "an alias whose anchor does not exist, or comes later"),
        (b"a: \xff", "not UTF-8, which YAML must be"),
        ("a: \x01", "a character that YAML does not allow"),
        ("a: {{b}", "not YAML"),
    ],
)
def test_what_is_no_yaml_is_an_error_with_its_line(text: str | bytes, problem: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    try:
        (message,) = errors(b"x: 1\n" + data)
    except TargetError as error:
        message = str(error)
    assert message.startswith("f.yaml:2: ")
    assert problem in message


def test_a_large_file_is_refused() -> None:
    with pytest.raises(TargetError, match="larger than 8 MiB"):
        read(b"#" * (8 * 1024 * 1024 + 1))


def test_json_with_tabs_and_escapes() -> None:
    place = at('{\n\t"a": "\\ud83d\\ude00 \\u00e9",\n\t"b": "\\ud83d"\n}\n', "a")
    assert (place.text, place.line_column) == ("\U0001f600 é", (2, 7))
    lone = place.document.top.child("b")
    assert lone is not None
    assert (lone.text or "").encode()


@pytest.mark.parametrize(
    "text", ["${X}", "$(X)", "$NAME", "<name>", "@NAME@", "a-%NAME%", "ENC[a]"]
)
def test_a_placeholder_is_no_text(text: str) -> None:
    assert at(f"a: '{text}'", "a").text is None


def test_where_nothing_stands_behind_a_colon() -> None:
    (document,) = read("a:\n# c\nb: 1\n")
    assert isinstance(document, YamlDocument)
    assert isinstance(document.root, Mapping)
    assert [value.start for _key, value in document.root.pairs] == [2, 10]


PLAIN = st.text(
    st.characters(categories=["L", "N"], include_characters=" -_'\":#,[]{}&*!|>%@"), max_size=20
)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=12,
)


def value_of(node: Node) -> object:
    """The data that a node stands for."""
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    if isinstance(node, Mapping):
        return {value_of(key): value_of(value) for key, value in node.pairs}
    return json.loads(node.text) if node.plain else node.text


@given(DATA, st.sampled_from([None, "\t", 2]), st.booleans())
def test_json_says_what_it_says(data: object, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    (document,) = read(text)
    assert isinstance(document, YamlDocument)
    assert value_of(document.root) == data
    _check_spans(document, document.root)


def _check_spans(document: YamlDocument, node: Node) -> None:
    """What a scalar covers is its own text and its quotes, and a list covers its items."""
    if isinstance(node, Scalar):
        written = document.source.written(node)
        if node.plain and "\n" not in written:
            assert written == node.text
        if not node.plain:
            assert written[0] == written[-1]
            assert written[0] in "'\""
    else:
        inner = node.items if isinstance(node, Sequence) else [n for p in node.pairs for n in p]
        for one in inner:
            assert node.start <= one.start <= one.end <= node.end
            _check_spans(document, one)


@given(st.binary(max_size=200) | st.text(alphabet="a:-[]{}&*!|>'\"#%@\n\t ~{%}<", max_size=60))
def test_anything_is_read_or_refused(data: bytes | str) -> None:
    with suppress(TargetError):
        for found in read(data):
            if isinstance(found, YamlDocument):
                for key in found.top.names():
                    found.top.child(key)
