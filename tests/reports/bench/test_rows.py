"""A measurement as rows."""

import pytest
from msgspec.structs import replace

from tests.reports.bench.samples import one_arm, two_arms
from vnicaudit.model.measurement import ArmSummary, BenchResult
from vnicaudit.reports.bench.rows import rows, sample_size


def test_workloads_as_in_the_profile_what_decides_first() -> None:
    assert [(row.workload.engine, row.metric, row.primary) for row in rows(two_arms())] == [
        ("iperf3", "goodput", True),
        ("iperf3", "host_cpu_per_gbit", False),
        ("dnsperf", "query_rate", True),
        ("rr", "transaction_rate", True),
        ("rr", "latency_p99", True),
    ]


def test_a_metric_that_nothing_compares_has_medians_of_its_samples() -> None:
    bare = replace(two_arms(), results=())
    first = next(rows(bare))
    assert first.compared == {}
    before = first.arms["before"]
    assert before is not None
    assert before.line_rate_percent == pytest.approx(2.64, abs=0.01)
    assert replace(before, cv=None, line_rate_percent=None) == ArmSummary(
        10, 248_620_000.0, 245_272_000.0, 250_976_000.0
    )
    assert first.spread["before"] == (243_288_000.0, 251_968_000.0)


def test_runs_that_do_not_count_are_in_no_row() -> None:
    row = next(rows(two_arms()))
    assert row.spread["after"][0] > 7e9
    assert sample_size(rows(two_arms())) == "n = 10"


def test_arms_with_unlike_numbers_of_runs() -> None:
    result = one_arm()
    lame = replace(result.samples[0], values={"host_cpu_per_gbit": 1.0})
    assert sample_size(rows(replace(result, samples=(lame, *result.samples[1:])))) == "n = 4 to 5"


def test_the_cost_of_a_data_path_that_polls_was_not_measured() -> None:
    result = one_arm()
    polling = tuple(
        replace(one, covariates=replace(one.covariates, cpu=replace(one.covariates.cpu,
                                                                     busy_poll=True)))
        for one in result.samples
    )  # fmt: skip
    assert metrics(result) == ["goodput", "host_cpu_per_gbit"]
    assert metrics(replace(result, samples=polling)) == ["goodput"]


def metrics(result: BenchResult) -> list[str]:
    return [row.metric for row in rows(result)]


def test_a_metric_of_another_version_comes_last() -> None:
    result = one_arm()
    odd = tuple(replace(one, values={"aaa": 1.0, **one.values}) for one in result.samples)
    assert metrics(replace(result, samples=odd)) == ["goodput", "host_cpu_per_gbit", "aaa"]
