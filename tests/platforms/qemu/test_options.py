"""One option's value."""

import pytest

from tests.rows import rows
from vnicaudit.platforms.qemu.options import BrokenOption, lenient, number, options, truth


@rows
def test_syntax(text: str, first: str, expected: dict[str, str]) -> None:
    assert options(text, first) == expected


@pytest.mark.parametrize(
    "text", ['{"driver":"virt', "{", '{"a":1}x', "{" * 100_000, '{"a":' * 5000, "{1}"]
)
def test_json_that_is_cut_is_not_guessed_at(text: str) -> None:
    with pytest.raises(BrokenOption, match="JSON"):
        options(text)
    assert lenient(text) == {}


def test_a_value_of_a_mebibyte_is_not_looked_into() -> None:
    with pytest.raises(BrokenOption, match="mebibyte"):
        options("a" * (1 << 20) + "b")


def test_the_number_of_keys_is_bounded() -> None:
    assert len(options(",".join(f"k{i}=1" for i in range(9000)))) == 4096


@pytest.mark.parametrize(
    ("word", "value"),
    [("on", True), ("YES", None), ("true", True), ("off", False), ("no", False), ("n", False),
     ("auto", None), ("", None), (None, None)],
)  # fmt: skip
def test_truth(word: str | None, value: bool | None) -> None:
    assert truth(word) is value


@pytest.mark.parametrize(
    ("word", "value"),
    [("8", 8), (" 8", 8), ("8 ", None),
     ("010", 8), ("08", None), ("1_0", None), ("0x10", 16),
     ("-1", None), ("1e3", None), ("4294967296", None),
     ("9" * 5000, None), ("٣", None), (None, None)],
)  # fmt: skip
def test_number(word: str | None, value: int | None) -> None:
    assert number(word) == value
