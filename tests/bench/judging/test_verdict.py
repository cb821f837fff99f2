"""From effects to verdicts, and from verdicts to what is done."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench.judging.made import QUICK, RR, SMOKE, TCP, pair, steady
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.effect import Deciding
from vnicaudit.bench.judging.statistics import Interval, mann_whitney
from vnicaudit.bench.judging.terms import DEFAULT, Terms, checked_terms, runs_to_show, spread_of
from vnicaudit.bench.judging.verdict import decide, verdict_of
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import (
    ArmSummary,
    Comparison,
    Design,
    Effect,
    GuardRail,
    Verdict,
    Workload,
)


def deciding(estimate: float, outer: float, inner: float) -> Deciding:
    """An estimate, give or take."""
    return Deciding(
        estimate,
        abs(estimate) > outer,
        Interval(estimate - outer, estimate + outer),
        Interval(estimate - inner, estimate + inner),
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (deciding(-10, 4, 3), "regressed"),
        (deciding(-5, 4, 3), "regressed"),  # at the margin
        (deciding(-4.9, 4, 3), "inconclusive"),  # harm, but is it enough to matter
        (deciding(-10, 11, 9), "inconclusive"),  # much, but it may be chance
        (deciding(10, 4, 3), "improved"),
        (deciding(5, 4, 3), "improved"),
        (deciding(4, 5, 4), "not-worse"),
        (deciding(10, 11, 9), "not-worse"),
        (deciding(10, 16, 15), "inconclusive"),
        (deciding(0, 5, 4), "equivalent"),
        (deciding(-1, 0.5, 0.4), "equivalent"),  # there is a difference, and it does not matter
        (deciding(1, 5, 4), "not-worse"),
        (deciding(-1, 5, 4), "inconclusive"),
        (None, "inconclusive"),
    ],
)
def test_rule(found: Deciding | None, verdict: Verdict) -> None:
    assert verdict_of(found, 5) == verdict


@given(st.floats(-200, 200), st.floats(0, 50), st.floats(0, 50), st.floats(0.1, 20))
def test_more_is_never_judged_worse(at: float, reach: float, more: float, margin: float) -> None:
    order = ["regressed", "inconclusive", "equivalent", "not-worse", "improved"]
    low, high = (verdict_of(deciding(each, reach, reach), margin) for each in (at, at + more))
    assert order.index(low) <= order.index(high)


def comparison(verdict: Verdict, workload: str = "tcp", p_holm: float = 0.001) -> Comparison:
    """A primary one with this verdict."""
    percent = {"improved": 100.0, "regressed": -50.1}.get(verdict, 0.0)
    return Comparison(
        workload=workload,
        metric="goodput",
        unit="bit/s",
        better="higher",
        primary=True,
        before_arm="before",
        after_arm="after",
        before=ArmSummary(10, 9.41e9),
        after=ArmSummary(10, 9.41e9 * (1 + percent / 100)),
        effect=Effect(percent, percent - 2, percent + 2, 0.0001, p_holm,
                      "mann-whitney-exact"),
        verdict=verdict,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "verdict", "action"),
    [
        (["improved"], "improved", "keep"),
        (["improved", "equivalent", "not-worse", "at-ceiling"], "improved", "keep"),
        (["regressed", "improved"], "regressed", "roll-back"),
        (["inconclusive", "improved", "inconclusive"], "improved", "keep"),
        (["generator-limited", "inconclusive"], "generator-limited", "roll-back"),
        (["equivalent", "equivalent"], "equivalent", "roll-back"),
        (["equivalent", "at-ceiling"], "equivalent", "roll-back"),
        (["equivalent", "not-worse"], "not-worse", "roll-back"),
        (["at-ceiling", "at-ceiling"], "at-ceiling", "roll-back"),
        (["invalid", "improved"], "invalid", "roll-back"),
        (["invalid", "generator-limited", "inconclusive"], "invalid", "roll-back"),
        (["generator-limited", "improved"], "improved", "keep"),
        ([], "invalid", "roll-back"),
    ],
)
def test_decisions(verdicts: list[Verdict], verdict: Verdict, action: str) -> None:
    found = decide([comparison(each, f"w{at}") for at, each in enumerate(verdicts)], DEFAULT)
    assert (found.verdict, found.action) == (verdict, action)
    assert found.reasons


def test_what_stays_open_is_done_as_the_terms_say() -> None:
    terms = Terms(on_inconclusive="keep", on_equivalent="keep")
    for verdict in ("inconclusive", "invalid", "generator-limited", "equivalent", "at-ceiling"):
        found = decide([comparison(verdict)], terms)
        assert found.action == "keep"
        assert "the change is kept, as requested" in found.reasons[-1]
    assert decide([comparison("regressed")], terms).action == "roll-back"


def test_reasons_name_the_numbers() -> None:
    found = decide([comparison("regressed"), comparison("improved", "rr")], DEFAULT)
    assert found.reasons == (
        (
            "tcp, goodput: before 9.41 Gb/s (10 runs), after 4.70 Gb/s (10 runs); 50.1 % worse "
            "(95 % interval -52.1 to -48.1 %; minus is worse)"
        ),
    )


def test_reasons_of_a_gain_name_the_others() -> None:
    found = decide([comparison("improved"), comparison("equivalent", "rr")], DEFAULT)
    assert found.reasons == (
        (
            "tcp, goodput: before 9.41 Gb/s (10 runs), after 18.8 Gb/s (10 runs); 100 % "
            "better (95 % interval +98.0 to +102 %; minus is worse): better by more than the "
            "margin"
        ),
        "rr, goodput: no difference within the margins",
    )


def test_one_of_many_may_be_chance() -> None:
    found = decide([comparison("regressed", p_holm=0.03), comparison("equivalent", "rr")], DEFAULT)
    assert (found.verdict, found.action) == ("inconclusive", "roll-back")
    assert found.reasons[0].endswith(
        "worse, but with so many comparisons it may be chance (adjusted p 0.030)"
    )


def test_a_gain_is_not_kept_if_another_workload_may_be_worse() -> None:
    """As the only comparison it would have regressed: among so many that is no proof of harm, but
    nobody would keep the change."""
    workloads = [replace(TCP, id=f"w{number}") for number in range(11)]
    samples = [
        each
        for number, level in enumerate([12e9, 8e9, *[9e9] * 9])
        for each in pair(steady(9e9, 5), steady(level, 5), workload=f"w{number}")
    ]
    samples += pair(steady(9e9, 10)[5:], steady(12e9, 10)[5:], workload="w0")
    terms = Terms(looks=(5,), alphas=(0.05,))
    rows = compare(samples, workloads, "before", "after", terms)
    assert {each.workload: each.verdict for each in rows[:2]} == {
        "w0": "improved", "w1": "inconclusive"
    }  # fmt: skip
    assert decide(rows, terms).verdict == "inconclusive"
    harmless = [each for each in samples if each.workload != "w1"]
    rows = compare(harmless, [workloads[0], *workloads[2:]], "before", "after", terms)
    assert decide(rows, terms).action == "keep"


def test_what_is_only_shown_does_not_count() -> None:
    shown = Workload(id="tcp", engine="e", pattern="tcp", decides=("goodput",), primary=False)
    samples = pair(steady(9e9), steady(4e9))
    samples += pair(steady(200.0), steady(200.0), workload="rr", metric="latency_p99")
    found = compare(samples, [shown, RR], "before", "after", QUICK)
    assert decide(found, QUICK).verdict == "equivalent"


@pytest.mark.parametrize("design", ["single", "paths"])
def test_where_nothing_was_changed_nothing_is_done(design: Design) -> None:
    found = decide([comparison("regressed")], Terms(design=design))
    assert (found.verdict, found.action) == ("regressed", "none")


def test_a_single_flip_is_kept_unless_something_broke() -> None:
    terms = Terms(design="single-flip")
    found = decide([comparison("not-judged")], terms)
    assert (found.verdict, found.action) == ("not-judged", "keep")
    assert found.reasons[0].startswith("not judged: all runs before one change, then all runs aft")
    fell = decide([comparison("not-judged")], terms, catastrophe=["goodput fell to nothing"])
    assert (fell.verdict, fell.action) == ("regressed", "roll-back")
    assert decide([comparison("invalid")], terms).verdict == "invalid"


def test_a_fall_that_is_not_proven_is_told_and_nothing_is_kept_for_having_none() -> None:
    said = "tcp, goodput: it is not certain that the change did it"
    found = decide([comparison("inconclusive")], SMOKE, unproven=[said])
    assert (found.verdict, found.action) == ("inconclusive", "roll-back")
    assert said in found.reasons
    assert "no catastrophe" not in " ".join(found.reasons)
    assert said not in decide([], SMOKE, unproven=[said], catastrophe=["dead"]).reasons


def test_catastrophe() -> None:
    found = decide([comparison("inconclusive")], DEFAULT, catastrophe=["goodput fell to nothing"])
    assert (found.verdict, found.action) == ("regressed", "roll-back")
    assert found.reasons == ("goodput fell to nothing",)


class TestGuardRails:
    def test_a_broken_one_is_a_veto(self) -> None:
        rail = GuardRail("ping", "after", "failed", "no answer over IPv6")
        found = decide([comparison("improved")], DEFAULT, guard_rails=[rail])
        assert (found.verdict, found.action) == ("regressed", "roll-back")
        assert found.reasons == ("guard rail ping failed (after): no answer over IPv6",)

    def test_one_that_was_broken_before_is_told(self) -> None:
        rails = [GuardRail("ping", arm, "failed") for arm in ("before", "after")]
        found = decide([comparison("improved")], DEFAULT, guard_rails=rails)
        assert found.action == "keep"
        assert "guard rail ping failed (after)" in found.reasons

    def test_only_the_last_look_counts(self) -> None:
        rails = [GuardRail("ping", "after", "failed"), GuardRail("ping", "after", "ok")]
        found = decide([comparison("improved")], DEFAULT, guard_rails=rails)
        assert found.action == "keep"

    def test_unknown_is_no_veto_and_is_told(self) -> None:
        rail = GuardRail("mtu", "after", "unknown", "no tracepath there")
        found = decide([comparison("improved")], DEFAULT, guard_rails=[rail])
        assert found.action == "keep"
        assert found.reasons[-1] == (
            "guard rail mtu could not be checked (after): no tracepath there"
        )


class TestSmoke:
    def test_keeps_what_breaks_nothing(self) -> None:
        samples = pair(steady(9e9, 3), steady(8e9, 3))
        found = decide(compare(samples, [TCP], "before", "after", SMOKE), SMOKE)
        assert (found.verdict, found.action) == ("inconclusive", "keep")
        assert found.reasons == (
            "no catastrophe and no broken guard rail; so few runs decide nothing else",
        )

    def test_goes_back_after_a_catastrophe(self) -> None:
        assert decide([], SMOKE, catastrophe=["dead"]).action == "roll-back"


class TestTerms:
    @pytest.mark.parametrize(
        ("runs", "alpha"), [(4, 0.01), (5, 0.01), (8, 0.02), (10, 0.02), (20, 0.02), (99, 0.02)]
    )
    def test_alpha_of_the_look(self, runs: int, alpha: float) -> None:
        assert DEFAULT.alpha(runs) == alpha

    @pytest.mark.parametrize(
        ("terms", "before", "after", "short"),
        [(DEFAULT, 5, 5, False), (DEFAULT, 4, 5, True), (DEFAULT, 0, 20, True),
         (QUICK, 6, 7, False),
         (QUICK, 3, 7, False), (QUICK, 3, 3, True), (SMOKE, 3, 3, False), (SMOKE, 0, 3, True),
         (Terms(design="single-flip"), 2, 5, False), (Terms(design="single-flip"), 1, 5, False),
         (Terms(design="single-flip"), 0, 5, True)],
    )  # fmt: skip
    def test_too_few(self, terms: Terms, before: int, after: int, short: bool) -> None:
        assert terms.too_few(before, after) is short

    @pytest.mark.parametrize(
        ("looks", "alphas", "said"),
        [
            ((), (), "at least one"),
            ((5,), (0.01, 0.02), "as many alphas as looks"),
            ((10, 5), (0.01, 0.02), "looks must increase"),
            ((5, 5), (0.01, 0.02), "looks must increase"),
            ((0,), (0.05,), "looks must increase"),
            ((201,), (0.05,), "to at most 100"),
            ((5, 10), (0.05, 0.01), "add up to at most 0.05"),
            ((5,), (0.0,), "above 0"),
            ((5,), (float("nan"),), "above 0"),
        ],
    )
    def test_no_plan(self, looks: tuple[int, ...], alphas: tuple[float, ...], said: str) -> None:
        with pytest.raises(UsageError, match=said):
            checked_terms(Terms(looks=looks, alphas=alphas))

    def test_plans(self) -> None:
        assert [checked_terms(terms) for terms in (DEFAULT, QUICK, SMOKE)] == [
            DEFAULT,
            QUICK,
            SMOKE,
        ]


# How many runs would decide.


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
