"""HCL: values with their places, and where reading ends."""

from contextlib import suppress

import pytest

from tests.regressions.hostile_input.growth import MOST, ratio
from tests.rows import rows, rows_of_tuples
from vnicaudit.errors import TargetError
from vnicaudit.platforms.infra_code.hcl import MAX_LENGTH, blocks
from vnicaudit.platforms.infra_code.records import Value


def _body(text: str) -> Value:
    (block,) = blocks(f"a {{\n{text}\n}}\n", "f")
    return block.body


@rows
def test_values(written: str, kind: str, text: str, certain: bool) -> None:
    found = _body(f"  k = {written}").get("k")
    assert found is not None
    assert (found.kind, found.text, found.certain) == (kind, text, certain)
    assert (found.line, found.column) == (2, 7)


def test_lists_with_comments() -> None:
    found = _body("  k = [\n    1, # one\n    # none\n    { a = 2 },\n  ]").get("k")
    assert found is not None
    assert [(item.kind, item.line) for item in found.items()] == [("scalar", 3), ("map", 5)]


@pytest.mark.parametrize("nested", ["[" * 3000 + "]" * 3000, "{a=" * 3000 + "1" + "}" * 3000])
def test_what_is_nested_deeply_is_not_certain(nested: str) -> None:
    found = _body(f"  k = {nested}").get("k")
    for _level in range(100):
        if found is not None and found.entries:
            found = found.entries[0][1]
    assert found is not None
    assert (found.kind, found.certain) == ("other", False)


def test_blocks_and_attributes_stand_in_bodies() -> None:
    text = (
        'top = 1\nresource "ü" "${a}" { size = 2 }\n'
        "a-b c {\n  # d\n  e = { f : 1, g = [2] } // h\n\n  i {\n    j = 3 /* k */\n  }\n}\n"
    )
    first, second = blocks(text, "f")
    assert (first.type, first.labels, first.body.line, first.body.column) == (
        "resource", ("ü", "${a}"), 2, 1
    )  # fmt: skip
    assert first.body.scalar("size") == "2"
    assert (second.type, second.labels, second.body.line) == ("a-b", ("c",), 3)
    assert second.body.scalar("e", "f") == "1"
    assert [key.text for key, _value in second.body.entries if key is not None] == ["e"]


def test_keys_that_are_expressions_are_not_certain() -> None:
    found = _body('  k = {\n a = 1, "b": 2\n (c) = 3\n "d${e}" = 4, f.g = 5, 6 = 7 }').get("k")
    assert found is not None
    keys = [(key.text, key.certain) for key, _value in found.entries if key is not None]
    assert keys == [("a", True), ("b", True), ("(c)", False), ("d${e}", False), ("f.g", False),
                    ("6", True)]  # fmt: skip


def test_ends_of_lines_mean_nothing_in_a_list() -> None:
    found = _body("  k = [\n a\n == b,\n\n c\n ]").get("k")
    assert found is not None
    assert [item.text for item in found.items()] == ["a\n == b", "c"]


@rows_of_tuples
def test_a_text_of_twice_the_size_takes_twice_as_long(pieces: tuple[str, str]) -> None:
    """And no depth is too much: a hostile one would end in a stack that overflows."""
    small, large = (_nested(pieces, count) for count in (4_000, 32_000))
    assert ratio(_read, small, large) <= MOST


def test_comments_without_an_end_are_looked_at_once() -> None:
    small, large = ('k = "${' + "/* " * count for count in (2_000, 16_000))
    assert ratio(_read, small, large, tries=2) <= MOST


def _nested(pieces: tuple[str, str], count: int) -> str:
    opening, closing = pieces
    return "k = " + opening * count + "1" + closing * count


def _read(text: str) -> None:
    with suppress(TargetError):
        blocks(text, "f")


def test_a_long_file_is_refused() -> None:
    with pytest.raises(TargetError, match="larger than 512 KiB: not read"):
        blocks("#" * (MAX_LENGTH + 1), "f")


@rows
def test_what_is_not_read_is_told_with_its_line(text: str, message: str, line: int) -> None:
    with pytest.raises(TargetError) as caught:
        blocks(text, "f")
    expected = f"the HCL parser cannot read it: unexpected {message}"
    assert (caught.value.message, caught.value.line) == (expected, line)
