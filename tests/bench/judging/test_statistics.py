"""Tests, intervals and estimates; scipy is the referee, and no part of the
program."""

import importlib
import itertools
import math
import random
import statistics
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.judging.effect import (
    LARGEST,
    RankShift,
    TurnShift,
    deciding,
    effect_of,
    is_usable,
    shift_of,
    t_cdf,
    t_quantile,
)
from vnicaudit.bench.judging.statistics import (
    critical_rank,
    holm,
    is_exact,
    mann_whitney,
    median,
    median_interval,
    rank_sums,
    smallest_p,
    variation,
)
from vnicaudit.bench.judging.terms import alphas_of_turns, turns_decide, usual_turns
from vnicaudit.bench.metrics import METRICS

referee = importlib.import_module("scipy.stats")
GOODPUT, LATENCY, LOSS = METRICS["goodput"], METRICS["latency_p99"], METRICS["loss"]

anything = st.lists(st.floats(), max_size=9)
measured = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=9)
tied = st.lists(st.integers(1, 4).map(float), min_size=1, max_size=7)


def draws(seed: int, sizes: tuple[int, int], shift: float = 0.0) -> tuple[list[float], list[float]]:
    source = random.Random(seed)
    n, m = sizes
    return (
        [source.lognormvariate(0, 0.03) for _ in range(n)],
        [source.lognormvariate(shift, 0.03) for _ in range(m)],
    )


class TestMannWhitney:
    @pytest.mark.parametrize("sizes", [(1, 1), (3, 3), (5, 5), (4, 9), (10, 10), (20, 20), (7, 30)])
    def test_is_exact_without_ties(self, sizes: tuple[int, int]) -> None:
        for seed in range(20):
            before, after = draws(seed, sizes, 0.02)
            wanted = referee.mannwhitneyu(before, after, method="exact").pvalue
            assert mann_whitney(before, after) == pytest.approx(wanted, rel=1e-12)

    def test_is_exact_with_ties(self) -> None:
        source = random.Random(1)
        for _ in range(25):
            before = [float(source.randint(1, 4)) for _ in range(source.randint(2, 5))]
            after = [float(source.randint(1, 5)) for _ in range(source.randint(2, 6))]
            assert mann_whitney(before, after) == pytest.approx(_permuted(before, after), rel=1e-12)

    def test_with_ties_agrees_with_all_permutations_of_scipy(self) -> None:
        before, after = [1.0, 1.0, 2.0, 3.0, 3.0], [2.0, 3.0, 3.0, 4.0, 5.0, 5.0]

        def ranks(one: object, other: object, axis: int) -> object:
            numpy = importlib.import_module("numpy")
            joined = referee.rankdata(numpy.concatenate([one, other], axis=axis), axis=axis)
            return joined[..., : len(before)].sum(axis=axis)

        found = referee.permutation_test(
            (before, after), ranks, n_resamples=math.inf, vectorized=True
        )
        assert mann_whitney(before, after) == pytest.approx(found.pvalue, rel=1e-9)

    def test_smallest_p_of_measuring(self) -> None:
        assert smallest_p(3, 3) == pytest.approx(0.1)
        assert smallest_p(4, 4) == pytest.approx(0.0286, abs=5e-5)
        assert smallest_p(5, 5) == pytest.approx(0.0079, abs=5e-5)
        assert mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == smallest_p(5, 5)

    def test_counts_every_choice(self) -> None:
        assert rank_sums((0, 1, 2, 3), 2) == (0, 1, 2, 4, 5, 6)

    @given(tied, tied)
    def test_is_the_same_both_ways(self, one: list[float], other: list[float]) -> None:
        assert mann_whitney(one, other) == pytest.approx(mann_whitney(other, one))
        assert 0 < mann_whitney(one, other) <= 1

    def test_nothing_to_compare(self) -> None:
        assert (mann_whitney([], [1.0]), mann_whitney([2.0], [2.0])) == (1.0, 1.0)


