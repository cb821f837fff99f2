"""Two measurements, or two arms of one, compared when they are there already."""

import math

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.measurements import path, result
from vnicaudit.bench.judging.stored_comparison import compare_results
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult

A, B = result("1", {"web01": 1e9}), result("2", {"web01": 2e9})
LIVE = result("3", {"one": 1e9, "four": 0.9e9}, "live-flip")
PATHS = result("4", {"host": 9e9, "vm": 8e9, "pod": 7e9}, "paths")


def test_two_runs_are_a_single_flip() -> None:
    both = compare_results(A, B)
    assert both.run.id == "1..2"
    assert (both.run.started, both.run.finished) == ("1 began", "2 ended")
    assert (both.run.design, both.run.looks, both.run.alphas) == ("single-flip", (1,), (0.05,))
    assert both.run.labels == {"vcpus": "2"}
    assert both.arms == ("before", "after")
    assert [one.name for one in both.paths] == ["before", "after"]
    assert [one.arm for one in both.samples] == ["before"] * 7 + ["after"] * 7
    assert [one.arm for one in both.guard_rails] == ["before", "after"]
    assert len(both.environment) == 2
    (only,) = both.results
    assert (only.verdict, only.effect) == ("not-judged", None)
    assert both.decision is not None
    assert (both.decision.verdict, both.decision.action, both.decision.done) == (
        "not-judged", "none", None,
    )  # fmt: skip


def test_nothing_is_said_to_be_taken_back() -> None:
    both = compare_results(A, replace(A, run=replace(A.run, id="5")))
    assert both.decision is not None
    assert both.decision.verdict == "not-judged"
    assert not [reason for reason in both.decision.reasons if "rolled back" in reason]


def test_two_arms_of_one_run_are_judged_as_it_was() -> None:
    both = compare_results(LIVE, LIVE, ("one", "four"))
    assert both.run == LIVE.run
    assert both.arms == ("one", "four")
    assert both.paths == LIVE.paths
    assert both.samples == LIVE.samples
    assert both.guard_rails == LIVE.guard_rails
    assert both.environment == LIVE.environment
    (only,) = both.results
    assert only.effect is not None
    assert (only.verdict, only.effect.test) == ("regressed", "mann-whitney-exact")
    assert both.decision is not None
    assert both.decision.action == "none"
    assert not [reason for reason in both.decision.reasons if "single flip" in reason]


def test_the_other_way_round() -> None:
    both = compare_results(LIVE, LIVE, ("four", "one"))
    assert both.arms == ("four", "one")
    assert [one.arm for one in both.samples] == ["four"] * 7 + ["one"] * 7
    assert both.results[0].verdict == "improved"


def test_two_of_several_paths() -> None:
    both = compare_results(PATHS, PATHS, ("vm", "pod"))
    assert [one.name for one in both.paths] == ["vm", "pod"]
    assert {one.arm for one in both.samples} == {"vm", "pod"}
    assert (both.run.design, both.results[0].verdict) == ("paths", "regressed")


def test_a_catastrophe_is_one_afterwards_too() -> None:
    for n, verdict in ((2, "inconclusive"), (3, "regressed")):
        few = result("6", {"one": 1e9, "four": 1e6}, "live-flip", n=n)
        made = [replace(one, order=2 * one.block + (one.arm == "four")) for one in few.samples]
        few = replace(few, samples=tuple(made))
        both = compare_results(few, few, ("one", "four"))
        assert both.decision is not None
        assert both.decision.verdict == verdict


LOOKS = "there must be as many alphas as looks, and at least one"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"looks": (), "alphas": ()}, LOOKS),
        ({"looks": (5, 10)}, LOOKS),
        ({"looks": (0,)}, "looks must increase, from at least 1 to at most 100: (0,)"),
        (
            {"alphas": (math.nan,)},
            "alphas must be above 0 and add up to at most 0.05: (nan,)",
        ),
        ({"margins": {"goodput": -0.05}}, "the margin of goodput must be 0 or more: -0.05"),
        ({"margins": {"loss": math.inf}}, "the margin of loss must be 0 or more: inf"),
        ({"margins": {"loss": math.nan}}, "the margin of loss must be 0 or more: nan"),
    ],
)
def test_a_file_may_say_anything(wrong: dict[str, object], reason: str) -> None:
    bad = replace(LIVE, run=replace(LIVE.run, **wrong))
    with pytest.raises(UsageError) as error:
        compare_results(bad, bad, ("one", "four"))
    assert str(error.value) == f"run 3 cannot be judged by its own terms: {reason}"


def test_every_run_is_compared_with_every_other_so_there_are_bounds() -> None:
    """The program makes 100 runs of a workload in an arm at most; a file may have a million."""
    compare_results(many(300), many(300), ("one", "four"))
    with pytest.raises(UsageError) as error:
        compare_results(many(1001), many(1001), ("one", "four"))
    assert str(error.value) == "1001 runs of tcp in one: more than 1000 are not compared"


def many(n: int) -> BenchResult:
    made = result("7", {"one": 1e9, "four": 0.9e9}, "live-flip", n=n)
    return replace(made, run=replace(made.run, looks=(100,)))


def test_two_runs_are_not_judged_by_the_looks_of_either() -> None:
    odd = replace(A, run=replace(A.run, looks=(), alphas=()))
    assert compare_results(odd, B).run.looks == (1,)
    bad = replace(A, run=replace(A.run, margins={"goodput": -1.0}))
    with pytest.raises(UsageError, match=r"^run 1 cannot be judged by its own terms: the margin"):
        compare_results(bad, B)


def test_the_margins_are_those_of_the_first() -> None:
    assert compare_results(A, replace(B, run=replace(B.run, margins={}))).run.margins == {
        "goodput": 0.02
    }


@pytest.mark.parametrize(
    ("a", "b", "arms", "reasons"),
    [
        (LIVE, A, None, ["the first has 2 arms (one, four): choose one with --arms"]),
        (LIVE, LIVE, ("one", "five"), ["the second has no arm five; it has one, four"]),
        (
            LIVE, LIVE, ("one", "one"),
            ["both are one of the same run: there is nothing to compare"],
        ),
        (A, A, None, ["both are web01 of the same run: there is nothing to compare"]),
        (
            A, replace(B, paths=(path("web01", "agent://web02"),)), None,
            ["different target: agent://web01 and agent://web02"],
        ),
        (
            A, replace(B, workloads=(replace(TCP, size=100, connections=4),)), None,
            [
                "tcp was run with a different connections: 1 and 4",
                "tcp was run with a different size: none and 100",
            ],
        ),
    ],
)  # fmt: skip
def test_what_must_not_be_compared(
    a: BenchResult, b: BenchResult, arms: tuple[str, str] | None, reasons: list[str]
) -> None:
    with pytest.raises(UsageError) as error:
        compare_results(a, b, arms)
    assert str(error.value) == f"these cannot be compared: {'; '.join(reasons)}"
