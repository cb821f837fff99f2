"""Words and numbers as libvirt reads them; numbers by virStrToLong_uip of libvirt 11.3."""

from tests.rows import rows
from vnicaudit.platforms.domain_xml.refusals import bus, count, number, word


@rows
def test_count(text: str, value: int | None) -> None:
    assert count(text) == value


@rows
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
