"""When it goes on, measures again, or stops."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import QUICK, RR, SMOKE, TCP, pair, sample, spoiled, steady
from vnicaudit.bench.judging.catastrophe import Question, unproven_falls
from vnicaudit.bench.judging.stopping import NextRun, State, next_step
from vnicaudit.bench.judging.terms import DEFAULT, Terms
from vnicaudit.model.measurement import Design, GuardRail, Sample, Witness

GO_ON = NextRun("go-on")
QUESTION = Question([TCP], "before", "after", "live-flip")


def mixed(before: Sequence[float], after: Sequence[float]) -> list[Sample]:
    """Block by block, as runs are made."""
    return sorted(pair(before, after), key=lambda each: each.block)


def dead(arm: str, block: int) -> Sample:
    """A run in which nothing came through."""
    return replace(
        sample(9e9, arm, block), valid=False, values={}, reason="nothing arrived",
        failure="silent", witness=Witness(False, "0 of 3 answered"),
    )  # fmt: skip


def step(samples: Sequence[Sample], terms: Terms = DEFAULT, *rails: GuardRail) -> NextRun:
    """What comes next."""
    state = State(samples=samples, workloads=[TCP], arms=("before", "after"), guard_rails=rails)
    return next_step(state, terms)


def test_goes_on_between_looks() -> None:
    samples = mixed(steady(9e9, 6), steady(18e9, 6))
    seen = [step(samples[:made]).action for made in range(len(samples) + 1)]
    assert seen == ["go-on"] * 10 + ["stop"] + ["go-on"] * 2


@pytest.mark.parametrize(
    ("level", "why"),
    [
        (18e9, "it got better and nothing got worse, beyond doubt"),
        (7e9, "it got worse beyond doubt"),
        (9e9, "beyond doubt, no difference matters"),
    ],
)
def test_stops_early_when_it_is_clear(level: float, why: str) -> None:
    assert step(mixed(steady(9e9, 5), steady(level, 5))) == NextRun("stop", why)


def test_goes_on_while_it_may_still_turn_out_better() -> None:
    assert step(mixed(steady(9e9, 5), steady(9e9 * 1.045, 5))) == GO_ON


def test_goes_on_while_it_is_open() -> None:
    noisy = [8e9, 10e9, 9e9, 8.2e9, 9.8e9]
    assert step(mixed(noisy, list(reversed(noisy)))) == GO_ON


def test_stops_at_the_last_look() -> None:
    noisy = [8e9, 10e9] * 10
    assert step(mixed(noisy, noisy)) == NextRun("stop", "all 20 runs of each arm are done")
    assert step(mixed(noisy[:7], noisy[:7]), QUICK).action == "stop"
    assert step(mixed(steady(9e9, 2), steady(9e9, 2)), SMOKE) == GO_ON


def test_one_of_two_primaries_open() -> None:
    latency = pair([100.0, 200.0] * 3, [200.0, 100.0] * 3, workload="rr", metric="latency_p99")
    samples = sorted(pair(steady(9e9, 5), steady(18e9, 5)) + latency, key=lambda each: each.block)
    state = State(
        samples=[each for each in samples if each.block < 5], workloads=[TCP, RR],
        arms=("before", "after"),
    )  # fmt: skip
    assert next_step(state, DEFAULT) == GO_ON


class TestRunsThatDoNotCount:
    def test_are_made_again_twice(self) -> None:
        samples = [sample(9e9)]
        for wanted in ("again", "again", "go-on"):
            samples.append(spoiled("after", 0))
            assert step(samples).action == wanted

    def test_the_user_is_told_why(self) -> None:
        assert step([spoiled("after", 0)]).reason == "the run is not valid: steal 4.1 %"

    def test_a_block_with_one_given_up_is_finished(self) -> None:
        samples = mixed(steady(9e9, 5), steady(18e9, 4)) + [spoiled("after", 4)] * 3
        assert step(samples) == GO_ON  # four of five cannot decide at this level
        assert step(mixed(steady(9e9, 10), steady(18e9, 9)) + [spoiled("after", 9)] * 3).action == (
            "stop"
        )

    def test_no_use_in_going_on(self) -> None:
        samples = []
        for block in range(5):
            samples += [sample(9e9, block=block), *[spoiled("after", block)] * 3]
        assert step(samples) == NextRun("stop", "after has no valid run of tcp")


class TestCatastrophe:
    def test_both_arms_are_measured_again_in_turns_and_that_ends_it(self) -> None:
        samples = mixed([9.0e9, 9.1e9], [9.2e9])
        for value, witness in ((1e6, 9.2e9), (1.2e6, 9.3e9)):
            samples.append(sample(value, "after", 1))
            assert step(samples) == NextRun(
                "again",
                "less than half of what it was before; measuring before again, to be sure",
                arm="before",
            )
            samples.append(sample(witness, "before", 1))
            assert step(samples) == NextRun(
                "again", "before is unchanged; measuring after once more, to be sure", arm="after"
            )
        found = step([*samples, sample(1.1e6, "after", 1)])
        reason = (
            "tcp, goodput: after 1.00 Mb/s, 1.20 Mb/s and 1.10 Mb/s, three times in a row "
            "less than half of the 9.15 Gb/s before, and less than any run before; before, "
            "measured again in between, had 9.20 Gb/s and 9.30 Gb/s"
        )
        assert found == NextRun("stop", reason, (reason,))

    @pytest.mark.parametrize("witness", [1.1e6, 4e9])
    def test_what_befalls_the_state_before_as_well_is_none(self, witness: float) -> None:
        """Both cores of the machine were loaded in the middle."""
        samples = [*mixed([9.0e9, 9.1e9], [9.2e9]), sample(1e6, "after", 1)]
        assert step(samples).arm == "before"
        samples.append(sample(witness, "before", 1))
        assert step(samples) == GO_ON
        for _ in range(4):
            samples.append(sample(1e6, "after", 2))
            assert step(samples) == GO_ON
        (said,) = unproven_falls(samples, QUESTION)
        assert said.endswith("Measure again when both ends and their hosts are idle")

    def test_a_witness_that_is_hardly_better_proves_nothing(self) -> None:
        """It fell by less than half, and the runs after the change with it."""
        samples = [*mixed([9.0e9, 9.1e9], [9.2e9]), sample(3e9, "after", 1)]
        samples.append(sample(5e9, "before", 1))
        assert step(samples) == GO_ON

    def test_a_witness_that_does_not_count_is_made_again(self) -> None:
        samples = [*mixed([9.0e9, 9.1e9], [9.2e9]), sample(1e6, "after", 1)]
        samples.append(spoiled("before", 1))
        assert step(samples) == NextRun("again", "the run is not valid: steal 4.1 %")

    def test_in_turns_the_other_arm_has_the_next_turn(self) -> None:
        terms = Terms(design="flips", looks=(2, 3, 5), runs_per_turn=3)
        samples = [sample(9e9, block=block) for block in range(3)]
        for action in ("again", "again", "away"):
            samples.append(sample(1e6, "after", 0))
            assert step(samples, terms).action == action
        samples.append(sample(9e9, block=3))
        assert step(samples, terms) == GO_ON
        assert step([*samples, sample(1e6, "after", 1)], terms).catastrophe
        assert step([*samples, sample(9e9, "after", 1)], terms) == GO_ON

    def test_with_a_single_flip_three_bad_runs_in_a_row_are_enough(self) -> None:
        terms = Terms(design="single-flip", looks=(5,), alphas=(0.05,))
        samples = [sample(9e9, block=block) for block in range(3)]
        for block, action in enumerate(("again", "again", "stop")):
            samples.append(sample(1e6, "after", block))
            assert step(samples, terms).action == action
        assert not unproven_falls(samples, QUESTION._replace(design="single-flip"))

    def test_what_happens_before_as_well_is_none(self) -> None:
        """Seen on a machine whose neighbours halved every third run, of either arm."""
        before = [12e9, 4e9, 14e9, 13e9]
        assert step(mixed(before, [11e9, 4.4e9, 5.5e9])).action == "go-on"

    @pytest.mark.parametrize("bad", [1, 2])
    def test_one_bad_run_is_none_and_two_are_none(self, bad: int) -> None:
        """One run in twenty is that bad on some hosts: two in a row are a matter of time."""
        samples = [*mixed([9.0e9, 9.1e9], [9.2e9]), *[sample(1e6, "after", 1)] * bad]
        assert step([*samples, sample(9e9, "after", 1)]) == GO_ON

    def test_bad_runs_apart_are_none(self) -> None:
        after = [1e6, 1e6, 9e9, 1e6, 1e6, 9e9]
        assert step(mixed([9e9] * 6, after)).action == "go-on"

    def test_nothing_carried(self) -> None:
        assert step(mixed([9e9] * 3, [0.0] * 3)[:-1]).action == "again"
        assert step(sorted(pair([9e9] * 3, [0.0] * 3), key=lambda each: each.block)).catastrophe

    def test_is_not_seen_before_it_is_known_what_is_usual(self) -> None:
        assert step(mixed([9e9], [1e6])) == GO_ON

    def test_when_both_fall_the_change_is_not_what_did_it(self) -> None:
        assert step(mixed([9e9, 9e9, 9e9, 1e6], [9e9, 1e6, 1e6, 1e6])) == GO_ON

    def test_nothing_gets_through_any_more(self) -> None:
        """What the engines really say of a dead path: an error, and no value."""
        first, second = mixed([9e9, 9e9], [])
        first = replace(first, witness=Witness(True, "3 of 3 answered"))
        samples = [first, second, dead("after", 0), dead("after", 0)]
        reason = (
            "tcp: nothing got through in after twice in a row, and ping was not answered either; "
            "in before both worked"
        )
        assert step(samples) == NextRun("stop", reason, (reason,))
        assert step(samples, Terms(design="single-flip")).catastrophe == (reason,)
        assert step(samples, SMOKE).catastrophe == (reason,)

    def test_one_failure_is_none(self) -> None:
        samples = [*mixed([9e9, 9e9], []), dead("after", 0), sample(9e9, "after", 0)]
        assert step(samples).catastrophe == ()

    def test_what_failed_before_too_is_none(self) -> None:
        samples = [*mixed([9e9, 9e9], []), dead("before", 2), dead("after", 2), dead("after", 2)]
        assert step(samples).catastrophe == ()

    def test_runs_that_were_measured_and_do_not_count_are_none(self) -> None:
        stolen = replace(sample(9e9, "after", 0), valid=False, reason="steal")
        assert step([*mixed([9e9, 9e9], []), stolen, stolen]).catastrophe == ()

    def test_latency_alone_is_none(self) -> None:
        samples = pair([100.0] * 3, [900.0] * 3, workload="rr", metric="latency_p99")
        state = State(samples=samples, workloads=[RR], arms=("before", "after"))
        assert next_step(state, DEFAULT) == GO_ON

    @pytest.mark.parametrize("design", ["paths", "single"])
    def test_a_slow_path_is_none(self, design: Design) -> None:
        assert step(mixed([9e9] * 3, [1e6] * 3), Terms(design=design)) == GO_ON


class TestGuardRails:
    def test_a_broken_one_ends_it(self) -> None:
        rail = GuardRail("ping", "after", "failed", "no answer")
        assert step([sample(9e9)], DEFAULT, rail) == NextRun(
            "stop", "guard rail ping failed (after): no answer"
        )

    def test_one_that_was_broken_before_does_not(self) -> None:
        rails = [GuardRail("ping", arm, "failed") for arm in ("before", "after")]
        assert step([sample(9e9)], DEFAULT, *rails) == GO_ON


class TestDesigns:
    def test_a_single_flip_is_not_looked_at_in_between(self) -> None:
        samples = pair(steady(9e9, 5), steady(18e9, 5))
        assert step(samples, Terms(design="single-flip")) == GO_ON
        terms = Terms(looks=(5,), alphas=(0.05,), design="single-flip")
        assert step(samples, terms).action == "stop"
        assert step(samples[:5], terms) == GO_ON

    def test_paths_are_measured_until_each_is_decided(self) -> None:
        terms = Terms(design="paths")
        samples = pair(steady(9e9, 5), steady(7e9, 5))
        third = [
            sample(value, "third", block) for block, value in enumerate([8e9, 1e10] * 2 + [9e9])
        ]
        state = State(
            samples=[*samples, *third], workloads=[TCP], arms=("before", "after", "third")
        )
        assert next_step(state, terms) == GO_ON
        assert step(samples, terms) == NextRun("stop", "every comparison is decided")

    def test_one_arm_alone_ends_with_its_runs(self) -> None:
        samples = [sample(9e9, "only", block) for block in range(7)]
        state = State(samples=samples, workloads=[TCP], arms=("only",))
        terms = Terms(looks=(5, 7), alphas=(0.01, 0.04), design="single")
        assert next_step(state, terms).action == "stop"
        assert (
            next_step(State(samples=samples[:5], workloads=[TCP], arms=("only",)), terms) == GO_ON
        )
