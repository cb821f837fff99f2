"""Words and numbers as libvirt reads them; numbers by virStrToLong_uip of libvirt 11.3."""

from __future__ import annotations

import pytest

from vnicaudit.platforms.domain_xml.values import bus, count, number, word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4), ("0", 0), ("+4", 4), (" 4", 4), ("0004", 4), ("0" * 100 + "7", 7),
        ("4294967295", 4294967295),
        ("4294967296", None), ("9" * 5000, None), ("-1", None), ("4 ", None), ("4k", None),
        ("", None), ("0x10", None), ("1_0", None), ("٣", None),
    ],
)  # fmt: skip
def test_count(text: str, value: int | None) -> None:
    assert count(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x00", 0), ("0XfF", 255), ("255", 255), ("010", 8), ("0", 0), ("00", 0), ("+1", 1),
        ("0x100", None), ("256", None), ("0xfffffffffffffffffffff", None), ("08", None),
        ("0x", None), ("0b1", None), ("0o7", None), ("1_0", None), ("-1", None), ("", None),
    ],
)  # fmt: skip
def test_bus(text: str, value: int | None) -> None:
    assert bus(text) == value


def test_number_has_32_bits() -> None:
    assert number("0xffffffff") == 2**32 - 1
    assert number("0x100000000") is None
    assert number("f" * 1_000_000) is None


def test_a_word_no_libvirt_knows_is_cut_so_that_one_sees_it() -> None:
    assert word("pc-q35-9.2") == "pc-q35-9.2"
    assert word("x" * 200) == "x" * 200
    assert word("x" * 201) == "x" * 200 + "…"
