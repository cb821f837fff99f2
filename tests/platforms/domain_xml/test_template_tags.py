"""The quick test for what may be a template is exact."""

import random
import re

import pytest

from tests.drawing import drawn_seed
from vnicaudit.platforms.domain_xml.documents import may_be_template

BEGINS = re.compile(rb"[{$@%]|\(\(|\[\[|&lt;|__")


@pytest.mark.parametrize("number", range(3))
def test_it_says_what_an_expression_says(number: int) -> None:
    seed = drawn_seed() + number
    print("seed", seed)
    dice = random.Random(seed)
    for _ in range(2000):
        data = bytes(dice.choices(b"ab_(<&;lt", weights=[30, 30, 9, 3, 1, 1, 1, 1, 1], k=80))
        assert may_be_template(data) == (BEGINS.search(data) is not None), data


def test_of_many_underscores_two_side_by_side_are_still_seen() -> None:
    assert not may_be_template(b"_a" * 100)
    assert may_be_template(b"_a" * 100 + b"__")
    assert may_be_template(b"_a" * 15 + b"_") is False
    assert may_be_template(b"_a" * 15 + b"__")
