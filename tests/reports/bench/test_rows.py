"""A measurement as rows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.reports.bench.golden import written
from tests.reports.bench.samples import VM_PATH, one_arm, two_arms
from vnicaudit.bench.metrics import METRICS, change, digits, quantity
from vnicaudit.model.measurement import (
    ArmSummary,
    BenchResult,
    Decision,
    GuardRail,
    Setup,
    Workload,
)
from vnicaudit.reports.bench.labels import describe, percent, size, with_guest_names
from vnicaudit.reports.bench.rows import rows, sample_size
from vnicaudit.reports.writers import Options


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


# Names of workloads.


_ONE = Workload(id="w", engine="rr", pattern="rr1c-1x1", direction="both")


@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        ({}, ", 1 connection"),
        ({"connections": 50}, ", 50 connections"),
        ({"rate": 100.0}, ", offered 100 1/s"),
        ({"pattern": "tcp", "direction": "tx"}, ", the target sends, 1 connection"),
        ({"engine": "iperf3", "pattern": "tcp"}, ", both ways, 1 connection"),
    ],
)
def test_a_workload_in_words(changes: dict[str, object], ends: str) -> None:
    work = replace(_ONE, **changes)
    assert describe(work).endswith(ends)


def test_which_way_the_path_is_filled() -> None:
    for way, words in (("rx", "towards"), ("tx", "from")):
        work = replace(_ONE, options={"fill": way})
        assert describe(work).endswith(f", while a stream fills the path {words} the target")


# Guests are called by their names.


UUID = "1d05102d-34ca-4c3b-8f1c-5a1f9d8f2f11"
URL = f"agent://{UUID}?connect=qemu:///system"


def by_uuid(connect: str = "qemu:///system") -> BenchResult:
    """As `apply` measures a guest."""
    result, url = two_arms(), f"agent://{UUID}?connect={connect}"
    path = replace(VM_PATH, target=url, domain=UUID, guest="web01")
    bad = replace(result.samples[0], valid=False, reason=f"{url}: gone")
    return replace(
        result,
        paths=(replace(path, name="before"), replace(path, name="after")),
        environment=(Setup(url, {"kernel": "6.1"}),),
        samples=(*result.samples, bad),
        guard_rails=(GuardRail("ping", "after", "failed", f"{url} is silent"),),
        decision=Decision(verdict="regressed", action="roll-back", reasons=(f"{url}: lost",)),
    )


def test_everything_for_people_has_the_name() -> None:
    named = with_guest_names(by_uuid())
    assert [path.target for path in named.paths] == ["agent://web01"] * 2
    assert named.environment[0].endpoint == "agent://web01"
    assert named.samples[-1].reason == "agent://web01: gone"
    assert named.guard_rails[0].detail == "agent://web01 is silent"
    assert named.decision is not None
    assert named.decision.reasons == ("agent://web01: lost",)
    for name in ("text", "markdown", "html"):
        assert UUID not in written(name, by_uuid(), Options(verbose=True))


def test_the_host_of_a_guest_elsewhere_is_still_said() -> None:
    named = with_guest_names(by_uuid("qemu+ssh://kvm7/system"))
    assert named.paths[0].target == "agent://web01?connect=qemu+ssh://kvm7/system"


def test_the_document_keeps_the_uuid() -> None:
    assert URL in written("json", by_uuid())


def test_what_has_its_name_already_is_left_alone() -> None:
    result = two_arms()
    assert with_guest_names(result) is result


# Numbers for people.


@pytest.mark.parametrize(
    ("value", "metric", "shown"),
    [
        (7.81e9, "goodput", "7.81 Gb/s"), (132e6, "goodput", "132 Mb/s"), (0.0, "goodput", "0 b/s"),
        (999_600, "goodput", "1.00 Mb/s"), (999_400, "goodput", "999 kb/s"),
        (1.2e12, "goodput", "1.20 Tb/s"), (45_800, "query_rate", "45.8k q/s"),
        (870, "query_rate", "870 q/s"), (14.88e6, "packet_rate", "14.9M pkt/s"),
        (21_700, "transaction_rate", "21.7k req/s"), (310, "latency_p99", "310 µs"),
        (1_640, "latency_p99", "1.64 ms"), (2.5e6, "latency_max", "2.50 s"),
        (0.05, "latency_p50", "0.0500 µs"), (0.52, "loss", "0.520 %"),
        (50_320, "host_cpu_per_gbit", "50.3k µs/Gbit"), (912, "peer_cpu_per_gbit", "912 µs/Gbit"),
        (12.3, "host_cpu_per_transaction", "12.3 µs"), (5, "of another version", "5.00"),
    ],
)  # fmt: skip
def test_a_value_with_its_unit(value: float, metric: str, shown: str) -> None:
    assert quantity(value, metric) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (9.999, "10.0"), (9.994, "9.99"), (0.05196, "0.0520"), (50_320, "50,300"),
        (-7.815, "-7.82"), (1e9, "1.00e+09"), (1e-9, "1.00e-09"), (float("inf"), "inf"), (0, "0"),
    ],
)  # fmt: skip
def test_three_digits(value: float, shown: str) -> None:
    assert digits(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3_049.2, "+3,050"), (-26.83, "-26.8"), (-0.04, "+0.0"), (4.66, "+4.7"), (0.0, "+0.0"),
        (float("-inf"), "-inf"), (5e99, "+5.00e+99"),
    ],
)  # fmt: skip
def test_a_change_has_its_sign(value: float, shown: str) -> None:
    assert change(value) == shown


def test_sizes_and_shares() -> None:
    assert [size(n) for n in (64, 200, 1448, 16384, 30720, 65507, 1 << 20)] == [
        "64 B", "200 B", "1,448 B", "16 KiB", "30 KiB", "65,507 B", "1 MiB",
    ]  # fmt: skip
    assert percent(83.04) == "83.0 %"


@given(st.floats(1e-3, 1e14), st.sampled_from(sorted(METRICS)))
def test_what_is_shown_is_the_value_to_three_digits(value: float, metric: str) -> None:
    shown = quantity(value, metric)
    number = re.match(r"[\d.,]+(e[+-]\d+)?", shown)
    assert number is not None
    factors = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ms": 1e3, "s": 1e6}
    rest = shown[number.end() :].strip()
    factor = factors.get(rest if METRICS[metric].unit == "us" else rest[:1], 1.0)
    assert float(number[0].replace(",", "")) * factor == pytest.approx(value, rel=0.0051)