class TestManyValues:
    """Beyond what can be counted at once, the normal distribution."""

    @pytest.mark.parametrize("sizes", [(51, 50), (60, 60), (200, 200), (10, 300), (1, 2501)])
    @pytest.mark.parametrize("shift", [0.0, 0.005, 0.02])
    def test_is_that_of_scipy(self, sizes: tuple[int, int], shift: float) -> None:
        for seed in range(5):
            before, after = draws(seed, sizes, shift)
            for one, other in ((before, after), (after, before)):
                wanted = _asymptotic(one, other)
                assert mann_whitney(one, other) == pytest.approx(wanted, rel=1e-9)

    def test_is_that_of_scipy_with_ties(self) -> None:
        source = random.Random(1)
        for most in (1, 2, 5, 100):
            before = [float(source.randint(1, most)) for _ in range(70)]
            after = [float(source.randint(1, most + 1)) for _ in range(90)]
            wanted = _asymptotic(before, after)
            assert mann_whitney(before, after) == pytest.approx(wanted, rel=1e-9)

    def test_values_that_are_all_equal_do_not_differ(self) -> None:
        assert mann_whitney([3.0] * 60, [3.0] * 60) == 1.0

    @pytest.mark.parametrize("shift", [0.0, 0.01, 0.02])
    def test_is_close_to_the_exact_one(self, shift: float) -> None:
        for seed in range(20):
            before, after = draws(seed, (55, 50), shift)
            wanted = referee.mannwhitneyu(before, after, method="exact").pvalue
            assert mann_whitney(before, after) == pytest.approx(wanted, rel=0.005, abs=5e-4)

    def test_the_limit(self) -> None:
        assert (is_exact(50, 50), is_exact(51, 50)) == (True, False)
        assert (is_exact(2500, 1), is_exact(1, 2501)) == (True, False)
        tests = [RankShift(*draws(1, (size, 50))).test for size in (50, 51)]
        assert tests == ["mann-whitney-exact", "mann-whitney-normal"]

    @pytest.mark.parametrize("level", [0.01, 0.02, 0.05, 0.1])
    @pytest.mark.parametrize("sizes", [(51, 50), (100, 100), (26, 100)])
    def test_interval_holds_what_the_test_does_not_reject(
        self, sizes: tuple[int, int], level: float
    ) -> None:
        before, after = draws(3, sizes, 0.05)
        interval = RankShift(before, after).interval(level)
        assert interval is not None
        for end, inwards in ((interval.low, 1e-9), (interval.high, -1e-9)):
            assert mann_whitney(before, [value - end - inwards for value in after]) > level
            assert mann_whitney(before, [value - end + inwards for value in after]) <= level

    @pytest.mark.parametrize("level", [0.01, 0.02, 0.05, 0.1])
    def test_rank_does_not_jump_at_the_limit(self, level: float) -> None:
        inside, beyond = critical_rank(50, 50, level), critical_rank(51, 50, level)
        assert inside < beyond < inside + 30

    def test_a_level_that_nothing_reaches(self) -> None:
        assert critical_rank(60, 60, 5e-324) == 0

    def test_takes_little(self) -> None:
        """Of the largest that is exact, and of what is beyond."""
        for sizes in ((50, 50), (2500, 1), (200, 200)):
            before, after = draws(1, sizes)
            rank_sums.cache_clear()
            tracemalloc.start()
            try:
                assert RankShift(before, after).interval(0.05) is not None
                assert tracemalloc.get_traced_memory()[1] < 10e6
            finally:
                tracemalloc.stop()


def _asymptotic(before: list[float], after: list[float]) -> float:
    found = referee.mannwhitneyu(before, after, method="asymptotic", use_continuity=True)
    return float(found.pvalue)


def _permuted(before: list[float], after: list[float]) -> float:
    """By trying every way to deal the values to the arms."""
    ranks = [float(rank) for rank in referee.rankdata([*before, *after])]
    seen = sum(ranks[: len(before)])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(before))]
    tails = sum(each <= seen for each in sums), sum(each >= seen for each in sums)
    return min(1.0, 2 * min(tails) / len(sums))


