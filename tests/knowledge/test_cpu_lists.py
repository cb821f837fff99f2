"""CPU lists and masks, as the kernel and Open vSwitch write them."""

from tests.rows import rows
from vnicaudit.knowledge.cpu_lists import as_list, as_mask, from_list, from_mask


@rows
def test_a_list(text: str, expected: list[int] | None) -> None:
    found = from_list(text)
    assert (None if found is None else list(found)) == expected


@rows
def test_a_mask(text: str, expected: list[int] | None) -> None:
    found = from_mask(text)
    assert (None if found is None else list(found)) == expected


@rows
def test_written(cpus: list[int], as_a_list: str, as_a_mask: str) -> None:
    assert (as_list(cpus), as_mask(cpus)) == (as_a_list, as_a_mask)
    assert from_list(as_a_list) == from_mask(as_a_mask) == tuple(sorted(cpus))


def test_neither_is_wider_than_a_kernel() -> None:
    assert from_list("0-99999") is None
    assert from_mask("f" * 4000) is None
