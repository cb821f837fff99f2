"""What would decide, and how long that takes."""

from msgspec.structs import replace

from tests.reports.bench.samples import TCP_TX, VM_PATH, applied, compared, noisy, run, samples_of
from vnicaudit.model.measurement import BenchResult, Decision, Design
from vnicaudit.reports.bench.rows import rows
from vnicaudit.reports.bench.verdict import outlook


def said(result: BenchResult) -> list[str]:
    return list(outlook(result, list(rows(result)), result.arms[1]))


def undecided(strength: float, design: Design = "live-flip", n: int = 7) -> BenchResult:
    """Two states that differ by 2 %; ``strength``: of the noise, about 1 % each."""
    arms = ("one", "four")
    values = {
        "one": {"goodput": noisy(4.1e9, n, 0, strength)},
        "four": {"goodput": noisy(4.18e9, n, 3, strength)},
    }
    return BenchResult(
        run=run(design), arms=arms, paths=(VM_PATH,), workloads=(TCP_TX,),
        samples=tuple(samples_of(TCP_TX, values)),
        results=(compared(TCP_TX, "goodput", values, "inconclusive", arms=arms),),
        decision=Decision(verdict="inconclusive", action="none"),
    )  # fmt: skip


def test_how_many_runs_and_how_long() -> None:
    """A run every 13 s (samples.py); two arms."""
    (more,) = said(undecided(6))
    number = int(more.split()[1])
    assert 7 < number < 100
    minutes = round(number * 2 * 13 / 60)
    assert more == (
        f"about {number} runs of each arm would show 5 %: about {minutes} min (--repeats {number})"
    )


def test_more_noise_takes_more_runs() -> None:
    few, many = (int(said(undecided(strength))[0].split()[1]) for strength in (5, 8))
    assert few < many


def test_a_plan_is_told_another_way() -> None:
    result = undecided(6, "flips")
    decision = Decision(verdict="inconclusive", action="roll-back", done="rolled-back")
    more = said(replace(result, decision=decision))[0]
    number = more.split()[1]
    assert f"about {number} turns of each arm" in more
    assert "--repeats" not in more


def among(strength: float, many: int, n: int = 7) -> BenchResult:
    """The same, of ``many`` workloads."""
    result = undecided(strength, n=n)
    (workload,), (comparison,) = result.workloads, result.results
    names = [f"w{number}" for number in range(many)]
    return replace(
        result,
        workloads=tuple(replace(workload, id=name) for name in names),
        samples=tuple(replace(one, workload=name) for name in names for one in result.samples),
        results=tuple(replace(comparison, workload=name) for name in names),
    )


def test_many_comparisons_take_more_runs() -> None:
    """Each has to hold against their number."""
    needed = [int(said(among(6, many))[0].split()[1]) for many in (1, 3, 9)]
    assert needed[0] < needed[1] < needed[2]


def test_where_so_many_runs_should_show_it() -> None:
    (why,) = said(undecided(2, n=15))
    assert why == "15 runs of each arm show 5 % in four out of five measurements: measure again"


def test_noise_that_no_runs_outweigh() -> None:
    assert said(undecided(25))[0] == (
        "more than 100 runs of each arm would be needed: reduce the noise"
    )


def test_what_is_decided_needs_nothing() -> None:
    assert said(applied()) == []
