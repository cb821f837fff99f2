"""How long vCPUs waited, of the run."""

import pytest

from vnicaudit.bench.facts.covariates import percent_waited


@pytest.mark.parametrize(
    ("before", "after", "per_cent"),
    [
        ((10,), (200_000_010,), 2.0),
        ((0, 0, 0), (1, 500_000_000, 2), 5.0),
        ((5, None), (5, 900_000_000), 0.0),
        ((5,), (5, 900_000_000), 0.0),
        ((None,), (None,), None),
        ((), (), None),
        ((9,), (8,), None),
        ((0,), (99_000_000_000,), 100.0),
    ],
)
def test_the_vcpu_that_waited_longest(
    before: tuple[int | None, ...], after: tuple[int | None, ...], per_cent: float | None
) -> None:
    assert percent_waited(before, after, 10.0) == per_cent


def test_in_no_time_nothing_can_be_told() -> None:
    assert percent_waited((0,), (1,), 0.0) is None