class TestRankShift:
    @given(measured, measured)
    def test_estimate_is_the_median_of_all_differences(
        self, before: list[float], after: list[float]
    ) -> None:
        wanted = statistics.median(b - a for a in before for b in after)
        assert RankShift(before, after).estimate == pytest.approx(wanted)

    @pytest.mark.parametrize("level", [0.01, 0.02, 0.05, 0.1])
    def test_interval_holds_what_the_test_does_not_reject(self, level: float) -> None:
        """The definition of the interval, tried out: moved to just inside it, the values are no
        different; moved to just outside, they are."""
        for seed in range(10):
            before, after = draws(seed, (7, 6), 0.05)
            interval = RankShift(before, after).interval(level)
            assert interval is not None
            for end, inwards in ((interval.low, 1e-9), (interval.high, -1e-9)):
                inside = [value - end - inwards for value in after]
                outside = [value - end + inwards for value in after]
                assert mann_whitney(before, inside) > level
                assert mann_whitney(before, outside) <= level

    @pytest.mark.parametrize(("n", "least"), [(5, 0.96), (7, 0.945), (10, 0.945)])
    def test_covers_what_is_true(self, n: int, least: float) -> None:
        hits = 0
        for seed in range(2000):
            before, after = draws(seed, (n, n), 0.07)
            logs = ([math.log(value) for value in arm] for arm in (before, after))
            interval = RankShift(*logs).interval(0.05)
            assert interval is not None
            hits += interval.low <= 0.07 <= interval.high
        assert least < hits / 2000 < 0.985

    def test_covers_at_least_as_often_with_ties(self) -> None:
        hits = 0
        for seed in range(2000):
            source = random.Random(seed)
            before = [float(source.randint(0, 3)) for _ in range(7)]
            after = [float(source.randint(0, 3)) + 1 for _ in range(7)]
            interval = RankShift(before, after).interval(0.05)
            assert interval is not None
            hits += interval.low <= 1 <= interval.high
        assert hits / 2000 > 0.95

    @pytest.mark.parametrize(
        ("n", "level", "rank"), [(3, 0.05, 0), (3, 0.1, 1), (4, 0.05, 1), (5, 0.01, 1),
                                 (5, 0.02, 2), (10, 0.05, 24), (10, 0.02, 20)]
    )  # fmt: skip
    def test_ranks_are_those_of_the_tables(self, n: int, level: float, rank: int) -> None:
        """Tables of critical values of U say 23 for n = 10 at 0.05: those left out; the next
        one is the end of the interval."""
        assert critical_rank(n, n, level) == rank

    def test_too_few_for_an_interval(self) -> None:
        assert RankShift([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).interval(0.05) is None


class TestTurns:
    @pytest.mark.parametrize("freedom", [1, 2, 3, 8, 12, 18, 38, 200])
    def test_student_is_student(self, freedom: int) -> None:
        for t in (-30, -3, -0.001, 0, 0.5, 2, 12):
            wanted = referee.t.cdf(t, freedom)
            assert t_cdf(t, freedom) == pytest.approx(wanted, rel=1e-9, abs=1e-13)
        for share in (0.025, 0.5, 0.9, 0.95, 0.975, 0.995, 0.9995):
            wanted = referee.t.ppf(share, freedom)
            assert t_quantile(share, freedom) == pytest.approx(wanted, rel=1e-8, abs=1e-9)

    def test_is_student_s_where_turns_differ(self) -> None:
        before, after = draws(3, (3, 4), 0.5)
        wanted = referee.ttest_ind(after, before).confidence_interval(0.95)
        found = TurnShift(before, after, least=0.001)
        assert found.interval(0.05) == pytest.approx((wanted.low, wanted.high), rel=1e-8)
        assert found.p == pytest.approx(referee.ttest_ind(after, before).pvalue, rel=1e-8)

    @pytest.mark.parametrize(("turns", "least"), [(2, 0.15), (3, 0.15), (4, 0.08)])
    def test_turns_that_are_alike_by_chance_say_little(self, turns: int, least: float) -> None:
        shift = shift_of(GOODPUT, [1e9] * turns, [1.2e9] * turns, "flips")
        assert shift is not None
        interval = shift.interval(0.05)
        assert interval is not None
        assert interval.high - interval.low == pytest.approx(
            2 * 1.95996 * least * math.sqrt(2 / turns), rel=1e-4
        )
        assert (shift.p < 0.05) == (interval.low > 0)

    @pytest.mark.parametrize(
        ("comparisons", "last"),
        [(0, 5), (1, 5), (2, 5), (3, 6), (9, 6), (10, 7), (34, 7), (35, 8), (1000, 10)],
    )
    def test_the_last_turns_can_tell_a_difference_among_all_comparisons(
        self, comparisons: int, last: int
    ) -> None:
        """With all values of one arm above all of the other, and Holm's adjustment, p is below
        half of what the last look spends; with one turn less it is not."""
        assert usual_turns(comparisons) == (2, 3, last)
        spent = alphas_of_turns((2, 3, last))[-1] / 2
        assert comparisons * smallest_p(last, last) <= spent
        assert last == 5 or comparisons * smallest_p(last - 1, last - 1) > spent
        least = holm(dict.fromkeys(range(comparisons), smallest_p(last, last)))
        assert all(p <= spent for p in least.values())

    def test_few_turns_can_always_tell_a_large_one(self) -> None:
        assert turns_decide((2, 3, 4), 100)
        assert turns_decide((2,), 100)
        assert not turns_decide((2, 3, 5), 6)
        assert turns_decide((5,), 6)  # one look spends all of it
        assert not turns_decide((5,), 7)

    def test_one_turn_says_nothing(self) -> None:
        assert shift_of(GOODPUT, [1e9], [2e9, 2e9], "boots") is None

    def test_five_turns_are_enough_for_ranks(self) -> None:
        shift = shift_of(GOODPUT, [1e9] * 5, [2e9] * 5, "flips")
        assert shift is not None
        assert shift.test == "mann-whitney-exact"

    @given(
        st.lists(st.floats(-3, 3), min_size=2, max_size=4),
        st.lists(st.floats(-3, 3), min_size=2, max_size=4),
    )
    def test_p_and_interval_agree(self, before: list[float], after: list[float]) -> None:
        shift = TurnShift(before, after, 0.08)
        for level in (0.01, 0.05):
            interval = shift.interval(level)
            assert interval is not None
            if abs(shift.p - level) > 1e-6:
                assert (shift.p < level) == (interval.low > 0 or interval.high < 0)


class TestOneArm:
    @given(measured)
    def test_median(self, values: list[float]) -> None:
        assert median(values) == pytest.approx(statistics.median(values))

    def test_median_of_the_largest(self) -> None:
        assert median([1.7e308, 1.7e308, 1.6e308, 1.7e308]) == 1.7e308

    def test_interval_of_the_median_needs_six(self) -> None:
        assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
        assert median_interval([6.0, 2.0, 3.0, 4.0, 5.0, 1.0]) == (1.0, 6.0)
        assert median_interval([float(value) for value in range(1, 11)]) == (2.0, 9.0)

    @pytest.mark.parametrize("n", range(6, 30))
    def test_interval_of_the_median_is_that_of_the_binomial(self, n: int) -> None:
        interval = median_interval([float(value) for value in range(1, n + 1)])
        assert interval is not None
        left_out = int(interval.low) - 1
        assert 2 * referee.binom.cdf(left_out, n, 0.5) <= 0.05
        assert 2 * referee.binom.cdf(left_out + 1, n, 0.5) > 0.05

    def test_variation(self) -> None:
        values = [9.4e9, 9.1e9, 9.5e9]
        wanted = statistics.stdev(values) / statistics.mean(values)
        assert variation(values) == pytest.approx(wanted)

    @pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0], [-1.0, 1.0]])
    def test_variation_that_says_nothing(self, values: list[float]) -> None:
        assert variation(values) is None


