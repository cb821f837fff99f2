"""Where a value drops from path to path."""

import pytest
from msgspec.structs import replace

from tests.reports.bench.samples import samples_of, side_by_side
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.rows import drops, rows


def found(result: BenchResult) -> list[tuple[str, str, float]]:
    return [(one.upper, one.lower, round(one.change, 1)) for one in drops(rows(result), result)]


def measured(metric: str, **medians: float) -> BenchResult:
    """Paths with these medians, in this order."""
    result = side_by_side()
    workload = replace(result.workloads[0], decides=(metric,))
    values = {arm: {metric: [value]} for arm, value in medians.items()}
    return replace(
        result, arms=tuple(medians), workloads=(workload,), results=(),
        samples=tuple(samples_of(workload, values)),
    )  # fmt: skip


def test_the_largest_step_between_neighbours_is_the_drop() -> None:
    assert found(side_by_side()) == [("vm", "pod", -27.6), ("vm", "pod", -26.0)]
    assert found(measured("goodput", a=100, b=80, c=70)) == [("a", "b", -20.0)]


def test_latency_drops_by_rising() -> None:
    assert found(measured("latency_p99", a=100, b=90, c=130)) == [("b", "c", 44.4)]


def test_loss_is_compared_by_points() -> None:
    assert found(measured("loss", a=0.0, b=0.4)) == []
    assert found(measured("loss", a=0.0, b=0.6)) == [("a", "b", 0.6)]


@pytest.mark.parametrize(("share", "drop"), [(96, []), (94, [("a", "b", -6.0)])])
def test_within_the_margin_is_no_drop(share: float, drop: list[object]) -> None:
    assert found(measured("goodput", a=100, b=share)) == drop


def test_the_margin_is_the_profiles() -> None:
    result = measured("goodput", a=100, b=94)
    assert found(replace(result, run=replace(result.run, margins={"goodput": 0.1}))) == []


def test_a_path_that_was_not_measured_is_passed_over() -> None:
    result = measured("goodput", a=100, c=70)
    assert found(replace(result, arms=("a", "b", "c"))) == [("a", "c", -30.0)]


def test_what_is_not_decided_on_and_what_is_nothing_have_no_drop() -> None:
    result = measured("goodput", a=100, b=10)
    other = replace(result.workloads[0], primary=False)
    assert found(replace(result, workloads=(other,))) == []
    assert found(measured("goodput", a=0, b=10)) == []
