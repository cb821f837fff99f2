"""JSON that can be written, shown on a terminal and read back."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.reports.safe import encode, encode_items


def test_characters_that_do_not_print_are_escaped_and_survive() -> None:
    text = "\x1b\x7f\x9b\u202e\U000e0001 größe"
    data = encode({"name": text})
    assert data == '{"name":"\\u001b\\u007f\\u009b\\u202e\\udb40\\udc01 größe"}'
    assert msgspec.json.decode(data) == {"name": text}


def test_a_file_name_that_is_not_utf8_is_written_visibly() -> None:
    assert encode(["latin1-\udce9.xml"]) == '["latin1-\\\\xe9.xml"]'
    assert encode_items(["a", "\udce9"]) == '"a",\n"\\\\xe9"'


def test_items_stand_on_lines_of_their_own() -> None:
    assert encode_items([{"a": "1\n2"}, {"a": "3"}]) == '{"a":"1\\n2"},\n{"a":"3"}'


@given(st.lists(st.text(st.characters(exclude_categories=())), min_size=1))
def test_any_text_makes_parseable_json(texts: list[str]) -> None:
    data = f"[{encode_items(texts)}]"
    data.encode("utf-8")
    assert all(line.isprintable() for line in data.split("\n"))
    assert len(json.loads(data)) == len(texts)
    if not any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        assert json.loads(data) == texts
