"""From samples to comparisons."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench.judging.made import QUICK, RR, TCP, pair, runs, sample, spoiled, steady
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.terms import DEFAULT, Terms
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import (
    Comparison,
    Covariates,
    CpuUse,
    Effect,
    Path,
    Sample,
    Workload,
)

LINE = Path(name="line", target="t", peer="p", address="192.0.2.1", mtu=1500, line_rate=10e9)


def one(samples: list[Sample], terms: Terms = QUICK, *paths: Path) -> Comparison:
    """The only comparison of these."""
    (found,) = compare(samples, [TCP], "before", "after", terms, paths)
    return found


def effect(comparison: Comparison) -> Effect:
    """Where there has to be one."""
    assert comparison.effect is not None
    return comparison.effect


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(2.0, "improved"), (1.0, "equivalent"), (0.9, "regressed"), (1.048, "not-worse"),
     (0.955, "inconclusive"), (0.97, "equivalent")],
)  # fmt: skip
def test_verdicts(factor: float, verdict: str) -> None:
    found = one(pair(steady(9e9), steady(9e9 * factor)))
    assert found.verdict == verdict
    assert effect(found).percent == pytest.approx(100 * (factor - 1), abs=0.5)


def test_what_is_in_it() -> None:
    found = one(pair(steady(9e9), steady(4.5e9)), QUICK, LINE)
    assert (found.workload, found.metric, found.unit, found.better) == (
        "tcp", "goodput", "bit/s", "higher",
    )  # fmt: skip
    assert (found.primary, found.before_arm, found.after_arm) == (True, "before", "after")
    assert found.before is not None
    assert found.before.n == 10
    assert found.before.median == pytest.approx(9e9, rel=1e-2)
    assert found.before.low is not None
    assert found.before.high is not None
    assert found.before.low < found.before.median < found.before.high
    assert found.before.line_rate_percent == pytest.approx(95.6, abs=0.3)
    assert found.before.cv == pytest.approx(0.006, abs=0.001)
    assert found.notes == ()


def test_interval_of_the_look_is_told() -> None:
    found = one(pair(steady(9e9), steady(8e9)), DEFAULT)
    assert found.verdict == "regressed"
    (note,) = found.notes
    assert note.startswith("at this look the 98 % interval decides: -11.8 to -10.4")


def test_only_valid_samples_count() -> None:
    samples = [*pair(steady(9e9), steady(9e9)), spoiled("after", 11), spoiled("after", 12)]
    found = one(samples)
    assert found.after is not None
    assert found.after.n == 10
    assert found.notes == ("after: 2 more were invalid (steal 4.1 %)",)


def test_too_few_that_count() -> None:
    samples = [*pair(steady(9e9, 5), steady(9e9, 3)), spoiled("after", 4), spoiled("after", 5)]
    found = one(samples, DEFAULT)
    assert (found.verdict, effect(found).percent) == ("invalid", 0.0)
    assert found.notes == ("after: 2 more were invalid (steal 4.1 %)",)


def test_one_run_less_is_not_too_few_where_something_can_be_decided() -> None:
    assert one(pair(steady(9e9, 7), steady(4e9, 6))).verdict == "regressed"


def test_so_few_were_asked_for() -> None:
    found = one(pair(steady(9e9, 3), steady(5e9, 3)), Terms(looks=(3,), alphas=(0.05,)))
    assert found.verdict == "inconclusive"
    assert found.notes == ("about -44.4 %; too few runs to tell how certain that is",)


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_a_row_says_of_a_catastrophe_what_the_verdict_says(after: int) -> None:
    """Three runs below half are enough to take a change back, however few there are."""
    samples = sorted(pair(steady(9e9, 3), steady(4e9, after)), key=lambda each: each.block)
    found = one(samples, Terms(looks=(5,), alphas=(0.05,)))
    assert (found.verdict == "regressed") == (after > 2)
    told = "less than half of what it was before, three times in a row"
    assert (told in found.notes) == (after > 2)


def test_nothing_at_all() -> None:
    found = one([])
    assert (found.verdict, found.before, found.after, found.effect) == (
        "invalid", None, None, None,
    )  # fmt: skip
    assert found.notes == ("before: not measured", "after: not measured")


def test_runs_that_the_generator_spoiled() -> None:
    samples = runs("before", steady(9e9))
    samples += [spoiled("after", place, "sent too few", limited=True) for place in range(10)]
    assert one(samples).verdict == "generator-limited"


@pytest.mark.parametrize(
    ("limited", "after", "verdict"),
    [
        ("after", 18e9, "improved"),  # it could only have been more
        ("after", 9e9, "generator-limited"),
        ("after", 4e9, "generator-limited"),
        ("before", 4e9, "regressed"),  # it can only have been more
        ("before", 18e9, "generator-limited"),
    ],
)
def test_runs_that_the_generator_limited(limited: str, after: float, verdict: str) -> None:
    covariates = Covariates(generator_limited=True)
    samples = [
        replace(each, covariates=covariates) if each.arm == limited else each
        for each in pair(steady(9e9), steady(after))
    ]
    found = one(samples)
    assert found.verdict == verdict
    assert f"{limited}: the limit was the generator, not the path" in found.notes


def test_at_the_ceiling() -> None:
    found = one(pair(steady(9.38e9), steady(9.39e9)), QUICK, LINE)
    assert found.verdict == "at-ceiling"


def test_a_line_that_is_exceeded_is_no_ceiling() -> None:
    found = one(pair(steady(40e9), steady(20e9)), QUICK, LINE)
    assert found.verdict == "regressed"
    assert found.notes[0].endswith("more than the line allows; --line-rate is not that of its path")


def test_ceiling_of_each_path() -> None:
    slow = replace(LINE, name="slow", line_rate=1e9)
    samples = runs("line", steady(9.39e9)) + runs("slow", steady(0.939e9))
    (found,) = compare(samples, [TCP], "line", "slow", QUICK, [LINE, slow])
    assert found.verdict == "at-ceiling"


def test_dead_runs() -> None:
    found = one(pair(steady(9e9), [0.0] * 10))
    assert found.verdict == "regressed"
    assert effect(found).percent == pytest.approx(-100)
    assert found.notes == ("after: 10 of 10 carried nothing",)


def test_what_decides_and_what_is_shown() -> None:
    samples = [
        replace(each, values={"goodput": each.values["goodput"], "latency_mean": 100.0})
        for each in pair(steady(9e9), steady(9e9))
    ]
    found = compare(samples, [TCP], "before", "after", QUICK)
    assert [(each.metric, each.primary) for each in found] == [
        ("goodput", True), ("latency_mean", False),
    ]  # fmt: skip


def test_primary_ones_come_first_and_are_adjusted() -> None:
    shown = Workload(id="udp", engine="iperf3", pattern="udp", decides=("goodput",), primary=False)
    samples = pair(steady(9e9), steady(8e9))
    samples += pair(steady(200.0), steady(200.0), workload="rr", metric="latency_p99")
    samples += pair(steady(9e9), steady(8e9), workload="udp")
    found = compare(samples, [shown, TCP, RR], "before", "after", QUICK)
    assert [each.workload for each in found] == ["tcp", "rr", "udp"]
    tcp, rr, udp = (effect(each) for each in found)
    assert tcp.p_holm == pytest.approx(2 * tcp.p)
    assert rr.p_holm == rr.p
    assert udp.p_holm == pytest.approx(3 * udp.p)


def test_what_may_be_chance_among_so_many_is_no_difference() -> None:
    """A p of 0.008 alone, 0.16 among twenty: neither a row that is shown nor one that decides says
    more than that."""
    workloads, samples = [], []
    for number in range(20):
        name = f"w{number}"
        workloads.append(replace(TCP, id=name, primary=number % 2 == 0))
        worth = {0: 8e9, 1: 8e9, 2: 10e9, 3: 10e9}.get(number, 9e9)
        samples += pair(steady(9e9, 5), steady(worth, 5), workload=name)
    terms = Terms(looks=(5,), alphas=(0.05,))
    found = {each.workload: each for each in compare(samples, workloads, "before", "after", terms)}
    verdicts = [found[f"w{number}"].verdict for number in range(4)]
    assert verdicts == ["inconclusive", "inconclusive", "not-worse", "not-worse"]
    assert found["w0"].notes[0] == (
        "worse, but with so many comparisons it may be chance (adjusted p 0.079)"
    )
    assert found["w3"].notes[0] == (
        "better, but with so many comparisons it may be chance (adjusted p 0.159)"
    )


def test_latency_and_loss_get_better_downwards() -> None:
    loss = Workload(id="loss", engine="e", pattern="udp", decides=("loss",))
    samples = pair(steady(200.0), steady(300.0), workload="rr", metric="latency_p99")
    samples += pair([0.0] * 10, [3.0] * 10, workload="loss", metric="loss")
    rr, lost = compare(samples, [RR, loss], "before", "after", QUICK)
    assert (rr.verdict, lost.verdict) == ("regressed", "regressed")
    assert effect(rr).percent == pytest.approx(-50, abs=1)
    assert effect(lost).percent == pytest.approx(-3)


def test_a_little_loss_is_no_reason() -> None:
    loss = Workload(id="loss", engine="e", pattern="udp", decides=("loss",))
    samples = pair([0.0] * 10, [0.1] * 10, workload="loss", metric="loss")
    (found,) = compare(samples, [loss], "before", "after", QUICK)
    assert found.verdict == "equivalent"


def test_margins_of_the_profile() -> None:
    terms = Terms(looks=(7,), alphas=(0.05,), margins={"goodput": 0.2})
    assert one(pair(steady(9e9), steady(8e9)), terms).verdict == "equivalent"


def test_a_boot_is_one_value() -> None:
    """Five boots of four runs each are five values, and runs of one boot resemble one another."""
    samples = [
        sample(level * (1 + place / 1000), arm, place, order=place, boot=f"{arm}{boot}")
        for arm, level in (("before", 9e9), ("after", 4e9))
        for boot in range(5)
        for place in range(boot * 4, boot * 4 + 4)
    ]
    found = one(samples, Terms(design="boots"))
    assert found.before is not None
    assert (found.before.n, found.verdict) == (5, "regressed")
    assert found.before.median == pytest.approx(9e9 * (1 + 9.5 / 1000))


def test_what_lies_between_two_flips_is_one_value() -> None:
    samples = [
        sample(9e9, arm, block, order=8 * block + place)
        for arm in ("before", "after")
        for block in range(5)
        for place in range(4)
    ]
    found = one(samples, Terms(design="flips"))
    assert found.after is not None
    assert found.after.n == 5


def test_a_single_flip_has_numbers_and_no_verdict() -> None:
    mixed, flip = (
        one(pair(steady(9e9), steady(9e9 * 0.93)), Terms(looks=(7,), alphas=(0.05,), design=design))
        for design in ("live-flip", "single-flip")
    )
    assert (mixed.verdict, flip.verdict) == ("regressed", "not-judged")
    assert flip.effect is None
    assert flip.notes == ("about -7.0 % (minus is worse), not judged",)
    assert one(pair(steady(1e8), steady(8e9)), Terms(design="single-flip")).verdict == "not-judged"
    assert (
        one(pair([0.0] * 5, steady(8e9)), Terms(design="single-flip"))
        .notes[0]
        .startswith("before: 5 of 5 carried nothing")
    )


def test_one_run_of_each_arm_is_shown() -> None:
    found = one(pair([1e9], [2e9]), Terms(design="single-flip", looks=(7,), alphas=(0.05,)))
    assert (found.verdict, found.notes[0].partition(" (")[0]) == ("not-judged", "about +100 %")


def test_a_polling_data_path_has_no_costs() -> None:
    costs = Workload(id="tcp", engine="e", pattern="tcp", decides=("host_cpu_per_gbit",))
    samples = [
        replace(each, values={"host_cpu_per_gbit": 1.0},
                covariates=Covariates(cpu=CpuUse(busy_poll=True)))
        for each in pair(steady(9e9), steady(9e9))
    ]  # fmt: skip
    (found,) = compare(samples, [costs], "before", "after", QUICK)
    assert (found.verdict, found.notes[0]) == ("invalid", "before: not measured")


def test_an_arm_is_not_compared_with_itself() -> None:
    with pytest.raises(UsageError, match="before cannot be compared with itself"):
        compare([], [TCP], "before", "before", QUICK)


def test_metrics_of_another_version_are_left_out() -> None:
    strange = Workload(id="tcp", engine="e", pattern="p", decides=("joy",))
    assert compare(pair(steady(1.0), steady(1.0)), [strange], "before", "after", QUICK)[
        0
    ].metric == ("goodput")


@given(
    st.lists(st.floats(), max_size=8),
    st.lists(st.floats(), max_size=8),
    st.sampled_from(["live-flip", "boots", "flips", "single-flip", "paths"]),
    st.sampled_from(["goodput", "latency_p99", "loss"]),
)
def test_no_number_breaks_it(
    before: list[float], after: list[float], design: str, metric: str
) -> None:
    workload = Workload(id="tcp", engine="e", pattern="p", decides=(metric,))
    samples = pair(before, after, metric=metric)
    terms = Terms(design=design)  # type: ignore[arg-type]
    (found,) = compare(samples, [workload], "before", "after", terms, [LINE])
    if found.effect is not None:
        assert math.isfinite(found.effect.percent)
        assert 0 <= found.effect.p <= found.effect.p_holm <= 1
    if not any(math.isfinite(value) for value in before):
        assert found.verdict == "invalid"


def test_what_no_run_tells_decides_nothing() -> None:
    """The hypervisor cannot be reached, so that its CPU time is not known: of either arm."""
    workload = replace(TCP, decides=("goodput", "host_cpu_per_gbit"))
    first, second = compare(
        pair(steady(9e9), steady(9.9e9)), [workload], "before", "after", QUICK, ()
    )
    assert (first.metric, first.primary, first.verdict) == ("goodput", True, "improved")
    assert (second.metric, second.primary) == ("host_cpu_per_gbit", False)
    assert second.notes == ("no run measured it here: the verdict does not depend on it",)


def test_many_equal_values_hide_no_difference() -> None:
    """The interval touches 0, since its level is that of ranks without ties; p is exact."""
    before, after = [1.0] * 4 + [0.9] * 3, [0.9] * 6 + [0.8]
    found = one(pair(before, after))
    assert effect(found).high95 == 0
    assert effect(found).p == pytest.approx(0.049, abs=0.001)
    assert found.verdict == "regressed"
