"""Medians for Prometheus."""

from tests.promtool import checked_metrics
from tests.reports.bench.golden import written
from tests.reports.bench.samples import one_arm, two_arms


def test_a_value_is_the_median_of_an_arm_and_says_which_way_is_better() -> None:
    lines = written("prometheus", two_arms()).splitlines()
    (goodput,) = (
        line for line in lines
        if line.startswith('vnicaudit_bench_value{path="before",workload="iperf3.tcp.tx.c1.64k"')
        and 'metric="goodput"' in line
    )  # fmt: skip
    assert goodput.startswith(
        'vnicaudit_bench_value{path="before",workload="iperf3.tcp.tx.c1.64k",metric="goodput",'
        'better="higher"} '
    )
    assert any('metric="latency_p99",better="lower"' in line for line in lines)
    assert 'vnicaudit_bench_run_timestamp_seconds{path="before"} 1795256100' in lines


def test_promtool_has_no_complaint() -> None:
    checked_metrics(written("prometheus", one_arm()))
