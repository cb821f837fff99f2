"""Shell text -> words -> options -> the value of one option."""

import pytest

from tests.rows import rows
from vnicaudit.platforms.qemu.arguments import Arguments, parse, parse_unquoted
from vnicaudit.platforms.qemu.options import BrokenOption, lenient, number, options, truth
from vnicaudit.platforms.qemu.words import shell_words


def test_flags_take_no_value_and_others_do() -> None:
    found = parse(["-S", "-name", "-x", "--device", "e1000", "-nodefaults", "disk.img", "-m", "1"])
    assert found == Arguments(
        (("S", None), ("name", "-x"), ("device", "e1000"), ("nodefaults", None), ("m", "1")),
        places=(0, 2, 4, 5, 8),
    )


def test_an_unknown_option_takes_the_next_word_unless_it_is_an_option() -> None:
    assert parse(["-unknown", "parameter", "-new", "-m", "1"]).pairs == (
        ("unknown", "parameter"),
        ("new", None),
        ("m", "1"),
    )


def test_an_option_without_its_value_is_a_problem() -> None:
    assert parse(["-m", "1", "-netdev"]).problem == "ends after -netdev, which takes a value"
    assert parse_unquoted(["-m", "1", "-netdev"]).problem == (
        "ends after -netdev, which takes a value"
    )


def test_without_quotes_a_value_runs_to_the_next_known_option() -> None:
    words = "-smbios type=1,product=OpenStack Nova,uuid=1 -append root=/dev/vda -quiet -S -m 512"
    assert parse_unquoted(words.split()).pairs == (
        ("smbios", "type=1,product=OpenStack Nova,uuid=1"),
        ("append", "root=/dev/vda -quiet"),
        ("S", None),
        ("m", "512"),
    )


def test_the_last_value_counts() -> None:
    found = parse(["-m", "1", "-m", "2", "-S"])
    assert found.last("m") == "2"
    assert found.last("name") is None
    assert found.last("S") is None
    assert found.has("S", "name")
    assert not found.has("name")


@rows
def test_splits_as_a_shell(text: str, words: list[str]) -> None:
    found = shell_words(text, 0)
    assert (found.words, found.problem) == (words, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 'b", "a quotation mark ' is not closed"),
        ('a "b', 'a quotation mark " is not closed'),
        ("a \\", "ends in a continued line"),
        ("a \\\n", "ends in a continued line"),
        ("a" * (5 << 20), "a command line of more than 4 MiB"),
    ],
)
def test_says_when_it_is_not_complete(text: str, problem: str) -> None:
    assert shell_words(text, 0).problem == problem


def test_starts_in_the_middle_and_says_where_it_ended() -> None:
    found = shell_words("first\nsecond word\nthird", 6)
    assert found.words == ["second", "word"]
    assert found.end == len("first\nsecond word")


def test_a_word_of_a_million_parts() -> None:
    """Quadratic time would be minutes here (measured: 25 s for a third of it)."""
    pairs = 800_000
    found = shell_words("'a'b" * pairs + " end", 0)
    assert found.words == ["ab" * pairs, "end"]
    assert found.problem is None


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