class TestHolm:
    def test_as_in_the_paper(self) -> None:
        assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
            {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
        )

    @given(st.dictionaries(st.integers(), st.floats(0, 1), max_size=12))
    def test_keeps_the_order_and_stays_a_probability(self, p_values: dict[int, float]) -> None:
        adjusted = holm(p_values)
        assert list(adjusted) == list(p_values)
        for key, p in p_values.items():
            assert p <= adjusted[key] <= 1
            assert all(adjusted[key] <= adjusted[k] for k in p_values if p_values[k] > p)


class TestEffect:
    def test_doubled(self) -> None:
        shift = shift_of(GOODPUT, [1.0, 1.1, 0.9, 1.0], [2.0, 2.2, 1.8, 2.0], "live-flip")
        assert shift is not None
        effect = effect_of(GOODPUT, shift)
        assert effect is not None
        assert effect.percent == pytest.approx(100)
        assert effect.test == "mann-whitney-exact"

    def test_lower_is_better_turns_the_sign(self) -> None:
        """The size is that of the change in the value, as benchstat prints it."""
        before, after = [100.0, 101.0, 99.0, 100.0, 100.5], [150.0, 151.0, 149.0, 150.0, 152.0]
        worse = shift_of(LATENCY, before, after, "live-flip")
        better = shift_of(LATENCY, after, before, "live-flip")
        assert worse is not None
        assert better is not None
        effects = effect_of(LATENCY, worse), effect_of(LATENCY, better)
        assert effects[0] is not None
        assert effects[1] is not None
        assert effects[0].percent == pytest.approx(-50, abs=1)
        assert effects[0].low95 < effects[0].percent < effects[0].high95 < 0
        assert effects[1].percent == pytest.approx(33.3, abs=1)

    def test_loss_is_a_difference(self) -> None:
        shift = shift_of(LOSS, [0.0, 0.0, 0.1, 0.0, 0.0], [2.0, 2.1, 2.0, 1.9, 2.0], "live-flip")
        assert shift is not None
        effect = effect_of(LOSS, shift)
        assert effect is not None
        assert effect.percent == pytest.approx(-2.0)

    @pytest.mark.parametrize("flip", [False, True])
    def test_dead_runs_are_a_loss_of_everything(self, flip: bool) -> None:
        shift = shift_of(
            GOODPUT,
            [9e9, 9.1e9, 8.9e9, 9e9, 9e9],
            [0.0] * 5,
            "flips" if flip else "live-flip",
        )
        assert shift is not None
        effect = effect_of(GOODPUT, shift)
        assert effect is not None
        assert effect.percent == pytest.approx(-100)

    @given(measured, measured, st.floats(1e-6, 1e6))
    def test_does_not_depend_on_the_unit(
        self, before: list[float], after: list[float], factor: float
    ) -> None:
        one = shift_of(GOODPUT, before, after, "live-flip")
        other = shift_of(
            GOODPUT, [v * factor for v in before], [v * factor for v in after], "live-flip"
        )
        assert one is not None
        assert other is not None
        assert one.estimate == pytest.approx(other.estimate, abs=1e-9)

    @given(measured, measured, st.booleans())
    def test_turned_around_it_is_the_opposite(
        self, before: list[float], after: list[float], flip: bool
    ) -> None:
        there, back = (
            shift_of(GOODPUT, one, other, "flips" if flip else "live-flip")
            for one, other in ((before, after), (after, before))
        )
        assert (there is None) == (back is None)
        if there is None or back is None:
            return
        assert there.estimate == pytest.approx(-back.estimate, abs=1e-12)
        assert there.p == pytest.approx(back.p)
        for level in (0.01, 0.05, 0.1):
            one, other = there.interval(level), back.interval(level)
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                assert one == pytest.approx((-other.high, -other.low), abs=1e-9)

    @given(measured, measured, st.floats(1.0, 10.0))
    def test_better_runs_make_a_better_effect(
        self, before: list[float], after: list[float], factor: float
    ) -> None:
        low = shift_of(GOODPUT, before, after, "live-flip")
        high = shift_of(GOODPUT, before, [value * factor for value in after], "live-flip")
        assert low is not None
        assert high is not None
        assert high.estimate >= low.estimate - 1e-12

    @given(anything, anything, st.sampled_from([GOODPUT, LATENCY, LOSS]), st.booleans())
    def test_no_number_breaks_it(
        self, before: list[float], after: list[float], metric: object, flip: bool
    ) -> None:
        first, second = ([v for v in arm if is_usable(v)] for arm in (before, after))
        shift = shift_of(metric, first, second, "flips" if flip else "live-flip")  # type: ignore[arg-type]
        if shift is None:
            return
        effect = effect_of(metric, shift)  # type: ignore[arg-type]
        found = deciding(metric, shift, 0.05)  # type: ignore[arg-type]
        numbers = [] if effect is None else [effect.percent, effect.low95, effect.high95, effect.p]
        numbers += [] if found is None else [found.estimate, *found.inner, *found.outer]
        assert all(math.isfinite(number) for number in numbers)
        if effect is not None:
            assert effect.low95 <= effect.high95

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2 * LARGEST])
    def test_what_cannot_have_been_measured(self, value: float) -> None:
        assert not is_usable(value)
