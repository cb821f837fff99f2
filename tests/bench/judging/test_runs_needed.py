"""How many runs would decide."""

import math
import random

import pytest

from vnicaudit.bench.judging.statistics import mann_whitney
from vnicaudit.bench.judging.terms import runs_to_show, spread_of


def test_the_spread_is_that_within_the_arms() -> None:
    arm = [math.exp(x) for x in (-0.1, 0.0, 0.1)]
    assert spread_of(arm, [7 * value for value in arm]) == pytest.approx(0.1)
    assert spread_of([1.0, 3.0], [11.0, 13.0], logarithms=False) == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("arms", [([1.0], [2.0]), ([1.0, 0.0, 2.0], [1.0, 2.0]), ([], [])])
def test_where_it_cannot_be_told(arms: tuple[list[float], list[float]]) -> None:
    assert spread_of(*arms) is None


def test_the_textbook_has_the_same_number() -> None:
    """d = s, alpha 0.05, power 0.8: 15.7 by the normal distribution (Lehr's "16 s² / d²"), times
    π/3 for ranks."""
    assert runs_to_show(0.05, 0.05) == math.ceil(2 * (1.959964 + 0.841621) ** 2 * math.pi / 3)


def test_it_is_never_fewer_than_a_test_needs() -> None:
    assert runs_to_show(0.05, 1e-6) == 4
    assert runs_to_show(0.05, 1e-6, alpha=0.01) == 5


def test_what_no_number_of_runs_shows() -> None:
    assert runs_to_show(0.05, 0.2) is None


def test_so_many_runs_do_show_it() -> None:
    """By the program's own test, on made noise: 4 of 5, within what 400 draws allow."""
    source, spread, difference = random.Random(20261123), 0.06, math.log(1.05)
    runs = runs_to_show(difference, spread)
    assert runs is not None
    found = 0
    for _ in range(400):
        before = [source.gauss(0.0, spread) for _ in range(runs)]
        after = [source.gauss(difference, spread) for _ in range(runs)]
        found += mann_whitney(before, after) <= 0.05
    assert 0.74 <= found / 400 <= 0.88
