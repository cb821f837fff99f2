"""The second simulation: other code, which says the same of the same values, and of the same
worlds; and the page has what it found beside the first."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from scripts import second_simulation as second
from scripts.simulate_verdicts import ARMS, CASES, ONE_OF_NINE, WORLDS, Case
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.model.measurement import Sample, Workload

COLUMNS = (*CASES, ONE_OF_NINE)


def drawn(plan: second.Plan, look: int, source: random.Random) -> list[second.Run]:
    """Runs up to that look, of two levels that differ by as much as chance will have it; in half of
    all cases rounded, so that many are equal, or drifting."""
    effect, digits = source.uniform(-0.3, 0.3), source.choice((2, 9))
    noise, drift = source.choice((0.01, 0.05, 0.15)), source.choice((0, 0, 0.4))
    found = []
    for workload, after, unit, _boot, _visit in second.steps(plan, source):
        value = 1 + effect * after + drift * unit / plan.looks[-1] + source.gauss(0, noise)
        found.append(second.Run(workload, after, unit, max(0.1, round(value, digits))))
    return [run for run in found if run.unit < look]


def by_the_program(case: Case, runs: Sequence[second.Run]) -> str:
    """What the program decides of these."""
    samples = [
        Sample(
            workload=f"w{run.workload}", arm=ARMS[run.after], started="", order=place,
            block=run.unit * case.terms.runs_per_turn, values={"goodput": run.value},
        )
        for place, run in enumerate(runs)
    ]  # fmt: skip
    workloads = [
        Workload(id=f"w{number}", engine="made-up", pattern="tcp", decides=("goodput",))
        for number in range(case.workloads)
    ]
    verdict = decide(compare(samples, workloads, *ARMS, case.terms), case.terms).verdict
    return verdict if verdict in ("regressed", "improved") else "nothing"


def test_every_column_is_known_to_both() -> None:
    assert list(second.PLANS) == [case.name for case in COLUMNS]
    for case, plan in zip(COLUMNS, second.PLANS.values(), strict=True):
        assert (case.terms.looks, case.workloads) == (plan.looks, plan.workloads)
        assert plan.alphas == case.terms.alphas


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_of_the_same_values_both_say_the_same(case: Case) -> None:
    plan, seen = second.PLANS[case.name], set()
    for number in range(120 if case.workloads == 1 else 30):
        source = random.Random(f"{case.name} {number}")
        look = source.choice(plan.looks)
        runs = drawn(plan, look, source)
        alpha = plan.alphas[plan.looks.index(look)]
        said = second.judged(plan, runs, alpha, last=True)
        assert (number, said) == (number, by_the_program(case, runs))
        seen.add(said)
    assert "regressed" in seen


@pytest.mark.parametrize("effect", second.EFFECTS)
def test_the_page_has_what_both_found(effect: float) -> None:
    """No share differs by more than chance."""
    at = second.EFFECTS.index(effect)
    first = second.tables_of(second.FIRST)[at]
    mine = second.tables_of(second.SECOND)[at]
    assert [row[0] for row in mine[1:]] == [row[0] for row in first[1:]]
    assert {row[0] for row in mine[1:]} == {world.name for world in WORLDS}
    assert mine[0] == first[0]
    for mine_row, row in zip(mine[1:], first[1:], strict=True):
        for column, said, theirs in zip(first[0][1:], mine_row[1:], row[1:], strict=True):
            regressed, improved = map(float, said.split("/"))
            nine = second.PLANS[column].workloads > 1
            one = second.Cell(regressed, improved, second.TIMES // (3 if nine else 1))
            times = second.FIRST_TIMES[effect][nine]
            assert not second.differs(one, theirs, times), (row[0], column, said, theirs)


@pytest.mark.parametrize("name", ["normal, 5 %", "boots on two levels, 25 % apart"])
@pytest.mark.parametrize("column", list(second.PLANS)[2:5])
def test_a_share_of_it_says_what_the_first_says(name: str, column: str) -> None:
    head, *rows = second.tables_of(second.FIRST)[1]
    (theirs,) = (row[head.index(column)] for row in rows if row[0] == name)
    nine = second.PLANS[column].workloads > 1
    found = second.cell(second.PLANS[column], name, -0.10, 50 if nine else 150)
    assert not second.differs(found, theirs, second.FIRST_TIMES[-0.10][nine])
